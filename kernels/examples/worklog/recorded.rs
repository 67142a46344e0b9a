//! Times of the steps that `workbook worklog --record NAME` has recorded.

use std::path::Path;

use anyhow::Context;
use serde::Deserialize;

/// Times of one GPU.
pub struct Times {
    /// Name of the GPU.
    pub name: String,
    /// A row per step, and rows of what they are compared with.
    pub rows: Vec<Row>,
}

/// One step, or what it is compared with.
#[derive(Deserialize)]
pub struct Row {
    /// The worklog, or a part of it with its own sizes.
    pub op: String,
    /// Sizes: `4096x4096x4096`.
    pub shape: String,
    /// `step1`, or another's name.
    pub level: String,
    /// FLOPs of a compute-bound op.
    pub flops: Option<u64>,
    /// Minimum bytes of memory traffic of a memory-bound op.
    pub bytes: Option<u64>,
    /// Microseconds on the host's clock.
    pub host_us: f64,
    /// Microseconds on the device's clock.
    pub device_us: Option<f64>,
}

impl Row {
    fn us(&self) -> f64 {
        self.device_us.unwrap_or(self.host_us)
    }
}

impl Times {
    /// Sizes at which all steps were timed.
    pub fn shape(&self) -> &str {
        self.rows.first().map_or("no sizes", |row| &row.shape)
    }

    /// `45.2 (88%)`: throughput of a step, and its share of the row `reference`.
    pub fn cell(&self, step: usize, reference: &str) -> Option<String> {
        let row = |level: &str| self.rows.iter().find(|row| row.level == level);
        let own = row(&format!("step{step}"))?;
        let percent = 100. * row(reference)?.us() / own.us();
        let rate = match (own.flops, own.bytes) {
            (Some(flops), _) => flops as f64 / own.us() / 1e6,
            (None, bytes) => bytes? as f64 / own.us() / 1e3,
        };
        Some(format!("{rate:.1} ({percent:.0}%)"))
    }
}

/// The records of an op below `benches/results/worklogs`, by the names of their files.
pub fn all(op: &str) -> anyhow::Result<Vec<Times>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../benches/results/worklogs");
    if !folder.exists() {
        return Ok(vec![]);
    }
    let mut paths = vec![];
    for entry in std::fs::read_dir(&folder)? {
        paths.push(entry?.path());
    }
    paths.sort();
    let mut all = vec![];
    for path in paths {
        let mut times = load(&path).with_context(|| path.display().to_string())?;
        times.rows.retain(|row| row.op == op);
        if !times.rows.is_empty() {
            all.push(times);
        }
    }
    Ok(all)
}

fn load(path: &Path) -> anyhow::Result<Times> {
    #[derive(Deserialize)]
    struct File {
        machine: Machine,
        rows: Vec<Row>,
    }
    #[derive(Deserialize)]
    struct Machine {
        name: String,
    }
    let file: File = serde_json::from_str(&std::fs::read_to_string(path)?)?;
    Ok(Times {
        name: file.machine.name,
        rows: file.rows,
    })
}
