//! Times of the steps that `workbook worklog --record NAME` has recorded.

use std::path::Path;

use anyhow::Context;
use serde::Deserialize;

/// Times of one GPU.
pub struct Recorded {
    /// Name of the GPU.
    pub name: String,
    rows: Vec<Row>,
}

/// One step, or cuBLAS.
#[derive(Deserialize)]
pub struct Row {
    /// `step1`; `candle` and `candle_tf32` are cuBLAS.
    pub level: String,
    /// FLOPs of the matmul.
    pub flops: u64,
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

impl Recorded {
    /// Times of the GPU `name`.
    #[cfg(feature = "cuda")]
    pub fn new(name: String, rows: Vec<Row>) -> Self {
        Self { name, rows }
    }

    /// `45.2 (88%)`: TFLOP/s of a step, and its share of cuBLAS.
    pub fn cell(&self, step: usize) -> Option<String> {
        let row = |level: &str| self.rows.iter().find(|row| row.level == level);
        let own = row(&format!("step{step}"))?;
        let library = row(if step == 9 { "candle_tf32" } else { "candle" })?;
        let tflops = own.flops as f64 / own.us() / 1e6;
        let percent = 100. * library.us() / own.us();
        Some(format!("{tflops:.1} ({percent:.0}%)"))
    }
}

/// The records below `benches/results/worklogs`, by the names of their files.
pub fn all() -> anyhow::Result<Vec<Recorded>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../benches/results/worklogs");
    if !folder.exists() {
        return Ok(vec![]);
    }
    let mut paths = vec![];
    for entry in std::fs::read_dir(&folder)? {
        paths.push(entry?.path());
    }
    paths.sort();
    paths.iter().map(|path| load(path)).collect()
}

fn load(path: &Path) -> anyhow::Result<Recorded> {
    #[derive(Deserialize)]
    struct File {
        machine: Machine,
        rows: Vec<Row>,
    }
    #[derive(Deserialize)]
    struct Machine {
        name: String,
    }
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let file: File = serde_json::from_str(&text).with_context(|| path.display().to_string())?;
    Ok(Recorded {
        name: file.machine.name,
        rows: file.rows,
    })
}
