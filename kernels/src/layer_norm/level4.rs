//! Level 4: one warp per row, held in registers.

use candle_core::{Result, Tensor};
use trace::span;

use super::cpu;
use crate::element::{dispatch, entry};
use crate::launch::{Launch, Module, module, of_dtype, on_cpu};
use crate::output;

static F32: Module = module!("layer_norm_level4", "level4.ptx");
static BF16: Module = module!("layer_norm_level4_sm80", "level4_sm80.ptx");

/// y = (x − mean(x))/√(var(x) + eps) ⊙ w + b over the last dimension, like x.
///
/// # Errors
/// When shapes, dtypes or devices do not agree.
pub fn layer_norm(x: &Tensor, w: &Tensor, b: &Tensor, eps: f64) -> Result<Tensor> {
    let _span = span("layer_norm_level4");
    let (rows, c) = super::check("layer_norm_level4", x, w, b)?;
    if on_cpu(x.device()) {
        return dispatch!("layer_norm_level4", x.dtype(), cpu::level4(x, w, b, eps));
    }
    let y = output::tensor(x.shape(), x.dtype(), x.device())?;
    let module = of_dtype(x.dtype(), &F32, &BF16);
    Launch::new(module, entry!("layer_norm", x.dtype(), "level4")?)
        .held_rows(rows, c, x.dtype().size_in_bytes())
        .read(x)
        .read(w)
        .read(b)
        .write(&y)
        .u32(rows)
        .u32(c)
        .f32(eps)
        .run()?;
    Ok(y)
}
