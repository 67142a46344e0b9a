//! Level 4: a warp a row, held in registers.

use candle_core::{Result, Tensor};
use trace::span;

use super::cpu;
use crate::cpu::rows;
use crate::element::{dispatch, entry};
use crate::launch::{Launch, Module, module, of_dtype, on_cpu};
use crate::output;

static F32: Module = module!("softmax_level4", "level4.ptx");
static BF16: Module = module!("softmax_level4_sm80", "level4_sm80.ptx");

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
    let module = of_dtype(x.dtype(), &F32, &BF16);
    Launch::new(module, entry!("softmax", x.dtype(), "level4")?)
        .held_rows(rows, c, x.dtype().size_in_bytes())
        .read(x)
        .write(&y)
        .u32(rows)
        .u32(c)
        .f32(scale)
        .run()?;
    Ok(y)
}
