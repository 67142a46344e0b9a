//! The recorded figures that the chapters quote: `benches/results/*.json` for models and
//! `benches/results/ops/*.json` for ops, and the reader's own in `target/workbook`.

use anyhow::{Result, ensure};
use data::BadInput;
use results::{OpResults, OpRow, Recorded, Results, Row};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A figure's address, and after it, if not the median, a field: `lm.tiny.decode.f32.level1.tensors`,
/// `op.linear.1x512x512.f32.level4`.
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    /// The row's own address, `op.` before that of an op.
    row: String,
    /// `median` where the key names none.
    pub field: String,
}

impl Key {
    /// Splits `model.preset.workload.dtype.levelN[.graph][.field]` or `op.name.shape.dtype.level[.field]`.
    pub fn parse(text: &str) -> Result<Self> {
        let parts: Vec<&str> = text.split('.').collect();
        let address = if parts.get(5) == Some(&"graph") { 6 } else { 5 };
        ensure!(
            (address..=address + 1).contains(&parts.len()),
            "expected a key `model.preset.workload.dtype.levelN[.graph][.field]` or \
             `op.name.shape.dtype.level[.field]`, found `{text}`"
        );
        let field = parts.get(address).copied().unwrap_or("median").to_string();
        Ok(Self {
            row: parts[..address].join("."),
            field,
        })
    }

    /// Whether it names an op.
    pub fn is_op(&self) -> bool {
        self.row.starts_with("op.")
    }

    /// The row that it names.
    pub fn of<'r>(&self, results: &'r Results) -> Option<&'r Row> {
        results.rows.iter().find(|row| row.key() == self.row)
    }

    /// The row of an op that it names.
    pub fn of_op<'r>(&self, results: &'r OpResults) -> Option<&'r OpRow> {
        let name = self.row.strip_prefix("op.")?;
        results.rows.iter().find(|row| row.key() == name)
    }
}

/// Recorded figures of one kind, and the reader's own.
#[derive(Debug)]
pub struct Shelf<R> {
    folder: PathBuf,
    loaded: BTreeMap<String, Recorded<R>>,
    own: Option<Recorded<R>>,
}

impl<R: DeserializeOwned> Shelf<R> {
    fn open(folder: PathBuf, own: &Path) -> Result<Self, BadInput> {
        Ok(Self {
            folder: folder.canonicalize().unwrap_or(folder),
            loaded: BTreeMap::new(),
            own: own.exists().then(|| Recorded::load(own)).transpose()?,
        })
    }

    /// What is recorded under the name `on` (`cpu` is `cpu.json`), and the reader's own if it was
    /// measured on the same kind of device.
    pub fn on(&mut self, on: &str) -> Result<(&Recorded<R>, Option<&Recorded<R>>)> {
        if !self.loaded.contains_key(on) {
            let results = Recorded::load(&self.folder.join(format!("{on}.json")))?;
            self.loaded.insert(on.to_string(), results);
        }
        let recorded = &self.loaded[on];
        let same_device = |own: &&Recorded<R>| own.machine.device == recorded.machine.device;
        Ok((recorded, self.own.as_ref().filter(same_device)))
    }
}

/// All that the chapters may quote.
#[derive(Debug)]
pub struct Library {
    /// Whole models.
    pub models: Shelf<Row>,
    /// Single ops.
    pub ops: Shelf<OpRow>,
    /// Small products.
    pub small: Shelf<OpRow>,
}

impl Library {
    /// Reads the reader's own figures where they are: `own`, and `ops.json` beside it. Files in
    /// `folder` are read when a chapter names them.
    pub fn open(folder: &Path, own: &Path) -> Result<Self> {
        Ok(Self {
            models: Shelf::open(folder.into(), own)?,
            ops: Shelf::open(folder.join("ops"), &own.with_file_name("ops.json"))?,
            small: Shelf::open(folder.join("small"), &own.with_file_name("small.json"))?,
        })
    }
}
