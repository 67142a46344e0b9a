//! Whole models.

use serde::{Deserialize, Serialize};

use crate::Results;

/// One workload at one level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// `lm`, `vit` or `gnn`.
    pub model: String,
    /// `tiny`, or the name of a preset.
    pub preset: String,
    /// What was timed.
    pub workload: String,
    /// 1 for naive candle ops, and so on; 0 for another framework.
    pub level: u8,
    /// Of another framework, and how it ran: `pytorch_eager`, `pytorch_compile_max_autotune`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// Whether the forward pass was one CUDA graph.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub graph: bool,
    /// `f32` or `bf16`.
    pub dtype: String,
    /// Of one forward pass, milliseconds.
    pub median_ms: f64,
    /// A tenth of the samples is below.
    pub low_ms: f64,
    /// A tenth of the samples is above.
    pub high_ms: f64,
    /// Of one forward pass on the device alone, without the host's part: median, milliseconds. On a GPU, where the
    /// host can queue a whole pass before the device begins with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_ms: Option<f64>,
    /// Level 1's median over this one.
    pub speedup: f64,
    /// Tensors made in one forward pass, views included; 0 for another framework.
    pub tensors: usize,
    /// Kernels started on a GPU in one forward pass, candle's and cuBLAS's own among them, where they
    /// were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launches: Option<usize>,
    /// The most bytes that one run needed at once, beyond the weights; 0 for another framework.
    pub peak_bytes: u64,
    /// From level 1's logits, as a share of the largest of them.
    pub max_difference: f64,
    /// Timed runs.
    pub samples: usize,
}

/// Which time of a forward pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// Until the host knows that the device is done.
    Host,
    /// On the device alone.
    Device,
}

impl Clock {
    /// What people read first.
    pub const ALL: [Self; 2] = [Self::Host, Self::Device];
}

/// How other frameworks can run on a CPU, and on a GPU; PyG has layers for graphs alone.
const ON_CPU: [&str; 4] = [
    "pytorch_eager",
    "pytorch_compile",
    "pytorch_compile_max_autotune",
    "pyg",
];
const ON_GPU: [&str; 6] = [
    "pytorch_eager",
    "pytorch_graph",
    "pytorch_compile",
    "pytorch_compile_reduce_overhead",
    "pytorch_compile_max_autotune",
    "pyg",
];

/// Model, preset, workload, number format and system of a note that says that they failed.
pub fn failed(note: &str) -> Option<[&str; 5]> {
    let (which, _) = note.split_once(" failed: ")?;
    which.split(' ').collect::<Vec<_>>().try_into().ok()
}

impl Row {
    /// The median by a clock, milliseconds.
    pub fn ms(&self, clock: Clock) -> Option<f64> {
        match clock {
            Clock::Host => Some(self.median_ms),
            Clock::Device => self.device_ms,
        }
    }

    /// `lm tiny decode`, with the number format unless it is the usual one.
    pub fn title(&self) -> String {
        let dtype = match self.dtype.as_str() {
            "f32" => String::new(),
            other => format!(" {other}"),
        };
        format!("{} {} {}{dtype}", self.model, self.preset, self.workload)
    }

    /// `level 5`, `level 5 in a graph`, `PyTorch compile reduce-overhead`, `PyG`
    pub fn variant(&self) -> String {
        if let Some(system) = &self.system {
            return spoken(system);
        }
        let graph = if self.graph { " in a graph" } else { "" };
        format!("level {}{graph}", self.level)
    }

    /// Its column where there is little room: `PyTorch compile` for every mode of that compiler.
    pub fn family(&self) -> String {
        let variant = self.variant();
        match self.system {
            Some(_) => variant.split(' ').take(2).collect::<Vec<_>>().join(" "),
            None => variant,
        }
    }

    /// The row's address: `lm.tiny.decode.f32.level1`, `….level5.graph`.
    pub fn key(&self) -> String {
        let Self {
            model,
            preset,
            workload,
            dtype,
            level,
            system,
            graph,
            ..
        } = self;
        if let Some(system) = system {
            return format!("{model}.{preset}.{workload}.{dtype}.{system}");
        }
        let graph = if *graph { ".graph" } else { "" };
        format!("{model}.{preset}.{workload}.{dtype}.level{level}{graph}")
    }

    /// Whether both are the same workload, at whatever level.
    fn same_workload(&self, other: &Self) -> bool {
        self.title() == other.title()
    }
}

impl Results {
    /// Whether a row is shown where there is little room: each level launch by launch is, of the graphs the last level's,
    /// and of the modes of another framework's compiler the fastest by `clock`.
    pub fn is_shown(&self, row: &Row, clock: Clock) -> bool {
        let Some(ms) = row.ms(clock) else {
            return false;
        };
        let highest = self.rows.iter().map(|row| row.level).max();
        let faster = |other: &Row| {
            other.same_workload(row)
                && other.family() == row.family()
                && other.ms(clock).is_some_and(|other| other < ms)
        };
        match row.system {
            Some(_) => !self.rows.iter().any(faster),
            None => !row.graph || Some(row.level) == highest,
        }
    }

    /// The workloads in which another framework is ahead of every level by `clock`: the fastest level, and the fastest
    /// other.
    pub fn behind(&self, clock: Clock) -> Vec<(&Row, &Row)> {
        let fastest = |rows| Some((fastest(rows, clock, true)?, fastest(rows, clock, false)?));
        let ahead = |(own, other): &(&Row, &Row)| other.ms(clock) < own.ms(clock);
        self.workloads().filter_map(fastest).filter(ahead).collect()
    }

    /// What other frameworks could do here and was not tried, where others of them were: `PyG`, and in brackets
    /// how many workloads are without.
    pub fn not_tried(&self) -> Vec<String> {
        let systems = match self.machine.device.as_str() {
            "cpu" => &ON_CPU[..],
            _ => &ON_GPU[..],
        };
        systems.iter().filter_map(|s| self.without(s)).collect()
    }

    fn without(&self, system: &str) -> Option<String> {
        let has_others = |rows: &&[Row]| {
            let can = system != "pyg" || rows[0].model == "gnn";
            can && rows.iter().any(|row| row.system.is_some())
        };
        let compared: Vec<_> = self.workloads().filter(has_others).collect();
        let untried = |rows: &&&[Row]| !rows.iter().any(|row| self.tried(row, system));
        let name = match system {
            "pytorch_compile" => "PyTorch compile default".into(),
            other => spoken(other),
        };
        match (compared.iter().filter(untried).count(), compared.len()) {
            (0, _) => None,
            (without, all) if without == all => Some(name),
            (without, all) => Some(format!("{name} ({without} of {all} workloads)")),
        }
    }

    /// Whether `row` is that of a system, or the system failed at its workload.
    fn tried(&self, row: &Row, system: &str) -> bool {
        let Row { model, preset, .. } = row;
        let key = [model, preset, &row.workload, &row.dtype, system];
        row.system.as_deref() == Some(system)
            || self.notes.iter().any(|note| failed(note) == Some(key))
    }

    /// The rows of one workload each, levels in order.
    pub fn workloads(&self) -> impl Iterator<Item = &[Row]> {
        self.rows.chunk_by(Row::same_workload)
    }
}

/// The fastest of the levels, or of the others.
fn fastest<'a>(rows: &'a [Row], clock: Clock, levels: bool) -> Option<&'a Row> {
    let timed = |row: &'a Row| Some((row, row.ms(clock)?));
    let rows = rows.iter().filter(|row| row.system.is_none() == levels);
    let fastest = rows
        .filter_map(timed)
        .min_by(|(_, a), (_, b)| a.total_cmp(b));
    fastest.map(|(row, _)| row)
}

/// `PyTorch compile reduce-overhead`, `PyG`
fn spoken(system: &str) -> String {
    system
        .replace("reduce_overhead", "reduce-overhead")
        .replace("max_autotune", "max-autotune")
        .replace("pytorch_", "PyTorch ")
        .replace("pyg", "PyG")
        .replace('_', " ")
}
