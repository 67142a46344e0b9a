//! Whole models.

mod best;
mod others;

use serde::{Deserialize, Serialize};

use crate::figures::{self, Figures, Wrong};
use crate::{Kind, Origin, Results, spoken};
pub use best::Workload;
pub use others::failed;

/// One workload at one level.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
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
    /// Where it is of another commit than the file says: one that was measured before, and not since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
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

impl Figures for Row {
    const KIND: Kind = Kind::Models;

    fn address(&self) -> String {
        self.key()
    }

    fn part(&self) -> String {
        [&*self.model, &self.preset, &self.dtype].join(" ")
    }

    fn subject(&self) -> String {
        self.workload.clone()
    }

    fn origin(&self) -> Option<&Origin> {
        self.origin.as_ref()
    }

    fn origin_mut(&mut self) -> &mut Option<Origin> {
        &mut self.origin
    }

    fn check(&self) -> Result<(), Wrong> {
        figures::names([
            ("model", &self.model),
            ("preset", &self.preset),
            ("workload", &self.workload),
            ("dtype", &self.dtype),
        ])?;
        match &self.system {
            Some(system) => {
                figures::names([("system", system)])?;
                figures::no_level(self.level)?;
            }
            None => figures::level(self.level)?,
        }
        figures::times([
            ("median_ms", Some(self.median_ms)),
            ("low_ms", Some(self.low_ms)),
            ("high_ms", Some(self.high_ms)),
            ("device_ms", self.device_ms),
            ("speedup", Some(self.speedup)),
        ])
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

    /// The rows of one workload each, levels in order.
    pub fn workloads(&self) -> impl Iterator<Item = &[Row]> {
        self.rows.chunk_by(Row::same_workload)
    }
}
