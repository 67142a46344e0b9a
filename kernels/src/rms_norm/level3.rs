//! Level 3: one block per row, and a tree in shared memory. The same kernel in CUDA C++: `level3.cu`.

use candle_core::{Result, Tensor};
use trace::span;

use super::cpu;
use crate::element::{by_dtype, dispatch};
use crate::launch::{Launch, Module, module, on_cpu};
use crate::output;

static F32: Module = module!("rms_norm/level3");
static BF16: Module = module!("rms_norm/level3_bf16");

/// Threads of a block: the tree in `level3.ptx` starts with 256 sums.
const THREADS: usize = 256;

/// y = x/√(mean(x²) + eps) ⊙ w over the last dimension, like x.
///
/// # Errors
/// When shapes, dtypes or devices do not agree.
pub fn rms_norm(x: &Tensor, w: &Tensor, eps: f64) -> Result<Tensor> {
    let _span = span("rms_norm_level3");
    let (rows, c) = super::check("rms_norm_level3", x, w)?;
    if on_cpu(x.device()) {
        return dispatch!("rms_norm_level3", x.dtype(), cpu::level3(x, w, eps));
    }
    launch(x, w, eps, rows, c)
}

/// x (rows, C), w (C) → y, on a GPU.
fn launch(x: &Tensor, w: &Tensor, eps: f64, rows: usize, c: usize) -> Result<Tensor> {
    let y = output::tensor(x.shape(), x.dtype(), x.device())?;
    let (module, entry) = by_dtype(
        "rms_norm_level3",
        x.dtype(),
        (&F32, "rms_norm_f32_level3"),
        (&BF16, "rms_norm_bf16_level3"),
    )?;
    Launch::new(module, entry)
        .grid(rows, 1, 1)
        .block(THREADS, 1, 1)
        .read(x)
        .read(w)
        .write(&y)
        .u32(c)
        .f32(eps)
        .launch()?;
    Ok(y)
}
