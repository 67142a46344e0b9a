//! The recorded figures that the chapters quote: `benches/results/*.json` for models,
//! `benches/results/ops/*.json` for ops and so on, and the reader's own in `target/workbook` and `target/criterion`.

use crate::criterion::Benches;
use crate::table;
use anyhow::{Result, ensure};
use data::BadInput;
use results::{BenchResults, Figures, Kind, Machine, OpResults, OpRow, Recorded, Results, Row};
use serde::de::DeserializeOwned;
use simt::case::files_below;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// How the address of a row of an ablation begins.
const ABLATION: &str = "ablation.";

/// A figure's address, and after it, if not the median, a field: `lm.tiny.decode.f32.level1.tensors`,
/// `op.linear.1x512x512.f32.level4`, `ablation.lm.readme.decode.bf16.without_overlap`.
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    /// The row's own address, `op.` before that of an op and `ablation.` before that of an ablation.
    row: String,
    /// `median` where the key names none.
    pub field: String,
}

impl Key {
    /// Splits `[ablation.]model.preset.workload.dtype.levelN[.graph][.field]` or `op.name.shape.dtype.level[.field]`.
    pub fn parse(text: &str) -> Result<Self> {
        let parts: Vec<&str> = text.split('.').collect();
        let level = if text.starts_with(ABLATION) { 5 } else { 4 };
        let has_graph = parts.get(level + 1) == Some(&"graph");
        let address = level + 1 + usize::from(has_graph);
        ensure!(
            (address..=address + 1).contains(&parts.len()),
            "expected a key `[ablation.]model.preset.workload.dtype.levelN[.graph][.field]` or \
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

    /// Whether it names a row of an ablation.
    fn is_ablation(&self) -> bool {
        self.row.starts_with(ABLATION)
    }

    /// The row that it names.
    pub fn of<'r>(&self, results: &'r Results) -> Option<&'r Row> {
        let name = self.row.strip_prefix(ABLATION).unwrap_or(&self.row);
        results.rows.iter().find(|row| row.key() == name)
    }

    /// The row of an op that it names.
    pub fn of_op<'r>(&self, results: &'r OpResults) -> Option<&'r OpRow> {
        let name = self.row.strip_prefix("op.")?;
        results.rows.iter().find(|row| row.key() == name)
    }
}

/// A row that has an address and a time.
pub trait Timed {
    /// See [`Key`]; without `op.` before it.
    fn key(&self) -> String;
    /// Milliseconds of a model, microseconds of an op.
    fn time(&self) -> f64;
}

impl Timed for Row {
    fn key(&self) -> String {
        self.key()
    }

    fn time(&self) -> f64 {
        self.median_ms
    }
}

impl Timed for OpRow {
    fn key(&self) -> String {
        self.key()
    }

    fn time(&self) -> f64 {
        self.us()
    }
}

/// The reader's own times, shown next to the recorded ones.
#[derive(Debug)]
pub struct Here {
    /// Title of these times in a table.
    pub title: &'static str,
    /// Where they were measured, if the run has noted it.
    machine: Option<Machine>,
    device: String,
    times: BTreeMap<String, f64>,
}

impl Here {
    fn run<R: Timed>(own: &Recorded<R>) -> Self {
        Self {
            title: "here",
            machine: Some(own.machine.clone()),
            device: own.machine.device.clone(),
            times: (own.rows.iter().map(|row| (row.key(), row.time()))).collect(),
        }
    }

    fn benches(device: &str, times: BTreeMap<String, f64>) -> Self {
        Self {
            title: "here (cargo bench)",
            machine: None,
            device: device.into(),
            times,
        }
    }

    /// The reader's time of what `row` is the recorded one of.
    pub fn time(&self, row: &impl Timed) -> Option<f64> {
        self.times.get(&row.key()).copied()
    }

    /// `here: EPYC, 2 threads, …`
    pub fn place(&self) -> Option<String> {
        let machine = self.machine.as_ref()?;
        Some(format!("{}: {}", self.title, table::machine(machine)))
    }
}

/// Recorded figures of one kind, and the reader's own.
#[derive(Debug)]
pub struct Shelf<R> {
    folder: PathBuf,
    loaded: BTreeMap<String, Recorded<R>>,
    own: Option<Recorded<R>>,
    here: Vec<Here>,
}

/// Recorded results, and those of the reader on the same kind of device.
#[derive(Debug)]
pub struct Beside<'a, R> {
    /// The results that chapters quote.
    pub recorded: &'a Recorded<R>,
    /// The reader's own run of the same command.
    pub own: Option<&'a Recorded<R>>,
    /// All times of the reader's own.
    pub here: Vec<&'a Here>,
}

impl<'a, R: Timed> Beside<'a, R> {
    /// The reader's own runs that have a time for any of `rows`.
    pub fn here_of(&self, rows: &[&R]) -> Vec<&'a Here> {
        let any = |here: &&&Here| rows.iter().any(|row| here.time(*row).is_some());
        self.here.iter().filter(any).copied().collect()
    }
}

impl<R: DeserializeOwned + Figures + Timed> Shelf<R> {
    fn open(folder: PathBuf, own: &Path, benches: Option<Here>) -> Result<Self, BadInput> {
        let own = own.exists().then(|| Recorded::load(own)).transpose()?;
        let run = own.as_ref().map(Here::run);
        Ok(Self {
            folder: folder.canonicalize().unwrap_or(folder),
            loaded: BTreeMap::new(),
            here: run.into_iter().chain(benches).collect(),
            own,
        })
    }

    /// The names of all records, those of GPUs first; none where nothing of this kind was recorded.
    pub fn names(&mut self) -> Result<Vec<String>> {
        if !self.folder.exists() {
            return Ok(vec![]);
        }
        let mut names = vec![];
        for path in files_below(&self.folder, &["json"])? {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let is_gpu = self.on(&name)?.recorded.machine.is_gpu();
            names.push((!is_gpu, name.into_owned()));
        }
        names.sort();
        Ok(names.into_iter().map(|(_, name)| name).collect())
    }

    /// The file of the record with the name `on`.
    fn file(&self, on: &str) -> PathBuf {
        self.folder.join(format!("{on}.json"))
    }

    /// The record with the name `on`, if there is one.
    pub fn recorded(&mut self, on: &str) -> Result<Option<&Recorded<R>>> {
        if self.file(on).exists() {
            Ok(Some(self.on(on)?.recorded))
        } else {
            Ok(None)
        }
    }

    /// Results recorded under the name `on` (`cpu` is `cpu.json`).
    pub fn on(&mut self, on: &str) -> Result<Beside<'_, R>> {
        if !self.loaded.contains_key(on) {
            let results = Recorded::load(&self.file(on))?;
            self.loaded.insert(on.to_string(), results);
        }
        let recorded = &self.loaded[on];
        let device = &recorded.machine.device;
        let own = self.own.as_ref();
        Ok(Beside {
            recorded,
            own: own.filter(|own| own.machine.device == *device),
            here: (self.here.iter().filter(|here| here.device == *device)).collect(),
        })
    }
}

/// All that the chapters may quote.
#[derive(Debug)]
pub struct Library {
    /// Whole models.
    pub models: Shelf<Row>,
    /// Level 5 without each of its ideas.
    pub ablations: Shelf<Row>,
    /// Single ops.
    pub ops: Shelf<OpRow>,
    /// Small products.
    pub small: Shelf<OpRow>,
    /// The folder of what Criterion has timed.
    benches: PathBuf,
    /// The folder of the charts that are drawn of them.
    pub charts: PathBuf,
}

impl Library {
    /// Reads the reader's own figures below `target` where they are. Files in `folder` are read when a chapter names them.
    pub fn open(folder: &Path, target: &Path) -> Result<Self> {
        let benches = Benches::read(&target.join("criterion"))?;
        let [models, ops, small] = [benches.models, benches.ops.clone(), benches.ops]
            .map(|times| Some(Here::benches(benches.device, times)));
        let of = |kind: Kind| folder.join(kind.folder());
        let own = |kind: Kind| target.join("workbook").join(kind.left_by_a_run());
        Ok(Self {
            models: Shelf::open(of(Kind::Models), &own(Kind::Models), models)?,
            ablations: Shelf::open(of(Kind::Ablations), &own(Kind::Ablations), None)?,
            ops: Shelf::open(of(Kind::Ops), &own(Kind::Ops), ops)?,
            small: Shelf::open(of(Kind::Small), &own(Kind::Small), small)?,
            benches: of(Kind::Benches),
            charts: folder.join("charts"),
        })
    }

    /// The results of whole models, or of ablations, that a key is of.
    pub fn of_models(&mut self, key: &Key) -> &mut Shelf<Row> {
        if key.is_ablation() {
            &mut self.ablations
        } else {
            &mut self.models
        }
    }

    /// Results of the run of `cargo bench` recorded under the name `on`.
    pub fn benches(&self, on: &str) -> Result<BenchResults, BadInput> {
        BenchResults::load(&self.benches.join(format!("{on}.json")))
    }
}
