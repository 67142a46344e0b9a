//! Level 4: one block per token, 16 bytes per thread.

use candle_core::{Result, Tensor};

use super::Params;
use crate::attention::Cache;
use crate::element::by_dtype;
use crate::launch::{Launch, Module, module};
use crate::output;

static MODULE: Module = module!("rope/level4", sm_75);

/// Threads of a block at most: `__launch_bounds__` of `level4.cu` and `level5.cu`.
pub(super) const THREADS: usize = 256;

pub(super) fn launch(x: &Params, cache: &Cache, position: usize) -> Result<Tensor> {
    let q = x.q;
    let (batch, tokens, heads, _) = q.dims4()?;
    let y = output::tensor(q.shape(), q.dtype(), q.device())?;
    let (chunks, rows) = block(q, heads + cache.kv_heads);
    let entry = by_dtype(
        "rope_append_level4",
        q.dtype(),
        "rope_append_f32_level4",
        "rope_append_bf16_level4",
    )?;
    let launch = Launch::new(&MODULE, entry)
        .grid(tokens, batch, 1)
        .block(chunks, rows, 1);
    x.arguments(launch, &y, cache)?.u32(position).launch()?;
    Ok(y)
}

/// The block for q (B, T, H, D): along x the 16-byte chunks of half a head, along y heads.
pub(super) fn block(q: &Tensor, heads: usize) -> (usize, usize) {
    let d = q.dims().last().copied().unwrap_or_default();
    let chunks = (d / 2).div_ceil(16 / q.dtype().size_in_bytes());
    let chunks = chunks.clamp(1, 32);
    (chunks, heads.clamp(1, THREADS / chunks))
}
