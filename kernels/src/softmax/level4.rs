//! Level 4: the row held in the registers of one warp, or of several; a fallback for rows that do not fit there.

use candle_core::{Result, Tensor};
use trace::span;

use super::cpu;
use crate::cpu::rows;
use crate::element::{by_dtype, dispatch};
use crate::launch::{Launch, Module, fits_in_registers, is_aligned, module, on_cpu};
use crate::output;

static MODULE: Module = module!("softmax/level4", sm_75, sm_80);
static FALLBACK: Module = module!("softmax/fallback", sm_75);

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
    launch(x, scale, rows, c)
}

/// x (rows, C) → y, on a GPU.
fn launch(x: &Tensor, scale: f64, rows: usize, c: usize) -> Result<Tensor> {
    let y = output::tensor(x.shape(), x.dtype(), x.device())?;
    let size = x.dtype().size_in_bytes();
    let launch = if fits_in_registers(c, size) && is_aligned(&[x, &y]) {
        let entry = by_dtype(
            "softmax_level4",
            x.dtype(),
            "softmax_f32_level4",
            "softmax_bf16_level4",
        )?;
        Launch::new(&MODULE, entry).register_rows(rows, c, size)
    } else {
        let entry = by_dtype(
            "softmax_level4",
            x.dtype(),
            "softmax_f32_level4_fallback",
            "softmax_bf16_level4_fallback",
        )?;
        Launch::new(&FALLBACK, entry).memory_rows(rows, c, size)
    };
    launch
        .read(x)
        .write(&y)
        .u32(rows)
        .u32(c)
        .f32(scale)
        .launch()?;
    Ok(y)
}
