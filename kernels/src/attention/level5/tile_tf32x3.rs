//! Level 5 in f32 on tensor cores, for more than a few queries: the launch of `tile_tf32x3.cu`.

use candle_core::{DType, Result, Tensor};

use crate::attention::Params;
use crate::dispatch::{Facts, Feature};
use crate::error::unsupported;
use crate::launch::{Launch, Module, module};
use crate::output;

/// Name of `tile_tf32x3.cu` in the registry, in tables and in traces.
pub(super) const KERNEL: &str = "attention_tf32x3_level5";

static MODULE: Module = module!("attention/level5/tile_tf32x3", sm_80);

/// Queries of a tile, keys of a tile and threads of a block: `BM`, `BN` and `THREADS` of `tile_tf32x3.cu`.
pub(in crate::attention) const QUERIES: usize = 64;
pub(in crate::attention) const KEYS: usize = 32;
pub(in crate::attention) const THREADS: usize = 128;

/// Floats between two rows in shared memory, in addition to D: `PITCH`.
pub(in crate::attention) const PADDING: usize = 4;

/// For heads of up to so many channels, the entry.
pub(in crate::attention) const ENTRIES: [(usize, &str); 4] = [
    (32, "attention_d32x64_tf32x3_level5"),
    (64, "attention_d64x64_tf32x3_level5"),
    (96, "attention_d96x64_tf32x3_level5"),
    (128, "attention_d128x64_tf32x3_level5"),
];

fn entry(head_dim: usize) -> Option<(usize, &'static str)> {
    ENTRIES.into_iter().find(|(d, _)| head_dim <= *d)
}

/// Whether a GPU can, in this dtype: heads of up to 128 channels in whole chunks of 16 bytes.
pub(in crate::attention) fn can(facts: &Facts, dtype: DType, head_dim: usize) -> bool {
    let tensor_cores = facts.has(Feature::Bf16) && facts.has(Feature::AsyncCopies);
    let fits = head_dim.is_multiple_of(4) && entry(head_dim).is_some();
    tensor_cores && dtype == DType::F32 && fits
}

/// softmax(q·kᵀ/√D)·v: q (B, T, H, D), k and v (B, T, Hkv, D) → (B, T, H·D). Tensors that are not
/// 16-byte aligned are copied.
///
/// # Errors
/// When shapes, strides, dtypes or devices do not agree.
pub fn attention(q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
    let _span = trace::span(KERNEL);
    Params::run_aligned(KERNEL, q, k, v, launch)
}

/// For problems that [`can`] accepts, with 16-byte aligned rows of q, k and v.
pub(super) fn launch(params: &Params) -> Result<Tensor> {
    let Some((d, entry)) = entry(params.head_dim) else {
        return Err(unsupported(KERNEL, "D ≤ 128", params.head_dim, 3));
    };
    let dims = (params.batch, params.queries, params.heads * params.head_dim);
    let y = output::tensor(dims, params.q.dtype(), params.q.device())?;
    let launch = Launch::new(&MODULE, entry)
        .grid(params.heads, params.queries.div_ceil(QUERIES), params.batch)
        .block(THREADS, 1, 1)
        .smem((QUERIES + 2 * KEYS) * (d + PADDING) * size_of::<f32>());
    params.arguments(launch).write(&y).launch()?;
    Ok(y)
}
