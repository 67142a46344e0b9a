//! The README's brief results: eight workloads on a GPU, compared with the fastest PyTorch.

use results::{HIGHEST, Machine, Results, Row, Workload, notes};

use super::overview::{GPU, device, on_gpu, record};
use super::significant;
use super::tables::level_title;
use super::wrap::wrapped;
use crate::record::folder::Named;

/// The workloads of the table.
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
/// The levels of the table; the highest is compared with other frameworks.
const LEVELS: [u8; 4] = [1, 3, 4, HIGHEST];

/// Marks of workloads measured at another commit than the first; further commits share the last mark.
const MARKS: [&str; 4] = ["¹", "²", "³", "⁴"];

/// Lists `commit abc, 2026-11-21` for each commit of the rows.
pub fn commits(machine: &Machine, rows: &[&Row]) -> String {
    distinct(machine, rows).join("; ")
}

/// Lists the commits of the rows without duplicates, in order.
fn distinct(machine: &Machine, rows: &[&Row]) -> Vec<String> {
    let mut commits: Vec<String> = vec![];
    for row in rows {
        let origin = row.origin.clone().unwrap_or_else(|| machine.origin());
        let commit = format!("commit {}, {}", origin.commit, origin.date);
        if !commits.contains(&commit) {
            commits.push(commit);
        }
    }
    commits
}

/// Returns the mark of commit number `index`; the first has none.
fn mark(index: usize) -> &'static str {
    match index {
        0 => "",
        n => MARKS[(n - 1).min(MARKS.len() - 1)],
    }
}

/// Lists `PyTorch 2.11.0+cu130` for each version of the rows.
fn pytorch(results: &Results, rows: &[&Row]) -> Vec<String> {
    let version = |note: &String| {
        let (name, rest) = note.split_once(' ')?;
        let version = rest.split([',', ' ']).next()?;
        let is_number = version.starts_with(|c: char| c.is_ascii_digit());
        (name == "PyTorch" && is_number).then(|| format!("{name} {version}"))
    };
    let is_about = |note: &&String| notes::is_about(note, &results.notes, rows);
    let mut versions: Vec<String> = vec![];
    for version in results.notes.iter().filter(is_about).filter_map(version) {
        if !versions.contains(&version) {
            versions.push(version);
        }
    }
    versions
}

/// Formats the brief results; empty without a record of the GPU.
pub fn brief(records: &Named<Row>) -> String {
    let table = record(records, GPU).and_then(|results| table(results, &ON_GPU));
    let legend = "Host time of one forward pass, median. *graph*: as one CUDA graph. *PyTorch, fastest*: \
                  of eager, CUDA graph and `torch.compile`, without TF32. In f32, level 5 may compute a \
                  matmul as three TF32 matmuls, which is [about as accurate](book/chapters/dispatch.md#the-kernels). \
                  [benches/results](benches/results/README.md) has all results and explains the names.";
    table.map_or_else(String::new, |table| format!("{table}\n{}", wrapped(legend)))
}

/// Formats the workloads of these titles that the record has; `None` if it has none.
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
        format!("| {device}, ms | {levels} | PyTorch, fastest | PyTorch / level {HIGHEST} |\n");
    text += &format!("|---|{}\n", "---:|".repeat(LEVELS.len() + 2));
    let commits = distinct(&results.machine, &rows);
    for (title, workload) in &workloads {
        let of_workload = distinct(&results.machine, &shown(*workload));
        let marks = (0..)
            .zip(&commits)
            .filter(|(_, commit)| of_workload.contains(commit));
        let marks: String = marks.map(|(index, _)| mark(index)).collect();
        text += &format!("| {title}{marks} | {} |\n", cells(*workload).join(" | "));
    }
    let Machine { rustc, candle, .. } = &results.machine;
    let driver = results.machine.driver.as_ref();
    let driver = driver.map(|driver| format!("driver {driver}"));
    let own = [format!("rustc {rustc}"), format!("candle {candle}")];
    let software = driver.into_iter().chain(own).chain(pytorch(results, &rows));
    let software = software.collect::<Vec<_>>().join(", ");
    let commits = (0..).zip(&commits);
    let commits: Vec<String> = commits
        .map(|(index, commit)| mark(index).to_string() + commit)
        .collect();
    let caption = wrapped(&format!("{device}: {software}; {}.", commits.join("; ")));
    Some(format!("{text}\n{caption}"))
}

/// Rows of a workload that the table shows.
fn shown(workload: Workload<'_>) -> Vec<&Row> {
    let levels = LEVELS.into_iter().filter_map(|level| workload.level(level));
    levels.chain(workload.other()).collect()
}

/// Times of the levels, time and mode of the fastest other framework, and its ratio to the highest level.
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
| A GPU, ms | level 1 | level 3 | level 4 | level 5 | PyTorch, fastest | PyTorch / level 5 |
|---|---:|---:|---:|---:|---:|---:|
| lm readme decode | 1.23 | — | — | 0.100, graph | 0.200, compile | 2.00× |
";
        assert!(text.starts_with(gpu), "{text}");
    }

    #[test]
    fn workloads_of_another_commit_are_marked() {
        let mut records = records();
        let (_, gpu) = &mut records[1];
        let mut bf16 = gpu.rows.clone();
        for row in &mut bf16 {
            row.dtype = "bf16".into();
            row.origin = Some(results::Origin {
                commit: "old".into(),
                date: "2026-11-20".into(),
            });
        }
        gpu.rows.extend(bf16);
        gpu.notes = vec![
            "PyTorch 2.11.0+cu130, f32 without TF32".into(),
            "PyTorch compile: slow".into(),
        ];
        let text = brief(&records);
        assert!(text.contains("\n| lm readme decode | "), "{text}");
        assert!(text.contains("\n| lm readme decode bf16¹ | "), "{text}");
        let caption =
            "candle 0.11.1, PyTorch 2.11.0+cu130; commit abc, 2026-11-21; ¹commit old, 2026-11-20.";
        assert!(text.replace('\n', " ").contains(caption), "{text}");
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
