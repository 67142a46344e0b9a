//! Level 4: one block per token, 16 bytes per thread.

use candle_core::{Result, Tensor};

use super::{Params, cpu};
use crate::attention::Cache;
use crate::element::{by_dtype, dispatch};
use crate::launch::{Launch, Module, module, on_cpu};
use crate::output;

static MODULE: Module = module!("rope/level4", sm_75);

/// Threads of a block at most: `__launch_bounds__` of `level4.cu` and `level5.cu`.
pub(super) const THREADS: usize = 256;

/// Rotates q (B, T, H, D) and k (B, T, Hkv, D), writes k and v at `position..` of the cache, and returns
/// q, contiguous.
///
/// # Errors
/// When shapes, strides, dtypes or devices do not agree, or the cache has no room.
pub fn rope_append(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    cos: &Tensor,
    sin: &Tensor,
    cache: &mut Cache,
    position: usize,
) -> Result<Tensor> {
    let _span = trace::span("rope_append_level4");
    let x = Params { q, k, v, cos, sin };
    x.check("rope_append_level4", cache, position)?;
    if on_cpu(q.device()) {
        return dispatch!(
            "rope_append_level4",
            q.dtype(),
            cpu::level4::rope_append(&x, cache, position)
        );
    }
    launch(&x, cache, position)
}

fn launch(x: &Params, cache: &Cache, position: usize) -> Result<Tensor> {
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
