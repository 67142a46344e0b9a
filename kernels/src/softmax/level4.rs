//! Level 4: a warp a row, held in registers.

use candle_core::{Result, Tensor};
use trace::span;

use super::cpu;
use crate::cpu::rows;
use crate::element::{by_dtype, dispatch};
use crate::launch::{Launch, Module, module, on_cpu};
use crate::output;

static MODULE: Module = module!("softmax/level4", sm_75, sm_80);

/// softmax(scale·x) over the last dimension, like x.
///
/// # Errors
/// When x is neither f32 nor bf16.
pub fn softmax(x: &Tensor, scale: f64) -> Result<Tensor> {
    let _span = span("softmax_level4");
    let (rows, c) = rows(x)?;
    if on_cpu(x.device()) {
        return dispatch!("softmax_level4", x.dtype(), cpu::level4(x, scale));
    }
    let y = output::tensor(x.shape(), x.dtype(), x.device())?;
    let entry = by_dtype(
        "softmax_level4",
        x.dtype(),
        "softmax_f32_level4",
        "softmax_bf16_level4",
    )?;
    Launch::new(&MODULE, entry)
        .held_rows(rows, c, x.dtype().size_in_bytes())
        .read(x)
        .write(&y)
        .u32(rows)
        .u32(c)
        .f32(scale)
        .run()?;
    Ok(y)
}
