//! Level 3: one element per thread.

use candle_core::{Result, Tensor};

use crate::element::by_dtype;
use crate::launch::{Launch, Module, module};
use crate::output;

static F32: Module = module!("gelu/level3");
static BF16: Module = module!("gelu/level3_bf16");

/// Threads of a block.
const THREADS: usize = 256;

/// x → y, on a GPU.
pub(super) fn launch(x: &Tensor) -> Result<Tensor> {
    let y = output::tensor(x.shape(), x.dtype(), x.device())?;
    let n = x.elem_count();
    let (module, entry) = by_dtype(
        "gelu_level3",
        x.dtype(),
        (&F32, "gelu_f32_level3"),
        (&BF16, "gelu_bf16_level3"),
    )?;
    Launch::new(module, entry)
        .grid(n.div_ceil(THREADS), 1, 1)
        .block(THREADS, 1, 1)
        .read(x)
        .write(&y)
        .u32(n)
        .launch()?;
    Ok(y)
}
