//! Level 3: one block per row, and trees in shared memory.

use candle_core::{Result, Tensor};
use trace::span;

use super::cpu;
use crate::element::{by_dtype, dispatch};
use crate::launch::{Launch, Module, module, on_cpu};
use crate::output;

static F32: Module = module!("layer_norm/level3");
static BF16: Module = module!("layer_norm/level3_bf16");

/// Threads of a block: the trees in `level3.ptx` start with 256 sums.
const THREADS: usize = 256;

/// y = (x − mean(x))/√(var(x) + eps) ⊙ w + b over the last dimension, like x.
///
/// # Errors
/// When shapes, dtypes or devices do not agree.
pub fn layer_norm(x: &Tensor, w: &Tensor, b: &Tensor, eps: f64) -> Result<Tensor> {
    let _span = span("layer_norm_level3");
    let (rows, c) = super::check("layer_norm_level3", x, w, b)?;
    if on_cpu(x.device()) {
        return dispatch!("layer_norm_level3", x.dtype(), cpu::level3(x, w, b, eps));
    }
    launch(x, w, b, eps, rows, c)
}

/// x (rows, C), w and b (C) → y, on a GPU.
fn launch(x: &Tensor, w: &Tensor, b: &Tensor, eps: f64, rows: usize, c: usize) -> Result<Tensor> {
    let y = output::tensor(x.shape(), x.dtype(), x.device())?;
    let (module, entry) = by_dtype(
        "layer_norm_level3",
        x.dtype(),
        (&F32, "layer_norm_f32_level3"),
        (&BF16, "layer_norm_bf16_level3"),
    )?;
    Launch::new(module, entry)
        .grid(rows, 1, 1)
        .block(THREADS, 1, 1)
        .read(x)
        .read(w)
        .read(b)
        .write(&y)
        .u32(c)
        .f32(eps)
        .launch()?;
    Ok(y)
}
