//! Level 3: one block per token and head, one thread per pair of channels.

use candle_core::{Result, Tensor};

use super::{Params, cpu};
use crate::attention::Cache;
use crate::element::{by_dtype, dispatch};
use crate::launch::{Launch, Module, module, on_cpu};
use crate::output;

static F32: Module = module!("rope/level3");
static BF16: Module = module!("rope/level3_bf16");

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
    let _span = trace::span("rope_append_level3");
    let x = Params { q, k, v, cos, sin };
    x.check("rope_append_level3", cache, position)?;
    if on_cpu(q.device()) {
        return dispatch!(
            "rope_append_level3",
            q.dtype(),
            cpu::level3::rope_append(&x, cache, position)
        );
    }
    launch(&x, cache, position)
}

fn launch(x: &Params, cache: &Cache, position: usize) -> Result<Tensor> {
    let q = x.q;
    let (batch, tokens, heads, d) = q.dims4()?;
    let y = output::tensor(q.shape(), q.dtype(), q.device())?;
    let (module, entry) = by_dtype(
        "rope_append_level3",
        q.dtype(),
        (&F32, "rope_append_f32_level3"),
        (&BF16, "rope_append_bf16_level3"),
    )?;
    let launch = Launch::new(module, entry)
        .grid(tokens, heads + cache.kv_heads, batch)
        .block((d / 2).next_multiple_of(32).clamp(32, 128), 1, 1);
    x.arguments(launch, &y, cache)?.u32(position).launch()?;
    Ok(y)
}
