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
    /// Of another framework, `pytorch_compile`.
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
    /// Level 1's median over this one.
    pub speedup: f64,
    /// Tensors made in one forward pass, views included.
    pub tensors: usize,
    /// Kernels started on a GPU in one forward pass, candle's and cuBLAS's own among them, where they
    /// were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launches: Option<usize>,
    /// The most bytes that one run needed at once, beyond the weights.
    pub peak_bytes: u64,
    /// From level 1's logits, as a share of the largest of them.
    pub max_difference: f64,
    /// Timed runs.
    pub samples: usize,
}

impl Row {
    /// `lm tiny decode`, with the number format unless it is the usual one.
    pub fn title(&self) -> String {
        let dtype = match self.dtype.as_str() {
            "f32" => String::new(),
            other => format!(" {other}"),
        };
        format!("{} {} {}{dtype}", self.model, self.preset, self.workload)
    }

    /// `level 5`, `level 5 in a graph`, `PyTorch compile`
    pub fn variant(&self) -> String {
        if let Some(system) = &self.system {
            return system.replace("pytorch_", "PyTorch ");
        }
        let graph = if self.graph { " in a graph" } else { "" };
        format!("level {}{graph}", self.level)
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
    /// Whether a row is shown where there is little room: each level launch by launch and other frameworks are, and
    /// of the graphs the last level's.
    pub fn is_shown(&self, row: &Row) -> bool {
        let highest = self.rows.iter().map(|row| row.level).max();
        !row.graph || Some(row.level) == highest
    }

    /// The rows of one workload each, levels in order.
    pub fn workloads(&self) -> impl Iterator<Item = &[Row]> {
        self.rows.chunk_by(Row::same_workload)
    }
}
