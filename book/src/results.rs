//! The recorded comparisons that the chapters quote: `benches/results/*.json`, and the reader's own
//! `target/workbook/compare.json`, in one schema.

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// One recorded comparison: the machine, and a row for each workload and level.
#[derive(Debug, Deserialize)]
pub struct Results {
    schema: u32,
    /// Where and when the rows were measured.
    pub machine: Machine,
    /// The measurements.
    pub rows: Vec<Row>,
}

/// Where and when a comparison was measured.
#[derive(Debug, Deserialize)]
pub struct Machine {
    /// `cpu` or `cuda`.
    pub device: String,
    /// The name that the processor or the GPU gives itself.
    pub name: String,
    /// CPU threads.
    pub threads: usize,
    /// Operating system and architecture.
    pub os: String,
    /// Version of the compiler.
    pub rustc: String,
    /// Version of candle.
    pub candle: String,
    /// The commit that was measured.
    pub commit: String,
    /// The day, as `YYYY-MM-DD`.
    pub date: String,
    /// Of the GPU.
    pub driver: Option<String>,
    /// CUDA's version.
    pub toolkit: Option<String>,
}

/// One workload at one level.
#[derive(Debug, Clone, Deserialize)]
pub struct Row {
    /// `lm`, `vit` or `gnn`.
    pub model: String,
    /// Name of the preset.
    pub preset: String,
    /// What was timed, as `decode`.
    pub workload: String,
    /// 1 to 5.
    pub level: u8,
    /// `f32` or `bf16`.
    pub dtype: String,
    /// Median time in milliseconds.
    pub median_ms: f64,
    /// A tenth of the runs is below, in milliseconds.
    pub low_ms: f64,
    /// A tenth of the runs is above, in milliseconds.
    pub high_ms: f64,
    /// Level 1's median over this one's.
    pub speedup: Option<f64>,
    /// Tensors made in one run, views included.
    pub tensors: Option<u64>,
    /// Most bytes alive at once during one run, beyond the weights.
    pub peak_bytes: Option<u64>,
    /// Largest difference from level 1's logits, as a share of the largest of them.
    pub max_difference: Option<f64>,
}

/// A figure's address: `lm.tiny.decode.f32.level1`, and after it, if not the median, a field.
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    row: String,
    /// `median` where the key names none.
    pub field: String,
}

impl Key {
    /// Splits `model.preset.workload.dtype.levelN[.field]`.
    pub fn parse(text: &str) -> Result<Self> {
        let parts: Vec<&str> = text.split('.').collect();
        ensure!(
            matches!(parts.len(), 5 | 6),
            "expected a key `model.preset.workload.dtype.levelN[.field]`, found `{text}`"
        );
        let field = parts.get(5).copied().unwrap_or("median").to_string();
        Ok(Self {
            row: parts[..5].join("."),
            field,
        })
    }
}

impl Row {
    /// The row's address, as `lm.tiny.decode.f32.level1`.
    pub fn key(&self) -> String {
        let Self {
            model,
            preset,
            workload,
            dtype,
            level,
            ..
        } = self;
        format!("{model}.{preset}.{workload}.{dtype}.level{level}")
    }
}

impl Results {
    /// Reads one file; an error names it.
    pub fn load(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path)
            .with_context(|| format!("{}: expected recorded results", path.display()))?;
        let results: Self = serde_json::from_str(&text)
            .with_context(|| format!("{}: expected recorded results", path.display()))?;
        if results.schema != 1 {
            bail!(
                "{}: expected schema 1, found {}",
                path.display(),
                results.schema
            );
        }
        Ok(results)
    }

    /// The row that a key names.
    pub fn row(&self, key: &Key) -> Option<&Row> {
        self.rows.iter().find(|row| row.key() == key.row)
    }
}

/// All that the chapters may quote: a folder of recorded results, and the reader's own run.
#[derive(Debug)]
pub struct Library {
    folder: PathBuf,
    loaded: BTreeMap<String, Results>,
    own: Option<Results>,
}

impl Library {
    /// Reads `own` if it is there; files in `folder` are read when a chapter names them.
    pub fn open(folder: &Path, own: &Path) -> Result<Self> {
        let own = own.exists().then(|| Results::load(own)).transpose()?;
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.into());
        Ok(Self {
            folder,
            loaded: BTreeMap::new(),
            own,
        })
    }

    /// The comparison recorded under the name `on` (`cpu` is `cpu.json`), and the reader's own run
    /// if it was on the same kind of device.
    pub fn on(&mut self, on: &str) -> Result<(&Results, Option<&Results>)> {
        if !self.loaded.contains_key(on) {
            let results = Results::load(&self.folder.join(format!("{on}.json")))?;
            self.loaded.insert(on.to_string(), results);
        }
        let recorded = &self.loaded[on];
        let same_device = |own: &&Results| own.machine.device == recorded.machine.device;
        Ok((recorded, self.own.as_ref().filter(same_device)))
    }
}
