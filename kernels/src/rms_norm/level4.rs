//! Level 4: one warp per row, held in registers.

use candle_core::{Result, Tensor};
use trace::span;

use super::cpu;
use crate::element::{by_dtype, dispatch};
use crate::launch::{Launch, Module, module, on_cpu};
use crate::output;

static MODULE: Module = module!("rms_norm/level4", sm_75, sm_80);

/// y = x/√(mean(x²) + eps) ⊙ w over the last dimension, like x.
///
/// # Errors
/// When shapes, dtypes or devices do not agree.
pub fn rms_norm(x: &Tensor, w: &Tensor, eps: f64) -> Result<Tensor> {
    let _span = span("rms_norm_level4");
    let (rows, c) = super::check("rms_norm_level4", x, w)?;
    if on_cpu(x.device()) {
        return dispatch!("rms_norm_level4", x.dtype(), cpu::level4(x, w, eps));
    }
    let y = output::tensor(x.shape(), x.dtype(), x.device())?;
    let entry = by_dtype(
        "rms_norm_level4",
        x.dtype(),
        "rms_norm_f32_level4",
        "rms_norm_bf16_level4",
    )?;
    Launch::new(&MODULE, entry)
        .held_rows(rows, c, x.dtype().size_in_bytes())
        .read(x)
        .read(w)
        .write(&y)
        .u32(rows)
        .u32(c)
        .f32(eps)
        .run()?;
    Ok(y)
}
