//! Level 4: 16 bytes per thread.

use candle_core::{Result, Tensor};

use crate::element::by_dtype;
use crate::launch::{Launch, Module, module};
use crate::output;

static MODULE: Module = module!("gelu/level4", sm_75, sm_80);

/// Threads of a block.
pub(super) const THREADS: usize = 256;

/// x → y, on a GPU.
pub(super) fn launch(x: &Tensor) -> Result<Tensor> {
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
