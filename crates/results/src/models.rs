//! Results of whole models.

mod best;
mod others;

use serde::{Deserialize, Deserializer, Serialize};

use crate::figures::{self, Figures, Wrong};
use crate::{Kind, Origin, Results, spoken};
pub use best::Workload;
pub use others::failed;

/// One workload at one level.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// `lm`, `vit` or `gnn`.
    pub model: String,
    /// `tiny`, or the name of a preset.
    pub preset: String,
    /// Name of the workload.
    pub workload: String,
    /// Level, from 1 for naive candle ops; 0 for another framework.
    pub level: u8,
    /// Another framework and its mode: `pytorch_eager`, `pytorch_compile_max_autotune`; in an ablation level 5 without an
    /// idea: `without_overlap`.
    #[serde(
        deserialize_with = "renamed",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub system: Option<String>,
    /// Whether the forward pass was one CUDA graph.
    #[serde(rename = "graph", default, skip_serializing_if = "std::ops::Not::not")]
    pub cuda_graph: bool,
    /// `f32` or `bf16`.
    pub dtype: String,
    /// Median time of a forward pass in milliseconds.
    pub median_ms: f64,
    /// 10% quantile in milliseconds.
    pub low_ms: f64,
    /// 90% quantile in milliseconds.
    pub high_ms: f64,
    /// Median device time of a forward pass in milliseconds, without the host's part. Only on a GPU where the
    /// host can queue a whole pass before the device starts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_ms: Option<f64>,
    /// Level 1's median over this one.
    pub speedup: f64,
    /// Tensors created in a forward pass, including views; 0 for another framework.
    pub tensors: usize,
    /// Kernels launched on a GPU in a forward pass, including candle's and cuBLAS's, if counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launches: Option<usize>,
    /// Peak memory of a run in bytes, without weights; 0 for another framework.
    pub peak_bytes: u64,
    /// Maximum difference from level 1's logits, relative to the largest of them.
    pub max_difference: f64,
    /// Number of timed runs.
    pub samples: usize,
    /// The commit of the measurement, if it differs from the file's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// Reads a system. Records from before the idea was called `cuda-graph` have `without_graph`.
fn renamed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let system = Option::<String>::deserialize(deserializer)?;
    Ok(system.map(|name| match &*name {
        "without_graph" => "without_cuda_graph".into(),
        _ => name,
    }))
}

/// The clock of a forward pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// Host time until the device is done.
    Host,
    /// Device time.
    Device,
}

impl Clock {
    /// Both clocks, in reading order.
    pub const ALL: [Self; 2] = [Self::Host, Self::Device];
}

impl Row {
    /// Median by a clock, in milliseconds.
    pub fn ms(&self, clock: Clock) -> Option<f64> {
        match clock {
            Clock::Host => Some(self.median_ms),
            Clock::Device => self.device_ms,
        }
    }

    /// `lm tiny decode`, with the dtype unless it is f32.
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
        let graph = if self.cuda_graph { " in a graph" } else { "" };
        format!("level {}{graph}", self.level)
    }

    /// Short column name: `PyTorch compile` for all modes of that compiler.
    pub fn family(&self) -> String {
        let variant = self.variant();
        match self.system {
            Some(_) => variant.split(' ').take(2).collect::<Vec<_>>().join(" "),
            None => variant,
        }
    }

    /// The row's key: `lm.tiny.decode.f32.level1`, `….level5.graph`.
    pub fn key(&self) -> String {
        let Self {
            model,
            preset,
            workload,
            dtype,
            level,
            system,
            cuda_graph,
            ..
        } = self;
        if let Some(system) = system {
            return format!("{model}.{preset}.{workload}.{dtype}.{system}");
        }
        let graph = if *cuda_graph { ".graph" } else { "" };
        format!("{model}.{preset}.{workload}.{dtype}.level{level}{graph}")
    }

    /// Whether both rows are of the same workload.
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
        ])?;
        figures::ordered([
            ("low_ms", self.low_ms),
            ("median_ms", self.median_ms),
            ("high_ms", self.high_ms),
        ])?;
        figures::difference("max_difference", self.max_difference)?;
        figures::counts([("samples", Some(self.samples as u64))])
    }
}

impl Results {
    /// Whether a row is shown in a narrow table: each level without a graph, the highest level's graph, and
    /// the fastest mode by `clock` of another framework's compiler.
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
            None => !row.cuda_graph || Some(row.level) == highest,
        }
    }

    /// Iterates over the workloads; the rows of each are ordered by level.
    pub fn workloads(&self) -> impl Iterator<Item = &[Row]> {
        self.rows.chunk_by(Row::same_workload)
    }
}
