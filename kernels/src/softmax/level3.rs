//! Level 3: one block per row, and trees in shared memory.

use candle_core::{Result, Tensor};
use trace::span;

use super::cpu;
use crate::cpu::rows;
use crate::element::{by_dtype, dispatch};
use crate::launch::{Launch, Module, module, on_cpu};
use crate::output;

static F32: Module = module!("softmax/level3");
static BF16: Module = module!("softmax/level3_bf16");

/// Threads of a block: the trees in `level3.ptx` start with 256 values.
const THREADS: usize = 256;

/// softmax(scale·x) over the last dimension, like x.
///
/// # Errors
/// When x is neither f32 nor bf16.
pub fn softmax(x: &Tensor, scale: f64) -> Result<Tensor> {
    let _span = span("softmax_level3");
    let (rows, c) = rows(x)?;
    if on_cpu(x.device()) {
        return dispatch!("softmax_level3", x.dtype(), cpu::level3(x, scale));
    }
    launch(x, scale, rows, c)
}

/// x (rows, C) → y, on a GPU.
fn launch(x: &Tensor, scale: f64, rows: usize, c: usize) -> Result<Tensor> {
    let y = output::tensor(x.shape(), x.dtype(), x.device())?;
    let (module, entry) = by_dtype(
        "softmax_level3",
        x.dtype(),
        (&F32, "softmax_f32_level3"),
        (&BF16, "softmax_bf16_level3"),
    )?;
    Launch::new(module, entry)
        .grid(rows, 1, 1)
        .block(THREADS, 1, 1)
        .read(x)
        .write(&y)
        .u32(c)
        .f32(scale)
        .launch()?;
    Ok(y)
}
