//! Level 4: 16 bytes per thread.

use candle_core::{Result, Tensor};
use trace::span;

use super::cpu;
use crate::element::{by_dtype, dispatch};
use crate::launch::{Launch, Module, module, on_cpu};
use crate::output;

static MODULE: Module = module!("gelu/level4", sm_75, sm_80);

/// Threads of a block.
const THREADS: usize = 256;

/// x·½(1 + erf(x/√2)), like x.
///
/// # Errors
/// When x is neither f32 nor bf16.
pub fn gelu(x: &Tensor) -> Result<Tensor> {
    let _span = span("gelu_level4");
    if on_cpu(x.device()) {
        return dispatch!("gelu_level4", x.dtype(), cpu::level4(x));
    }
    launch(x)
}

/// x → y, on a GPU.
fn launch(x: &Tensor) -> Result<Tensor> {
    let y = output::tensor(x.shape(), x.dtype(), x.device())?;
    let n = x.elem_count();
    let elements = 16 / x.dtype().size_in_bytes();
    let entry = by_dtype(
        "gelu_level4",
        x.dtype(),
        "gelu_f32_level4",
        "gelu_bf16_level4",
    )?;
    Launch::new(&MODULE, entry)
        .grid(n.div_ceil(THREADS * elements), 1, 1)
        .block(THREADS, 1, 1)
        .read(x)
        .write(&y)
        .u32(n)
        .launch()?;
    Ok(y)
}
