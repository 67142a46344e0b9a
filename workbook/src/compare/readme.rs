//! The results in the README: written here, between two markers, and never by hand.

use std::path::Path;

use anyhow::{Context, Result};
use data::BadInput;

use results::{Clock, Results, Row};

const BEGIN: &str = "<!-- results:begin -->";
const END: &str = "<!-- results:end -->";

/// Whether both markers are there, in order.
pub fn check(path: &Path) -> Result<()> {
    rewrite_text(path, "").map(drop)
}

/// Puts the tables of all `results` between the markers.
pub fn rewrite(path: &Path, results: &[(String, Results)]) -> Result<()> {
    let tables: Vec<String> = results.iter().map(|(_, results)| table(results)).collect();
    let text = rewrite_text(path, &tables.join("\n"))?;
    Ok(data::write_atomically(path, text)?)
}

fn rewrite_text(path: &Path, tables: &str) -> Result<String> {
    let text = std::fs::read_to_string(path).with_context(|| format!("{}", path.display()))?;
    let replaced = between(&text, tables);
    replaced.ok_or_else(|| {
        let expected = format!("the lines {BEGIN} and {END}");
        BadInput::new(path.display(), expected, "none, or in another order").into()
    })
}

/// `text` with `new` in place of what stands between the markers.
fn between(text: &str, new: &str) -> Option<String> {
    let begin = text.find(BEGIN)? + BEGIN.len();
    let end = begin + text[begin..].find(END)?;
    Some(format!("{}\n\n{new}\n{}", &text[..begin], &text[end..]))
}

/// One machine, by both clocks where the device has one of its own.
fn table(results: &Results) -> String {
    let machine = &results.machine;
    let mut text = format!(
        "{machine}; commit {}, {}. Milliseconds of one forward pass, median.\n\n",
        machine.commit, machine.date
    );
    let mut formats = formats(results).into_iter();
    if let Some(first) = formats.next() {
        text += &rows(results, Some(first), Clock::Host);
    }
    for other in formats {
        let table = rows(results, Some(other), Clock::Host);
        text += &folded(&format!("The same in {other}."), &table);
    }
    text += &footnotes(results);
    let mut own = results.rows.iter().filter(|row| row.system.is_none());
    if own.any(|row| row.device_ms.is_some()) {
        let summary = "The same on the device alone, between two events around a pass that is queued as a whole; \
                       a dash for one that could not be.";
        text += &folded(summary, &rows(results, None, Clock::Device));
    }
    text
}

/// The number formats, in the order in which they were measured.
fn formats(results: &Results) -> Vec<&str> {
    let mut formats = vec![];
    for row in &results.rows {
        if !formats.contains(&row.dtype.as_str()) {
            formats.push(&row.dtype);
        }
    }
    formats
}

/// What a page shows when one asks for it.
fn folded(summary: &str, table: &str) -> String {
    format!("\n<details><summary>{summary}</summary>\n\n{table}\n</details>\n")
}

/// A row a workload, of one number format or of all, a column a level, and the last level in a graph.
fn rows(results: &Results, dtype: Option<&str>, clock: Clock) -> String {
    let columns = columns(results, clock);
    let titles: String = columns.iter().map(|c| format!(" {} |", title(c))).collect();
    let mut text = format!("| |{titles}\n|---|{}\n", "---:|".repeat(columns.len()));
    let wanted = |rows: &&[Row]| dtype.is_none_or(|dtype| rows[0].dtype == dtype);
    for rows in results.workloads().filter(wanted) {
        let cell = |wanted: &Column| {
            let mut shown = rows.iter().filter(|row| results.is_shown(row, clock));
            let found = shown.find(|row| column(row) == *wanted);
            found.map_or("—".into(), |row| time(row, clock))
        };
        let cells: Vec<String> = columns.iter().map(cell).collect();
        text += &format!("| {} | {} |\n", rows[0].title(), cells.join(" | "));
    }
    text
}

/// Where no level is the fastest, by either clock, and what else there is to say of the run.
fn footnotes(results: &Results) -> String {
    let mut sentences: Vec<String> = vec![];
    for clock in Clock::ALL {
        let behind = results.behind(clock).into_iter();
        sentences.extend(behind.map(|pair| ahead(pair, clock)));
    }
    sentences.extend(results::earlier(&results.rows));
    sentences.extend(results.notes.iter().cloned());
    let not_tried = results.not_tried();
    if !not_tried.is_empty() {
        sentences.push(format!("Not tried: {}", not_tried.join(", ")));
    }
    let lines: String = sentences.iter().map(|s| format!("- {s}.\n")).collect();
    match sentences.is_empty() {
        true => lines,
        false => format!("\n{lines}"),
    }
}

/// `lm tiny decode, on the device alone: PyTorch graph is ahead, 0.2 ms against 0.3 ms of level 5`
fn ahead((own, other): (&Row, &Row), clock: Clock) -> String {
    let [own_ms, other_ms] = [own, other].map(|row| row.ms(clock).map_or("—".into(), significant));
    let (title, own, other) = (own.title(), own.variant(), other.variant());
    let clock = match clock {
        Clock::Host => "",
        Clock::Device => ", on the device alone",
    };
    format!("{title}{clock}: {other} is ahead, {other_ms} ms against {own_ms} ms of {own}")
}

/// Of another framework its name, of a level whether it is in a graph, and its number.
type Column = (Option<String>, bool, u8);

/// The levels, each in a graph behind them; other frameworks at the end, in the order in which they were measured.
fn columns(results: &Results, clock: Clock) -> Vec<Column> {
    let mut columns: Vec<Column> = vec![];
    let shown = |row: &&Row| results.is_shown(row, clock);
    for row in results.rows.iter().filter(shown) {
        if !columns.contains(&column(row)) {
            columns.push(column(row));
        }
    }
    columns.sort_by_key(|(system, graph, level)| (system.is_some(), *graph, *level));
    columns
}

fn column(row: &Row) -> Column {
    let other = row.system.as_ref().map(|_| row.family());
    (other, row.graph, row.level)
}

fn title((other, graph, level): &Column) -> String {
    match (other, graph) {
        (Some(name), _) => name.clone(),
        (None, true) => format!("{level}, graph"),
        (None, false) => format!("level {level}"),
    }
}

/// `0.98 ms (1.26×)`; level 1 is the measure and has no ratio, and neither has the device's clock.
fn time(row: &Row, clock: Clock) -> String {
    let ratio = match (row.level, row.graph, clock) {
        (1, false, _) | (_, _, Clock::Device) => String::new(),
        _ => format!(" ({:.2}×)", row.speedup),
    };
    let ms = row.ms(clock).map_or("—".into(), significant);
    format!("{ms} ms{ratio}")
}

/// Three significant digits.
pub fn significant(x: f64) -> String {
    let digits = (2 - x.abs().log10().floor() as i32).clamp(0, 6) as usize;
    format!("{x:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::drawn::tests::example;

    #[test]
    fn only_what_is_between_the_markers_changes() {
        let text = format!("before\n{BEGIN}\nold\n{END}\nafter\n");
        let new = between(&text, "new\n").expect("both markers");
        assert_eq!(new, format!("before\n{BEGIN}\n\nnew\n\n{END}\nafter\n"));
        assert_eq!(
            between(&new, "new\n").as_deref(),
            Some(&*new),
            "twice is once"
        );
        for bad in [String::new(), BEGIN.into(), format!("{END}\n{BEGIN}")] {
            assert_eq!(between(&bad, "new"), None);
        }
    }

    #[test]
    fn a_workload_is_a_row_and_a_level_a_column() {
        let expected = "\
A CPU, 2 threads, linux x86_64, rustc 1.95.0, candle 0.11.1; commit abc, 2026-11-21. \
Milliseconds of one forward pass, median.

| | level 1 | level 2 |
|---|---:|---:|
| lm tiny decode | 1.23 ms | 0.980 ms (1.26×) |
";
        assert_eq!(table(&example()), expected);
    }

    #[test]
    fn another_framework_is_a_column_and_where_it_is_ahead_a_line() {
        let mut results = example();
        for (system, ms) in [
            ("pytorch_eager", 2.46),
            ("pytorch_compile_max_autotune", 0.615),
            ("pytorch_compile_reduce_overhead", 1.), // not on a CPU, but a name of two words
        ] {
            let mut row = results.rows[0].clone();
            (row.level, row.system, row.median_ms) = (0, Some(system.into()), ms);
            row.speedup = 1.23 / ms;
            results.rows.push(row);
        }
        results.notes.push("PyTorch 2, 2 threads".into());
        let text = table(&results);
        let (_, text) = text.split_once("\n\n").expect("a line, and a table");
        let expected = "\
| | level 1 | level 2 | PyTorch eager | PyTorch compile |
|---|---:|---:|---:|---:|
| lm tiny decode | 1.23 ms | 0.980 ms (1.26×) | 2.46 ms (0.50×) | 0.615 ms (2.00×) |

- lm tiny decode: PyTorch compile max-autotune is ahead, 0.615 ms against 0.980 ms of level 2.
- PyTorch 2, 2 threads.
- Not tried: PyTorch compile default.
";
        assert_eq!(text, expected);
        results.rows.truncate(3);
        assert!(!table(&results).contains("ahead"));
    }

    #[test]
    fn the_clock_of_a_device_has_a_table_and_losses_of_its_own() {
        let mut results = example();
        results.machine.device = "cuda".into();
        let mut other = results.rows[0].clone();
        (other.level, other.system) = (0, Some("pytorch_graph".into()));
        results.rows.push(other);
        for (row, ms) in results.rows.iter_mut().zip([None, Some(0.5), Some(0.4)]) {
            row.device_ms = ms;
        }
        let text = table(&results);
        let line = "- lm tiny decode, on the device alone: PyTorch graph is ahead, 0.400 ms against 0.500 ms of level 2.\n";
        assert!(text.contains(line), "{text}");
        let expected = "\
| | level 2 | PyTorch graph |
|---|---:|---:|
| lm tiny decode | 0.500 ms | 0.400 ms |

</details>
";
        assert!(text.ends_with(expected), "{text}");
        results.rows[1].device_ms = None;
        let text = table(&results);
        assert!(
            !text.contains("alone"),
            "a clock on one side alone compares nothing: {text}"
        );
    }

    #[test]
    fn a_second_format_is_folded() {
        let mut results = example();
        let bf16 = |row: &Row| Row {
            dtype: "bf16".into(),
            ..row.clone()
        };
        let more: Vec<Row> = results.rows.iter().map(bf16).collect();
        results.rows.extend(more);
        let text = table(&results);
        let (open, closed) = text.split_once("<details>").expect("a part that is folded");
        assert!(open.contains("| lm tiny decode | 1.23 ms |") && !open.contains("bf16"));
        assert!(
            closed.starts_with("<summary>The same in bf16.</summary>\n\n| |"),
            "{closed}"
        );
        assert!(
            closed.contains("| lm tiny decode bf16 | 1.23 ms |"),
            "{closed}"
        );
    }

    #[test]
    fn three_digits_count() {
        let texts = [0.01234, 0.98, 1.234, 45.67, 1234.5].map(significant);
        assert_eq!(texts, ["0.0123", "0.980", "1.23", "45.7", "1234"]);
    }
}
