//! One record of models as Markdown tables: a row per workload, a column per level or other framework.

use results::{Clock, Results, Row, runs_as};

use super::overview::on_gpu;
use super::significant;

/// The record's tables in host time, one per dtype, then the notes and the table in device time.
pub fn sections(results: &Results) -> String {
    let mut text = String::new();
    for dtype in dtypes(results) {
        text += &format!("### Host time, {dtype}\n\n");
        text += &rows(results, Some(dtype), Clock::Host);
        text += "\n";
    }
    text += &notes(results);
    let mut own = results.rows.iter().filter(|row| row.system.is_none());
    if own.any(|row| row.device_ms.is_some()) {
        text += "### Device time\n\n";
        text += &rows(results, None, Clock::Device);
        text += "\n";
    }
    text
}

/// The dtypes, in the order of their measurement.
fn dtypes(results: &Results) -> Vec<&str> {
    let mut dtypes = vec![];
    for row in &results.rows {
        if !dtypes.contains(&row.dtype.as_str()) {
            dtypes.push(&row.dtype);
        }
    }
    dtypes
}

/// One row per workload of one dtype, or of all; one column per level, and one for the highest level in a graph.
fn rows(results: &Results, dtype: Option<&str>, clock: Clock) -> String {
    let columns = columns(results, clock);
    let on_gpu = on_gpu(results);
    let titles: String = columns
        .iter()
        .map(|c| format!(" {} |", title(c, on_gpu)))
        .collect();
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

/// The workloads for which another framework is faster than every level, and the notes of the run.
fn notes(results: &Results) -> String {
    let mut sentences: Vec<String> = vec![];
    for clock in Clock::ALL {
        let behind = results.behind(clock).into_iter();
        sentences.extend(behind.map(|pair| ahead(pair, clock)));
    }
    sentences.extend(results::earlier(&results.rows));
    sentences.extend(results.notes.iter().cloned());
    let not_tried = results.not_tried();
    if !not_tried.is_empty() {
        sentences.push(format!("Not run: {}", not_tried.join(", ")));
    }
    let lines: String = sentences.iter().map(|s| format!("- {s}.\n")).collect();
    if sentences.is_empty() {
        lines
    } else {
        format!("### Notes\n\n{lines}\n")
    }
}

/// `lm tiny decode, device time: PyTorch graph (0.200 ms) is faster than level 5 (0.300 ms)`
fn ahead((own, other): (&Row, &Row), clock: Clock) -> String {
    let [own_ms, other_ms] = [own, other].map(|row| row.ms(clock).map_or("—".into(), significant));
    let (title, own, other) = (own.title(), own.variant(), other.variant());
    let clock = match clock {
        Clock::Host => "",
        Clock::Device => ", device time",
    };
    format!("{title}{clock}: {other} ({other_ms} ms) is faster than {own} ({own_ms} ms)")
}

/// Name of another framework; whether a level is in a graph; its number.
type Column = (Option<String>, bool, u8);

/// The levels, then the level in a graph, then other frameworks in the order of their measurement.
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
    (other, row.cuda_graph, row.level)
}

fn title((other, graph, level): &Column, on_gpu: bool) -> String {
    match (other, graph) {
        (Some(name), _) => name.clone(),
        (None, true) => format!("{level}, graph"),
        (None, false) => level_title(*level, on_gpu),
    }
}

/// `level 3`, and `level 3 (Rust twin)` where no GPU's kernel ran.
pub fn level_title(level: u8, on_gpu: bool) -> String {
    match runs_as(level.into(), on_gpu).split_once(':') {
        Some((twin, _)) if !on_gpu => format!("level {level} ({twin})"),
        _ => format!("level {level}"),
    }
}

/// `0.98 ms (1.26×)`: the time and the speed-up over level 1. Level 1 and device times have no speed-up.
fn time(row: &Row, clock: Clock) -> String {
    let ratio = match (row.level, row.cuda_graph, clock) {
        (1, false, _) | (_, _, Clock::Device) => String::new(),
        _ => format!(" ({:.2}×)", row.speedup),
    };
    let ms = row.ms(clock).map_or("—".into(), significant);
    format!("{ms} ms{ratio}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::drawn::tests::example;

    #[test]
    fn a_workload_is_a_row_and_a_level_a_column() {
        let expected = "\
### Host time, f32

| | level 1 | level 2 |
|---|---:|---:|
| lm tiny decode | 1.23 ms | 0.980 ms (1.26×) |

";
        assert_eq!(sections(&example()), expected);
    }

    #[test]
    fn a_cpu_runs_rust_twins() {
        let mut results = example();
        results.rows[1].level = 3;
        assert!(
            sections(&results)
                .starts_with("### Host time, f32\n\n| | level 1 | level 3 (Rust twin) |\n")
        );
        results.machine.device = "cuda".into();
        assert!(!sections(&results).contains("Rust"));
    }

    #[test]
    fn another_framework_is_a_column_and_where_it_is_faster_a_note() {
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
        let expected = "\
### Host time, f32

| | level 1 | level 2 | PyTorch eager | PyTorch compile |
|---|---:|---:|---:|---:|
| lm tiny decode | 1.23 ms | 0.980 ms (1.26×) | 2.46 ms (0.50×) | 0.615 ms (2.00×) |

### Notes

- lm tiny decode: PyTorch compile max-autotune (0.615 ms) is faster than level 2 (0.980 ms).
- PyTorch 2, 2 threads.
- Not run: PyTorch compile default.

";
        assert_eq!(sections(&results), expected);
        results.rows.truncate(3);
        assert!(!sections(&results).contains("faster"));
    }

    #[test]
    fn the_clock_of_a_device_has_a_table_and_notes_of_its_own() {
        let mut results = example();
        results.machine.device = "cuda".into();
        let mut other = results.rows[0].clone();
        (other.level, other.system) = (0, Some("pytorch_graph".into()));
        results.rows.push(other);
        for (row, ms) in results.rows.iter_mut().zip([None, Some(0.5), Some(0.4)]) {
            row.device_ms = ms;
        }
        let text = sections(&results);
        let line = "- lm tiny decode, device time: PyTorch graph (0.400 ms) is faster than level 2 (0.500 ms).\n";
        assert!(text.contains(line), "{text}");
        let expected = "\
### Device time

| | level 2 | PyTorch graph |
|---|---:|---:|
| lm tiny decode | 0.500 ms | 0.400 ms |

";
        assert!(text.ends_with(expected), "{text}");
        results.rows[1].device_ms = None;
        let text = sections(&results);
        assert!(
            !text.to_lowercase().contains("device time"),
            "a clock on one side alone compares nothing: {text}"
        );
    }

    #[test]
    fn each_dtype_has_a_table() {
        let mut results = example();
        let bf16 = |row: &Row| Row {
            dtype: "bf16".into(),
            ..row.clone()
        };
        let more: Vec<Row> = results.rows.iter().map(bf16).collect();
        results.rows.extend(more);
        let text = sections(&results);
        let (f32, bf16) = text
            .split_once("### Host time, bf16\n")
            .expect("two tables");
        assert!(f32.contains("| lm tiny decode | 1.23 ms |") && !f32.contains("bf16"));
        assert!(bf16.contains("| lm tiny decode bf16 | 1.23 ms |"), "{bf16}");
    }
}
