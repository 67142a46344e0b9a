//! The blocks of the README that come from the records: the table of the levels, and the results in brief.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use results::{HIGHEST, Machine, Results, Row, Workload, runs_as};

use super::overview::{CPU, DECODE, GPU, device, record};
use super::tables::level_title;
use super::{markers, significant};
use crate::record::folder::Named;

/// The idea of each level.
const IDEAS: [&str; HIGHEST as usize] = [
    "naive candle ops",
    "fused candle ops",
    "hand-written PTX",
    "hand-written CUDA: warp shuffles, register tiles, tensor cores",
    "tuned dispatch and CUDA graphs",
];
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
const ON_CPU: [&str; 3] = ["lm readme prefill", "lm readme decode", "vit s16 batch1"];
/// The levels in brief; the highest is compared with other frameworks.
const LEVELS: [u8; 4] = [1, 3, 4, HIGHEST];

/// Whether the README has the markers of both blocks.
///
/// # Errors
/// One line that names the first marker that is missing.
pub fn has_places(root: &Path) -> Result<()> {
    rewritten(&root.join("README.md"), &Vec::new()).map(drop)
}

/// Writes both blocks into the README and returns its path.
pub fn rewrite(root: &Path, records: &Named<Row>) -> Result<PathBuf> {
    let readme = root.join("README.md");
    let text = rewritten(&readme, records)?;
    data::write_atomically(&readme, text)?;
    Ok(readme)
}

fn rewritten(readme: &Path, records: &Named<Row>) -> Result<String> {
    let text = std::fs::read_to_string(readme).with_context(|| format!("{}", readme.display()))?;
    let text = markers::replaced(readme, &text, "levels", &levels(records))?;
    Ok(markers::replaced(
        readme,
        &text,
        "results",
        &brief(records),
    )?)
}

/// The levels: what each is, what runs, and how fast it decodes.
fn levels(records: &Named<Row>) -> String {
    let devices = [GPU, CPU].map(|name| record(records, name));
    let mut text = "| level | idea | on a GPU | on a CPU | decode: GPU / CPU |\n".to_string();
    text += "|---|---|---|---|---:|\n";
    for (level, idea) in (1..=HIGHEST).zip(IDEAS) {
        let [gpu, cpu] = [true, false].map(|on_gpu| runs_as(level.into(), on_gpu));
        let [on_gpu, on_cpu] = devices.map(|results| decode(results, level));
        text += &format!(
            "| [{level}](levels/level{level}/src/ops.rs) | {idea} | {gpu} | {cpu} | {on_gpu} / {on_cpu} |\n"
        );
    }
    text + &decode_caption(devices)
}

/// The row of [`DECODE`] at a level.
fn decode_row(results: Option<&Results>, level: u8) -> Option<&Row> {
    results?.workload(DECODE)?.level(level)
}

/// `2.89 ms` of level 1, `3.6×` of the others.
fn decode(results: Option<&Results>, level: u8) -> String {
    match (decode_row(results, level), level) {
        (None, _) => "—".into(),
        (Some(row), 1) => format!("{} ms", significant(row.median_ms)),
        (Some(row), _) => format!("{:.1}×", row.speedup),
    }
}

fn decode_caption(devices: [Option<&Results>; 2]) -> String {
    let mut text = "\nDecode is the time of one token of the `readme` language model in f32: \
                    milliseconds at level 1, then the speed-up over level 1."
        .to_string();
    for results in devices.into_iter().flatten() {
        let levels = (1..=HIGHEST).filter_map(|level| decode_row(Some(results), level));
        let rows: Vec<&Row> = levels.collect();
        if rows.is_empty() {
            continue;
        }
        let in_graph = rows.iter().find(|row| row.graph);
        let graph = in_graph.map_or(String::new(), |row| {
            format!("; level {} as a CUDA graph", row.level)
        });
        let commits = commits(&results.machine, &rows);
        text += &format!(" {}: {commits}{graph}.", device(results));
    }
    text + "\nA Rust twin computes on a CPU what the kernel computes on a GPU.\n"
}

/// `commit abc, 2026-11-21`, for each commit at which one of the rows was measured.
fn commits(machine: &Machine, rows: &[&Row]) -> String {
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

/// The results in brief, a table per device.
fn brief(records: &Named<Row>) -> String {
    let tables = [(GPU, &ON_GPU[..]), (CPU, &ON_CPU[..])];
    let tables = tables.into_iter().filter_map(|(name, titles)| {
        let results = record(records, name)?;
        table(results, titles)
    });
    let tables: Vec<String> = tables.collect();
    let legend = "Milliseconds of one forward pass: host time, median. *graph*: as a CUDA graph. \
                  The last column is the time of the\nfastest PyTorch divided by that of level 5. \
                  [All results](benches/results/README.md) explains the row names.\n";
    match tables.is_empty() {
        true => String::new(),
        false => format!("{}\n{legend}", tables.join("\n")),
    }
}

/// The workloads of these titles that the record has, or nothing without any.
fn table(results: &Results, titles: &[&str]) -> Option<String> {
    let workload = |title: &&str| Some((title.to_string(), results.workload(title)?));
    let workloads: Vec<(String, Workload)> = titles.iter().filter_map(workload).collect();
    let rows: Vec<&Row> = workloads.iter().flat_map(|(_, of)| shown(*of)).collect();
    if rows.is_empty() {
        return None;
    }
    let on_gpu = results.machine.is_gpu();
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
    Some(format!("{text}\n{device}: {software}; {commits}.\n"))
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

    const EMPTY: &str = "# Title\n<!-- levels:begin -->\n<!-- levels:end -->\nText\n\
                         <!-- results:begin -->\n<!-- results:end -->\n";

    #[test]
    fn both_blocks_are_written_and_nothing_else() -> Result<()> {
        let root = tempfile::tempdir()?;
        let readme = root.path().join("README.md");
        std::fs::write(&readme, EMPTY)?;
        rewrite(root.path(), &records())?;
        let once = std::fs::read_to_string(&readme)?;
        assert!(
            once.starts_with("# Title\n<!-- levels:begin -->\n\n| level |"),
            "{once}"
        );
        assert!(once.contains("\n<!-- levels:end -->\nText\n<!-- results:begin -->\n\n| A GPU |"));
        rewrite(root.path(), &records())?;
        assert_eq!(std::fs::read_to_string(&readme)?, once, "twice is once");
        Ok(())
    }

    #[test]
    fn a_readme_without_a_block_is_refused() -> Result<()> {
        let root = tempfile::tempdir()?;
        for block in ["levels", "results"] {
            let begin = format!("<!-- {block}:begin -->");
            std::fs::write(root.path().join("README.md"), EMPTY.replace(&begin, ""))?;
            let error = has_places(root.path()).unwrap_err().to_string();
            let expected = format!("README.md: expected the line {begin}");
            assert!(error.contains(&expected), "{error}");
        }
        Ok(())
    }

    #[test]
    fn a_level_has_its_decode_on_both_devices() {
        let text = levels(&records());
        let rows: Vec<&str> = text.lines().skip(2).take(5).collect();
        let first = "| [1](levels/level1/src/ops.rs) | naive candle ops | candle | candle | 1.23 ms / 1.23 ms |";
        assert_eq!(rows[0], first);
        let third = "| [3](levels/level3/src/ops.rs) | hand-written PTX | PTX | Rust twin: loops over rows | — / — |";
        assert_eq!(rows[2], third);
        assert!(rows[4].ends_with(" | 12.3× / 1.3× |"), "{}", rows[4]);
        let caption = " A GPU: commit abc, 2026-11-21; level 5 as a CUDA graph. A CPU, 2 threads: commit abc, 2026-11-21.";
        assert!(text.contains(caption), "{text}");
    }

    #[test]
    fn a_workload_is_compared_with_the_fastest_other_framework() {
        let text = brief(&records());
        let gpu = "\
| A GPU | level 1 | level 3 | level 4 | level 5 | PyTorch, fastest | PyTorch / level 5 |
|---|---:|---:|---:|---:|---:|---:|
| lm readme decode | 1.23 | — | — | 0.100, graph | 0.200, compile | 2.00× |
";
        assert!(text.starts_with(gpu), "{text}");
        let cpu = "\
| A CPU, 2 threads | level 1 | level 3 (Rust twin) | level 4 (Rust twin) | level 5 (Rust twin) | PyTorch, fastest | PyTorch / level 5 |
|---|---:|---:|---:|---:|---:|---:|
| lm readme decode | 1.23 | — | — | 0.980 | 1.10, compile | 1.12× |
";
        assert!(text.contains(cpu), "{text}");
    }

    #[test]
    fn rows_of_other_commits_are_named() {
        let mut records = records();
        records[0].1.rows[0].origin = Some(results::Origin {
            commit: "old".into(),
            date: "2026-11-20".into(),
        });
        let expected = "A CPU, 2 threads: commit old, 2026-11-20; commit abc, 2026-11-21.";
        assert!(levels(&records).contains(expected), "{}", levels(&records));
    }

    #[test]
    fn every_workload_in_brief_is_recorded() -> Result<()> {
        let folder = crate::compare::root()?.join("benches/results");
        for (name, titles) in [(GPU, &ON_GPU[..]), (CPU, &ON_CPU[..])] {
            let recorded = Results::load(&folder.join(format!("{name}.json")))?;
            for title in titles {
                let workload = recorded.workload(title);
                let is_complete = workload.is_some_and(|of| shown(of).len() == LEVELS.len() + 1);
                assert!(is_complete, "{name}: {title}");
            }
        }
        Ok(())
    }
}
