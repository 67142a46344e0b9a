//! Level 4: 16 bytes a thread.

use candle_core::{Result, Tensor};
use trace::span;

use super::cpu;
use crate::element::{dispatch, entry};
use crate::launch::{Launch, Module, module, of_dtype, on_cpu};
use crate::output;

static F32: Module = module!("gelu_level4", "level4.ptx");
static BF16: Module = module!("gelu_level4_sm80", "level4_sm80.ptx");

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
    let y = output::tensor(x.shape(), x.dtype(), x.device())?;
    let n = x.elem_count();
    let elements = 16 / x.dtype().size_in_bytes();
    let module = of_dtype(x.dtype(), &F32, &BF16);
    Launch::new(module, entry!("gelu", x.dtype(), "level4")?)
        .grid(n.div_ceil(THREADS * elements), 1, 1)
        .block(THREADS, 1, 1)
        .read(x)
        .write(&y)
        .u32(n)
        .run()?;
    Ok(y)
}
