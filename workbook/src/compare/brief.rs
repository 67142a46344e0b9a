//! The README's results in brief: eight workloads on a GPU, compared with the fastest PyTorch.

use results::{HIGHEST, Machine, Results, Row, Workload};

use super::overview::{GPU, device, on_gpu, record};
use super::significant;
use super::tables::level_title;
use super::wrap::wrapped;
use crate::record::folder::Named;

/// The workloads in brief.
const ON_GPU: [&str; 8] = [
    "lm readme prefill",
    "lm readme prefill bf16",
    "lm readme decode",
    "lm readme decode bf16",
    "lm smollm-135m decode bf16",
    "vit s16 batch1",
    "vit b16 batch128 bf16",
    "gnn base graphs128",
];
/// The levels in brief; the highest is compared with other frameworks.
const LEVELS: [u8; 4] = [1, 3, 4, HIGHEST];

/// `commit abc, 2026-11-21`, for each commit at which one of the rows was measured.
pub fn commits(machine: &Machine, rows: &[&Row]) -> String {
    let mut commits: Vec<String> = vec![];
    for row in rows {
        let origin = row.origin.clone().unwrap_or_else(|| machine.origin());
        let commit = format!("commit {}, {}", origin.commit, origin.date);
        if !commits.contains(&commit) {
            commits.push(commit);
        }
    }
    commits.join("; ")
}

/// The results in brief, or nothing where the GPU has no record.
pub fn brief(records: &Named<Row>) -> String {
    let table = record(records, GPU).and_then(|results| table(results, &ON_GPU));
    let legend = "Times are milliseconds of one forward pass: host time, median. *graph*: as one CUDA \
                  graph. The last column is the time of the fastest PyTorch divided by the time of \
                  level 5. In f32, level 5 uses tensor cores where that is faster: three TF32 matmuls give [the accuracy of \
                  f32](book/chapters/dispatch.md#the-kernels); PyTorch runs without TF32. [benches/results](benches/results/README.md) has all results, those of a CPU, and \
                  explains the names.";
    table.map_or_else(String::new, |table| format!("{table}\n{}", wrapped(legend)))
}

/// The workloads of these titles that the record has, or nothing without any.
fn table(results: &Results, titles: &[&str]) -> Option<String> {
    let workload = |title: &&str| Some((title.to_string(), results.workload(title)?));
    let workloads: Vec<(String, Workload)> = titles.iter().filter_map(workload).collect();
    let rows: Vec<&Row> = workloads.iter().flat_map(|(_, of)| shown(*of)).collect();
    if rows.is_empty() {
        return None;
    }
    let on_gpu = on_gpu(results);
    let levels = LEVELS.map(|level| level_title(level, on_gpu)).join(" | ");
    let device = device(results);
    let mut text =
        format!("| {device} | {levels} | PyTorch, fastest | PyTorch / level {HIGHEST} |\n");
    text += &format!("|---|{}\n", "---:|".repeat(LEVELS.len() + 2));
    for (title, workload) in &workloads {
        text += &format!("| {title} | {} |\n", cells(*workload).join(" | "));
    }
    let Machine { rustc, candle, .. } = &results.machine;
    let software = match &results.machine.driver {
        Some(driver) => format!("driver {driver}, rustc {rustc}, candle {candle}"),
        None => format!("rustc {rustc}, candle {candle}"),
    };
    let commits = commits(&results.machine, &rows);
    let caption = wrapped(&format!("{device}: {software}; {commits}."));
    Some(format!("{text}\n{caption}"))
}

/// The rows of a workload that the table shows.
fn shown(workload: Workload<'_>) -> Vec<&Row> {
    let levels = LEVELS.into_iter().filter_map(|level| workload.level(level));
    levels.chain(workload.other()).collect()
}

/// Times of the levels, the time of the fastest other framework with how it ran, and the ratio to the highest level.
fn cells(workload: Workload) -> Vec<String> {
    let level = |level| workload.level(level);
    let ms = |row: Option<&Row>| {
        let graph = if row.is_some_and(|row| row.graph) {
            ", graph"
        } else {
            ""
        };
        row.map_or("—".into(), |row| significant(row.median_ms) + graph)
    };
    let other = workload.other();
    let named = |row: &Row| {
        let how = row.family().replace("PyTorch ", "");
        format!("{}, {how}", significant(row.median_ms))
    };
    let ratio = level(HIGHEST)
        .zip(other)
        .map(|(own, other)| format!("{:.2}×", other.median_ms / own.median_ms));
    let mut cells: Vec<String> = LEVELS.iter().map(|number| ms(level(*number))).collect();
    cells.push(other.map_or("—".into(), named));
    cells.push(ratio.unwrap_or("—".into()));
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::overview::tests::records;

    #[test]
    fn a_workload_is_compared_with_the_fastest_other_framework() {
        let text = brief(&records());
        let gpu = "\
| A GPU | level 1 | level 3 | level 4 | level 5 | PyTorch, fastest | PyTorch / level 5 |
|---|---:|---:|---:|---:|---:|---:|
| lm readme decode | 1.23 | — | — | 0.100, graph | 0.200, compile | 2.00× |
";
        assert!(text.starts_with(gpu), "{text}");
    }

    #[test]
    fn every_workload_in_brief_is_recorded() -> anyhow::Result<()> {
        let folder = crate::compare::root()?.join("benches/results");
        let recorded = Results::load(&folder.join(format!("{GPU}.json")))?;
        for title in ON_GPU {
            let workload = recorded.workload(title);
            let is_complete = workload.is_some_and(|of| shown(of).len() == LEVELS.len() + 1);
            assert!(is_complete, "{title}");
        }
        Ok(())
    }
}
