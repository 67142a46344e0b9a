//! The README's brief results: eight workloads on a GPU, compared with the fastest PyTorch.

use std::collections::BTreeSet;

use results::{Clock, HIGHEST, Machine, Results, Row, Workload, notes};

use super::overview::{GPU, device, on_gpu, record};
use super::significant;
use super::tables::level_title;
use super::wrap::wrapped;
use crate::record::folder::Named;

/// The workloads of the table, and how a newcomer would name them.
const ON_GPU: [(&str, &str); 8] = [
    ("lm readme prefill", "LM 26 M, prompt of 128 tokens, f32"),
    (
        "lm readme prefill bf16",
        "LM 26 M, prompt of 128 tokens, bf16",
    ),
    ("lm readme decode", "LM 26 M, one token, f32"),
    ("lm readme decode bf16", "LM 26 M, one token, bf16"),
    ("lm smollm-135m decode bf16", "LM 135 M, one token, bf16"),
    ("vit s16 batch1", "ViT-S/16, 1 image, f32"),
    ("vit b16 batch128 bf16", "ViT-B/16, 128 images, bf16"),
    ("gnn base graphs128", "GNN, 128 graphs, f32"),
];
/// The levels of the table; the highest is compared with other frameworks.
const LEVELS: [u8; 5] = [1, 2, 3, 4, HIGHEST];

/// Lists `commit abc, 2026-11-21` for each commit of the rows.
pub fn commits(machine: &Machine, rows: &[&Row]) -> String {
    let mut commits: Vec<String> = vec![];
    for row in rows {
        let origin = machine.origin_of(*row);
        let commit = format!("commit {}, {}", origin.commit, origin.date);
        if !commits.contains(&commit) {
            commits.push(commit);
        }
    }
    commits.join("; ")
}

/// When and where in the history the rows were measured: `2026-11-23 to 2026-11-27 at 5 commits`.
fn measured(machine: &Machine, rows: &[&Row]) -> String {
    let commits = rows.iter().map(|row| machine.origin_of(*row).commit);
    let commits: BTreeSet<String> = commits.collect();
    let days = machine.days(rows.iter().copied());
    match commits.first() {
        Some(commit) if commits.len() == 1 => format!("{days} at commit {commit}"),
        _ => format!("{days} at {} commits", commits.len()),
    }
}

/// Range of the time of the fastest other framework, divided by the highest level's, over all workloads of a record; by the
/// GPU's clock, too, where all have been timed by it.
fn range(results: &Results) -> Option<String> {
    let host = results.leads(HIGHEST, Clock::Host);
    let mut text = format!(
        "Over all {} workloads, PyTorch takes {} times as long as level {HIGHEST}",
        host.len(),
        from_to(&host)?
    );
    let device = results.leads(HIGHEST, Clock::Device);
    if let Some(range) = from_to(&device).filter(|_| device.len() == host.len()) {
        text += &format!("; by the GPU's clock, {range} times");
        let slower = device.iter().filter(|lead| **lead < 1.).count();
        if slower > 0 {
            text += &format!(", so in {slower} of them PyTorch's kernels are faster");
        }
    }
    Some(text + ".")
}

/// `1.20 to 3.40`
fn from_to(ascending: &[f64]) -> Option<String> {
    let (least, most) = (ascending.first()?, ascending.last()?);
    Some(format!("{least:.2} to {most:.2}"))
}

/// How many of the workloads PyTorch computes fastest with the code of `max-autotune` in a CUDA graph recorded by hand.
fn autotuned(workloads: &[(&str, Workload)]) -> String {
    let is = |(_, workload): &&(&str, Workload)| {
        let system = workload.other().and_then(|row| row.system.as_deref());
        let by_hand = ["max_autotune_graph", "max_autotune_pdl"];
        system.is_some_and(|system| by_hand.iter().any(|mode| system.ends_with(mode)))
    };
    let count = workloads.iter().filter(is).count();
    format!(
        "in {count} of these {} rows, `torch.compile` with `max-autotune`, as one CUDA graph",
        workloads.len()
    )
}

/// Lists `2.11.0+cu130` for each version of PyTorch in the rows.
fn pytorch(results: &Results, rows: &[&Row]) -> Vec<String> {
    let version = |note: &String| {
        let (name, rest) = note.split_once(' ')?;
        let version = rest.split([',', ' ']).next()?;
        let is_number = version.starts_with(|c: char| c.is_ascii_digit());
        (name == "PyTorch" && is_number).then(|| version.to_string())
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
    table.map_or_else(String::new, |(table, caption)| {
        format!("{table}\n{}", wrapped(&caption))
    })
}

/// Formats those of the workloads that the record has, and the caption; `None` if it has none.
fn table(results: &Results, named: &[(&str, &'static str)]) -> Option<(String, String)> {
    let workload = |(name, title): &(&str, &'static str)| Some((*title, results.workload(name)?));
    let workloads: Vec<(&str, Workload)> = named.iter().filter_map(workload).collect();
    let rows: Vec<&Row> = workloads.iter().flat_map(|(_, of)| shown(*of)).collect();
    if rows.is_empty() {
        return None;
    }
    let on_gpu = on_gpu(results);
    let levels = LEVELS.map(|level| level_title(level, on_gpu)).join(" | ");
    let device = device(results);
    let mut text = format!("| {device}, ms | {levels} | PyTorch (÷ level {HIGHEST}) |\n");
    text += &format!("|---|{}\n", "---:|".repeat(LEVELS.len() + 1));
    for (title, workload) in &workloads {
        text += &format!("| {title} | {} |\n", cells(*workload).join(" | "));
    }
    let caption = format!(
        "Median time of one run of the model, by the CPU's clock, with random weights. *One token*: the next one after about 250 tokens. \
         *G*: level {HIGHEST} as one CUDA graph; in rows without *G*, level {HIGHEST} was faster without a graph. *PyTorch*: version {} in \
         the fastest mode tried ({}). {} In f32, PyTorch does not use [TF32](book/chapters/glossary.md#tf32), which keeps fewer bits. Level {HIGHEST} may \
         split one f32 matmul into three in TF32 or FP16, whose sum is [nearly as \
         precise](book/chapters/dispatch.md#the-kernels) as f32. Rows measured {}. [All results](benches/results/README.md).",
        pytorch(results, &rows).join(", "),
        autotuned(&workloads),
        range(results).unwrap_or_default(),
        measured(&results.machine, &rows),
    );
    Some((text, caption))
}

/// Rows of a workload that the table shows.
fn shown(workload: Workload<'_>) -> Vec<&Row> {
    let levels = LEVELS.into_iter().filter_map(|level| workload.level(level));
    levels.chain(workload.other()).collect()
}

/// Times of the levels, and that of the fastest other framework with its ratio to the highest level.
fn cells(workload: Workload) -> Vec<String> {
    let level = |level| workload.level(level);
    let ms = |row: Option<&Row>| {
        let graph = if row.is_some_and(|row| row.cuda_graph) {
            " *G*"
        } else {
            ""
        };
        row.map_or("—".into(), |row| significant(row.median_ms) + graph)
    };
    let other = |row: &Row| {
        let ratio = level(HIGHEST).map(|own| format!(" ({:.2})", row.median_ms / own.median_ms));
        significant(row.median_ms) + &ratio.unwrap_or_default()
    };
    let mut cells: Vec<String> = LEVELS.iter().map(|number| ms(level(*number))).collect();
    cells.push(workload.other().map_or("—".into(), other));
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
| A GPU, ms | level 1 | level 2 | level 3 | level 4 | level 5 | PyTorch (÷ level 5) |
|---|---:|---:|---:|---:|---:|---:|
| LM 26 M, one token, f32 | 1.23 | — | — | — | 0.100 *G* | 0.200 (2.00) |
";
        assert!(text.starts_with(gpu), "{text}");
    }

    #[test]
    fn the_dates_and_the_number_of_commits_are_named() {
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
        assert!(text.contains("\n| LM 26 M, one token, bf16 | "), "{text}");
        let text = text.replace('\n', " ");
        assert!(
            text.contains("*PyTorch*: version 2.11.0+cu130 in the fastest"),
            "{text}"
        );
        let caption = "Rows measured 2026-11-20 to 2026-11-21 at 2 commits.";
        assert!(text.contains(caption), "{text}");
    }

    #[test]
    fn a_workload_that_another_framework_computes_faster_on_the_device_is_counted() {
        let mut records = records();
        let (_, gpu) = &mut records[1];
        assert_eq!(
            range(gpu).as_deref(),
            Some("Over all 1 workloads, PyTorch takes 2.00 to 2.00 times as long as level 5.")
        );
        for row in &mut gpu.rows {
            row.device_ms = Some(if row.system.is_some() { 0.5 } else { 1. });
        }
        let end = "; by the GPU's clock, 0.50 to 0.50 times, so in 1 of them PyTorch's kernels are faster.";
        assert!(range(gpu).is_some_and(|text| text.ends_with(end)));
    }

    #[test]
    fn every_workload_in_brief_is_recorded() -> anyhow::Result<()> {
        let folder = crate::compare::root()?.join("benches/results");
        let recorded = Results::load(&folder.join(format!("{GPU}.json")))?;
        for (title, _) in ON_GPU {
            let workload = recorded.workload(title);
            let is_complete = workload.is_some_and(|of| shown(of).len() == LEVELS.len() + 1);
            assert!(is_complete, "{title}");
        }
        Ok(())
    }
}
