//! The README's blocks from the records: the table of the levels, and the brief results.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use models::presets;
use results::{HIGHEST, Results, Row, runs_as};

use super::brief::{brief, commits};
use super::overview::{CPU, DECODE, GPU, device, record};
use super::wrap::wrapped;
use super::{markers, significant};
use crate::record::folder::Named;

/// Idea of each level, from level 3 on with a link to its kernel of one op.
const IDEAS: [&str; HIGHEST as usize] = [
    "naive candle ops",
    "fused candle ops: several steps in one call",
    "kernels in hand-written PTX ([RMSNorm](kernels/src/rms_norm/level3.ptx))",
    "kernels in hand-written CUDA C++ ([RMSNorm](kernels/src/rms_norm/level4.cu)): [warp shuffles](book/chapters/glossary.md#shuffle), \
     [register tiles](book/chapters/glossary.md#register-tile), [tensor cores](book/chapters/glossary.md#tensor-core)",
    "the fastest kernel for each tensor size ([RMSNorm](kernels/src/rms_norm/level5.cu)); several ops in one \
     [launch](book/chapters/glossary.md#launch); all launches in one [CUDA graph](book/chapters/glossary.md#cuda-graph)",
];
/// Preset of [`DECODE`].
const README: &str = "readme";

/// Checks that the README has the markers of both blocks.
///
/// # Errors
/// One line that names the first missing marker.
pub fn has_places(root: &Path) -> Result<()> {
    rewritten(&root.join("README.md"), &Vec::new()).map(drop)
}

/// Writes both blocks into the README and returns its path.
pub fn rewrite(root: &Path, records: &Named<Row>) -> Result<PathBuf> {
    let readme = root.join("README.md");
    let text = rewritten(&readme, records)?;
    data::save_as(&readme, text)?;
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

/// Formats the levels: idea, what runs, and speed of decoding.
fn levels(records: &Named<Row>) -> String {
    let devices = [GPU, CPU].map(|name| record(records, name));
    let mut text =
        "| level | idea | on a GPU | on a CPU | speed-up, GPU | speed-up, CPU |\n".to_string();
    text += "|---|---|---|---|---:|---:|\n";
    for (level, idea) in (1..=HIGHEST).zip(IDEAS) {
        let [gpu, cpu] = [true, false].map(|on_gpu| runs_as(level.into(), on_gpu));
        let [on_gpu, on_cpu] = devices.map(|results| decode(results, level));
        text += &format!(
            "| [{level}](levels/level{level}/src/ops.rs) | {idea} | {gpu} | {cpu} | {on_gpu} | {on_cpu} |\n"
        );
    }
    text + &decode_caption(devices)
}

/// Returns the row of [`DECODE`] at a level.
fn decode_row(results: Option<&Results>, level: u8) -> Option<&Row> {
    results?.workload(DECODE)?.level(level)
}

/// Formats the speed-up over level 1: `3.60×`.
fn decode(results: Option<&Results>, level: u8) -> String {
    decode_row(results, level).map_or("—".into(), |row| format!("{}×", significant(row.speedup)))
}

/// Returns level 5's row of [`DECODE`] without a CUDA graph.
fn without_graph(results: &Results) -> Option<&Row> {
    let is_eager = |row: &&Row| row.system.is_none() && row.level == HIGHEST && !row.cuda_graph;
    results
        .rows
        .iter()
        .filter(is_eager)
        .find(|row| row.title() == DECODE)
}

fn decode_caption(devices: [Option<&Results>; 2]) -> String {
    let parameters = presets::lm(README).map(|config| config.num_parameters());
    let parameters = parameters.map(|n| format!(" of {:.1} M parameters", n as f64 / 1e6));
    let mut text = format!(
        "*speed-up*: level 1's time divided by this level's, per [token](book/chapters/glossary.md#token) of a language model{} in f32 (`compare --preset {README}`; \
         `cargo run --release` runs smaller models).",
        parameters.unwrap_or_default()
    );
    for results in devices.into_iter().flatten() {
        let levels = (1..=HIGHEST).filter_map(|level| decode_row(Some(results), level));
        let rows: Vec<&Row> = levels.collect();
        if rows.is_empty() {
            continue;
        }
        let device = device(results);
        let ms = decode_row(Some(results), 1).map(|row| significant(row.median_ms));
        let ms = ms.map_or(String::new(), |ms| format!("level 1 takes {ms} ms; "));
        let commits = commits(&results.machine, &rows);
        text += &format!(" {device}: {ms}{commits}.");
        let in_graph = rows.iter().any(|row| row.cuda_graph);
        let Some(eager) = without_graph(results).filter(|_| in_graph) else {
            continue;
        };
        text += &format!(
            " Level {HIGHEST} runs as one CUDA graph; launched kernel by kernel, its speed-up is {:.1}×.",
            eager.speedup
        );
        let device_ms = |level| decode_row(Some(results), level)?.device_ms;
        if let (Some(first), Some(last)) = (device_ms(1), device_ms(HIGHEST)) {
            text += &format!(
                " By the GPU's clock, which leaves out the work of the CPU at both levels, the graph's is {:.1}×.",
                first / last
            );
        }
    }
    format!("\n{}", wrapped(&text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::overview::tests::records;

    const EMPTY: &str = "# Title\n<!-- levels:begin -->\n<!-- levels:end -->\nText\n\
                         <!-- results:begin -->\n<!-- results:end -->\n";

    #[test]
    fn only_the_two_blocks_are_written() -> Result<()> {
        let root = tempfile::tempdir()?;
        let readme = root.path().join("README.md");
        std::fs::write(&readme, EMPTY)?;
        rewrite(root.path(), &records())?;
        let once = std::fs::read_to_string(&readme)?;
        assert!(
            once.starts_with("# Title\n<!-- levels:begin -->\n| level |"),
            "{once}"
        );
        assert!(
            once.contains("\n<!-- levels:end -->\nText\n<!-- results:begin -->\n| A GPU, ms |")
        );
        rewrite(root.path(), &records())?;
        assert_eq!(std::fs::read_to_string(&readme)?, once, "twice is once");
        Ok(())
    }

    #[test]
    fn a_readme_without_a_block_is_an_error() -> Result<()> {
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
        let first = "| [1](levels/level1/src/ops.rs) | naive candle ops | candle | candle | 1.00× | 1.00× |";
        assert_eq!(rows[0], first);
        let third = "| [3](levels/level3/src/ops.rs) | kernels in hand-written PTX ([RMSNorm](kernels/src/rms_norm/level3.ptx)) | PTX | Rust twin: loops over rows | — | — |";
        assert_eq!(rows[2], third);
        assert!(rows[4].ends_with(" | 12.3× | 1.26× |"), "{}", rows[4]);
        let text = text.replace('\n', " ");
        let of_model =
            "of a language model of 25.6 M parameters in f32 (`compare --preset readme`;";
        assert!(text.contains(of_model), "{text}");
        let caption = "smaller models). A GPU: level 1 takes 1.23 ms; commit abc, 2026-11-21. Level 5 runs as one CUDA graph; \
                       launched kernel by kernel, its speed-up is 1.3×. A CPU, 2 threads: level 1 takes 1.23 ms; commit abc, 2026-11-21.";
        assert!(text.contains(caption), "{text}");
    }

    #[test]
    fn the_clock_of_a_gpu_has_a_speed_up_of_its_own() {
        let mut records = records();
        for row in &mut records[1].1.rows {
            row.device_ms = Some(if row.level == 1 { 3. } else { 2. });
        }
        let text = levels(&records).replace('\n', " ");
        let expected = "its speed-up is 1.3×. By the GPU's clock, which leaves out the work of the CPU at both levels, the graph's is 1.5×.";
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn rows_of_other_commits_are_named() {
        let mut records = records();
        records[0].1.rows[0].origin = Some(results::Origin {
            commit: "old".into(),
            date: "2026-11-20".into(),
        });
        let expected = "A CPU, 2 threads: level 1 takes 1.23 ms; commit old, 2026-11-20; commit abc, 2026-11-21.";
        let text = levels(&records).replace('\n', " ");
        assert!(text.contains(expected), "{text}");
    }
}
