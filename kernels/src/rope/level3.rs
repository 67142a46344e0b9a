//! Level 3.

use candle_core::{Result, Tensor};

use super::{Operands, cpu};
use crate::attention::Cache;
use crate::element::{dispatch, entry};
use crate::launch::{Launch, Module, module};
use crate::output;

static MODULE: Module = module!("rope_append_level3", "level3.ptx");

/// Rotates q (B, T, H, D) and k (B, T, Hkv, D), writes k and v at `position..` of the cache, and returns
/// q, contiguous.
///
/// # Errors
/// When shapes, strides, formats or devices do not agree, or the cache has no room.
pub fn rope_append(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    cos: &Tensor,
    sin: &Tensor,
    cache: &mut Cache,
    position: usize,
) -> Result<Tensor> {
    let x = Operands { q, k, v, cos, sin };
    x.check("rope_append_level3", cache, position)?;
    if q.device().is_cpu() {
        return dispatch!(
            "rope_append_level3",
            q.dtype(),
            cpu::level3::rope_append(q, k, v, cos, sin, cache, position)
        );
    }
    let y = output::tensor(q.shape(), q.dtype(), q.device())?;
    Launch::new(&MODULE, entry!("rope_append", q.dtype(), "level3")?).run()?;
    Ok(y)
}
