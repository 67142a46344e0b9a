//! The same models in PyTorch, measured by `benches/peers/peers.py` in the same run.

mod export;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use benches::Model;
use cli::load::Request;
use data::BadInput;
use serde::Deserialize;

use super::record::Row;

/// The program, in the repository or a copy of what a measurement needs.
const PROGRAM: &str = "benches/peers/peers.py";

/// A line that it prints.
#[derive(Deserialize)]
struct Line {
    model: String,
    preset: String,
    workload: String,
    dtype: String,
    system: String,
    median_ms: f64,
    low_ms: f64,
    high_ms: f64,
    samples: usize,
    max_difference: f64,
}

/// Measures every workload of `cases` with `python`, and puts the rows behind those of the levels.
///
/// Each workload goes to a temporary folder, with its weights, its inputs and the logits of level 1, to which
/// those of PyTorch are compared.
///
/// # Errors
/// When the program cannot be started, fails, or prints something else than rows.
pub fn measure(
    root: &Path,
    python: &str,
    cases: &[(Model, &Request)],
    samples: u32,
    rows: &mut Vec<Row>,
) -> Result<()> {
    let folder = tempfile::tempdir()?;
    for (model, request) in cases {
        export::export(*model, request, folder.path())?;
    }
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let mut child = Command::new(python)
        .arg(root.join(PROGRAM))
        .arg(folder.path())
        .args(["--samples", &samples.to_string()])
        .args(["--processes", &(threads / 2).clamp(1, 8).to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| {
            BadInput::new(
                "--peers",
                "a Python that can be started",
                format!("{python:?}: {e}"),
            )
        })?;
    let lines = child.stdout.take().map(BufReader::new);
    for line in lines.into_iter().flat_map(BufRead::lines) {
        let line = line?;
        let line: Line = serde_json::from_str(&line)
            .with_context(|| format!("{PROGRAM}: expected a row as JSON, found {line:?}"))?;
        println!("{}", describe(&line));
        insert(rows, line);
    }
    ensure!(child.wait()?.success(), "{PROGRAM}: it failed");
    Ok(())
}

fn describe(line: &Line) -> String {
    let Line {
        model,
        preset,
        workload,
        dtype,
        system,
        median_ms,
        ..
    } = line;
    format!("{model} {preset} {workload} {dtype}  {system}  {median_ms:.3} ms")
}

/// Behind the other rows of its workload, if there are any.
fn insert(rows: &mut Vec<Row>, line: Line) {
    let same = |row: &Row| {
        row.model == line.model
            && row.preset == line.preset
            && row.workload == line.workload
            && row.dtype == line.dtype
    };
    let Some(last) = rows.iter().rposition(same) else {
        return;
    };
    let first = rows.iter().find(|row| same(row));
    let speedup = first.map_or(0., |row| row.median_ms * row.speedup / line.median_ms);
    rows.insert(
        last + 1,
        Row {
            model: line.model,
            preset: line.preset,
            workload: line.workload,
            level: 0,
            system: Some(line.system),
            graph: false,
            dtype: line.dtype,
            median_ms: line.median_ms,
            low_ms: line.low_ms,
            high_ms: line.high_ms,
            speedup,
            tensors: 0,
            launches: None,
            peak_bytes: 0,
            max_difference: line.max_difference,
            samples: line.samples,
        },
    );
}
