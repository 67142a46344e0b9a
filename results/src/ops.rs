//! Single ops.

use serde::{Deserialize, Serialize};

/// One op on one shape at one level.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OpRow {
    /// `linear`
    pub op: String,
    /// `128x512x512`, as the benches name it.
    pub shape: String,
    /// `level4`; `copy` for as many bytes copied.
    pub level: String,
    /// `f32` or `bf16`.
    pub dtype: String,
    /// One call of many, until the device has done them all: median, microseconds.
    pub host_us: f64,
    /// One call on the device alone: median, microseconds. On a GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_us: Option<f64>,
    /// Read and written at least, where memory is the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Where arithmetic is the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flops: Option<u64>,
    /// What the call needs at the least, whichever is the limit, where the op says so: bytes of memory traffic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs_bytes: Option<u64>,
    /// The same, floating-point operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs_flops: Option<u64>,
    /// This project's kernels that it started on a GPU, each once; those of a library are not among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernels: Vec<String>,
}

/// What people call a row's level: `level 5`, `PyTorch compile`, `copy`.
pub fn spoken(level: &str) -> String {
    let name = level.replacen("level", "level ", 1);
    name.replace("pytorch", "PyTorch").replace('_', " ")
}

impl OpRow {
    /// The row's address: `linear.128x512x512.f32.level4`.
    pub fn key(&self) -> String {
        format!("{}.{}.{}.{}", self.op, self.shape, self.dtype, self.level)
    }

    /// The device's time where there is one, else the host's; microseconds.
    pub fn us(&self) -> f64 {
        self.device_us.unwrap_or(self.host_us)
    }
}
