//! Level 5: level 4's rotation, at a position in the device's memory.

use candle_core::{Result, Tensor};

use super::{Params, level4, level4_launch};
use crate::attention::Cache;
use crate::attention::level5::{PositionedCache, Step};
use crate::element::by_dtype;
use crate::launch::{Launch, Module, module};
use crate::output;

static MODULE: Module = module!("rope/level5", sm_75);

/// [`rope_append`] at the device's position: rotates q (B, T, H, D) and k (B, T, Hkv, D), writes k and v at the position
/// of the cache, and returns q, contiguous. cos and sin (positions, D/2) have a row for every position.
///
/// # Errors
/// When shapes, strides, dtypes or devices do not agree, or the cache has no room.
pub fn rope_append_step(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    cos: &Tensor,
    sin: &Tensor,
    cache: &PositionedCache,
) -> Result<Tensor> {
    let _span = trace::span("rope_append_level5");
    let (batch, tokens, heads, _) = q.dims4()?;
    let step = Step {
        q,
        k,
        v,
        cos,
        sin,
        cache,
    };
    check("rope_append_level5", &step)?;
    let y = output::tensor(q.shape(), q.dtype(), q.device())?;
    let (chunks, rows) = level4_launch::block(q, heads + cache.inner.kv_heads);
    let entry = by_dtype(
        "rope_append_level5",
        q.dtype(),
        "rope_append_f32_level5",
        "rope_append_bf16_level5",
    )?;
    let launch = Launch::new(&MODULE, entry)
        .grid(tokens, batch, 1)
        .block(chunks, rows, 1);
    let all = Params { q, k, v, cos, sin };
    let launch = all.arguments(launch, &y, cache.inner)?;
    launch.read(cache.position).launch()?;
    Ok(y)
}

/// Checks that the operands of a step agree with each other and with the cache at its position.
pub(crate) fn check(kernel: &str, step: &Step) -> Result<()> {
    let Step { q, k, v, cache, .. } = *step;
    let here = |angles: &Tensor| angles.narrow(0, cache.host_position, q.dim(1)?);
    let (cos, sin) = (&here(step.cos)?, &here(step.sin)?);
    let rows = Params { q, k, v, cos, sin };
    rows.check(kernel, cache.inner, cache.host_position)
}

/// Level 4's rotation of a prompt, at a position that the host passes to the launch.
///
/// Rotates q (B, T, H, D) and k (B, T, Hkv, D), writes k and v at `position..` of the cache, and returns q,
/// contiguous. cos and sin (T, D/2) are of these positions.
///
/// (x₁, x₂) → (x₁·cos − x₂·sin, x₂·cos + x₁·sin), where x₁ and x₂ are the halves of a head.
///
/// # Errors
/// When shapes, devices, or strides of k and v do not agree, D is odd, operands and cache are not all f32 or all
/// bf16, heads and channels are not contiguous, or the cache has no room.
pub fn rope_append(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    cos: &Tensor,
    sin: &Tensor,
    cache: &mut Cache,
    position: usize,
) -> Result<Tensor> {
    let _span = trace::span_because("rope_append_level4", || {
        "the host passes the position to the launch".into()
    });
    level4::rope_append(q, k, v, cos, sin, cache, position)
}
