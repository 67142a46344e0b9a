//! One record of models as Markdown tables: a row per workload, a column per level or other framework.

use results::{Clock, Results, Row, runs_as};

use super::overview::on_gpu;
use super::significant;

/// The record's tables in host time, one per dtype, then the notes and the table in device time.
pub fn sections(results: &Results) -> String {
    let mut text = String::new();
    for dtype in dtypes(results) {
        text += &format!("### Host time, {dtype}\n\n");
        text += &rows(results, |row| row.dtype == dtype, &host_time, Clock::Host);
        text += "\n";
    }
    if results.rows.iter().any(is_generation) {
        text += "### Tokens per second\n\n1 / host time of `generate`: one sequence, after its prompt.\n\n";
        text += &rows(results, is_generation, &tokens_per_second, Clock::Host);
        text += "\n";
    }
    text += &notes(results);
    let mut own = results.rows.iter().filter(|row| row.system.is_none());
    if own.any(|row| row.device_ms.is_some()) {
        text += "### Device time\n\n";
        text += &rows(results, |_| true, &device_time, Clock::Device);
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

fn is_generation(row: &Row) -> bool {
    row.workload == "generate"
}

/// One row per wanted workload; one column per level, and one for the highest level in a graph.
fn rows(
    results: &Results,
    wanted: impl Fn(&Row) -> bool,
    cell_of: &dyn Fn(&Row) -> String,
    clock: Clock,
) -> String {
    let columns = columns(results, clock);
    let on_gpu = on_gpu(results);
    let titles: String = columns
        .iter()
        .map(|c| format!(" {} |", title(c, on_gpu)))
        .collect();
    let mut text = format!("| |{titles}\n|---|{}\n", "---:|".repeat(columns.len()));
    for rows in results.workloads().filter(|rows| wanted(&rows[0])) {
        let cell = |wanted: &Column| {
            let mut shown = rows.iter().filter(|row| results.is_shown(row, clock));
            let found = shown.find(|row| column(row) == *wanted);
            found.map_or("—".into(), cell_of)
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

/// `0.98 ms (1.26×)`: the time and the speed-up over level 1, which has none.
fn host_time(row: &Row) -> String {
    let ms = significant(row.median_ms);
    match (row.level, row.cuda_graph) {
        (1, false) => format!("{ms} ms"),
        _ => format!("{ms} ms ({:.2}×)", row.speedup),
    }
}

fn device_time(row: &Row) -> String {
    row.device_ms
        .map_or("—".into(), |ms| format!("{} ms", significant(ms)))
}

fn tokens_per_second(row: &Row) -> String {
    format!("{:.0}", 1e3 / row.median_ms)
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
    fn a_generation_has_tokens_per_second() {
        let mut results = example();
        for row in &mut results.rows {
            row.workload = "generate".into();
        }
        let text = sections(&results);
        let row = "| lm tiny generate | 813 | 1020 |\n"; // 1.23 and 0.98 ms
        assert!(
            text.contains("### Tokens per second") && text.contains(row),
            "{text}"
        );
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
