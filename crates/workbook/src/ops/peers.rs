//! The same ops in PyTorch, timed by `benches/peers/ops.py` in the same run.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use benches::ops::OpInputs;
use candle_core::{DType, Device, Tensor, safetensors};
use results::{OpResults, OpRow, is_limit};
use serde::Deserialize;
use tempfile::TempDir;

use crate::compare::peers::{Child, described, device_name, interpreter, torch};

const PROGRAM: &str = "benches/peers/ops.py";

/// A line that the program prints.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Line {
    Row(Timed),
    Failed(Failed),
}

/// An op on a shape, and its times.
#[derive(Debug, Deserialize)]
struct Timed {
    op: String,
    shape: String,
    dtype: String,
    level: String,
    host_us: f64,
    device_us: Option<f64>,
    graph_us: Option<f64>,
    low_us: f64,
    high_us: f64,
    samples: usize,
}

/// An op on a shape, and why it has no times.
#[derive(Debug, Deserialize)]
struct Failed {
    op: String,
    shape: String,
    dtype: String,
    level: String,
    reason: String,
}

/// Python, how often it measures on which device, with how many processes that compile, and what it is given.
pub struct Peers<'a> {
    python: &'a str,
    version: String,
    device: &'a Device,
    samples: u32,
    processes: u32,
    folder: TempDir,
}

impl<'a> Peers<'a> {
    /// Nothing if no Python is given.
    ///
    /// # Errors
    /// [`data::BadInput`] for one without PyTorch.
    pub fn new(
        python: Option<&'a str>,
        device: &'a Device,
        samples: u32,
        processes: u32,
    ) -> Result<Option<Self>> {
        let peers = |python| -> Result<Self> {
            Ok(Self {
                python,
                version: torch(python, device)?,
                device,
                samples,
                processes,
                folder: tempfile::tempdir()?,
            })
        };
        python.map(peers).transpose()
    }

    /// Keeps what an op on a shape is given and what comes out, for the program: it times what gives the same.
    ///
    /// # Errors
    /// When a tensor cannot be read or the file cannot be written.
    pub fn export(
        &self,
        [op, shape]: [&str; 2],
        dtype: DType,
        inputs: OpInputs,
        answer: &Tensor,
    ) -> candle_core::Result<()> {
        let file = format!("{op}.{shape}.{}.safetensors", dtype.as_str());
        let all = inputs.iter().copied().chain([("answer", answer)]);
        let tensors: HashMap<&str, Tensor> = all.map(|(name, x)| (name, x.clone())).collect();
        safetensors::save(&tensors, self.folder.path().join(file))
    }

    /// Measures what is in `results`, and puts each row after those of the same op and shape.
    ///
    /// # Errors
    /// When the program cannot be started, fails, or prints something else than its lines.
    pub fn measure(&self, root: &Path, results: &mut OpResults) -> Result<()> {
        let mut formats: Vec<String> = vec![];
        for row in &results.rows {
            if !formats.contains(&row.dtype) {
                formats.push(row.dtype.clone());
            }
        }
        for dtype in formats {
            self.of_format(root, &dtype, results)?;
        }
        results.notes.push(described(&self.version, self.device));
        Ok(())
    }

    fn of_format(&self, root: &Path, dtype: &str, results: &mut OpResults) -> Result<()> {
        let child = interpreter(self.python)
            .arg(root.join(PROGRAM))
            .arg(self.folder.path())
            .args(cases(&results.rows, dtype))
            .args(["--dtype", dtype, "--device", &device_name(self.device)])
            .args(["--samples", &self.samples.to_string()])
            .args(["--processes", &self.processes.to_string()])
            .args([
                "--threads",
                &candle_core::utils::get_num_threads().to_string(),
            ])
            .stdout(Stdio::piped())
            .spawn()?;
        let mut child = Child(child);
        let lines = child.0.stdout.take().map(BufReader::new);
        for line in lines.into_iter().flat_map(BufRead::lines) {
            let line = line?;
            let line: Line = serde_json::from_str(&line)
                .with_context(|| format!("{PROGRAM}: expected a row as JSON, found {line:?}"))?;
            match line {
                Line::Row(timed) => insert(&mut results.rows, timed)?,
                Line::Failed(failed) => {
                    let Failed {
                        op,
                        shape,
                        dtype,
                        level,
                        reason,
                    } = failed;
                    let note = format!("{op}.{shape}.{dtype}.{level} failed: {reason}");
                    data::println!("{note}");
                    results.notes.push(note);
                }
            }
        }
        ensure!(child.0.wait()?.success(), "{PROGRAM}: it failed");
        Ok(())
    }
}

/// All but the device's limits.
fn ops_of(rows: &[OpRow]) -> impl Iterator<Item = &OpRow> {
    rows.iter().filter(|row| row.op != "limits")
}

/// `OP.SHAPE` of each op and shape of a dtype.
fn cases(rows: &[OpRow], dtype: &str) -> Vec<String> {
    let mut cases: Vec<String> = vec![];
    for row in ops_of(rows).filter(|row| row.dtype == dtype) {
        let case = format!("{}.{}", row.op, row.shape);
        if !cases.contains(&case) {
            cases.push(case);
        }
    }
    cases
}

fn insert(rows: &mut Vec<OpRow>, timed: Timed) -> Result<()> {
    let Timed {
        op,
        shape,
        dtype,
        level,
        host_us,
        device_us,
        graph_us,
        low_us,
        high_us,
        samples,
    } = timed;
    let same = |row: &OpRow| (&row.op, &row.shape, &row.dtype) == (&op, &shape, &dtype);
    let last = rows.iter().rposition(same);
    let last = last.with_context(|| format!("{PROGRAM}: {op}.{shape} was not asked for"))?;
    let (bytes, flops) = if is_limit(&level) {
        (None, None) // it does less
    } else {
        (rows[last].bytes, rows[last].flops)
    };
    let row = OpRow {
        op,
        shape,
        level,
        dtype,
        host_us,
        device_us,
        cuda_graph_us: graph_us,
        low_us: Some(low_us),
        high_us: Some(high_us),
        samples: Some(samples),
        bytes,
        flops,
        ..OpRow::default()
    };
    data::println!("{}  {:.2} µs", row.key(), row.us());
    rows.insert(last + 1, row);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(op: &str, level: &str) -> OpRow {
        OpRow {
            op: op.into(),
            shape: "2x3".into(),
            level: level.into(),
            dtype: "f32".into(),
            host_us: 1.,
            bytes: Some(48),
            ..OpRow::default()
        }
    }

    /// An op without a PyTorch version would have no column, and the program refuses it.
    #[test]
    fn every_op_has_a_pytorch_version() -> Result<()> {
        let program = std::fs::read_to_string(crate::compare::root()?.join(PROGRAM))?;
        for op in benches::ops::ops().map(|op| op.name) {
            let listed = program.contains(&format!("\n    \"{op}\": lambda "));
            assert!(listed, "{op}: add it to COMPILED in {PROGRAM}");
        }
        Ok(())
    }

    #[test]
    fn a_row_goes_after_those_of_its_op() -> Result<()> {
        let mut rows = vec![
            row("gelu", "level2"),
            row("gelu", "copy"),
            row("topk", "level2"),
            row("limits", "limits"),
            row("topk", "level3"),
        ];
        assert_eq!(cases(&rows, "f32"), ["gelu.2x3", "topk.2x3"]);
        assert_eq!(cases(&rows, "bf16"), [""; 0]);
        let line = r#"{"kind":"row","op":"gelu","shape":"2x3","dtype":"f32","level":"pytorch","host_us":4.5,"device_us":3.5,"graph_us":null,"low_us":3.2,"high_us":4.1,"samples":20}"#;
        let row_of = |line: &str| match serde_json::from_str(line) {
            Ok(Line::Row(timed)) => timed,
            other => panic!("expected a row, found {other:?}"),
        };
        insert(&mut rows, row_of(line))?;
        assert_eq!(rows[2].key(), "gelu.2x3.f32.pytorch");
        assert_eq!((rows[2].us(), rows[2].bytes), (3.5, Some(48)));
        assert_eq!((rows[2].spread(), rows[2].samples), ((3.2, 4.1), Some(20)));
        let line = line.replace("gelu", "silu");
        assert!(insert(&mut rows, row_of(&line)).is_err());
        Ok(())
    }
}
