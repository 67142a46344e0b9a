//! Level 3: one block per row, and trees in shared memory.

use candle_core::{Result, Tensor};

use crate::element::by_dtype;
use crate::launch::{Launch, Module, module};
use crate::output;

static F32: Module = module!("softmax/level3");
static BF16: Module = module!("softmax/level3_bf16");

/// Threads of a block: the trees in `level3.ptx` start with 256 values.
const THREADS: usize = 256;

/// x (rows, C) → y, on a GPU.
pub(super) fn launch(x: &Tensor, scale: f64, rows: usize, c: usize) -> Result<Tensor> {
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
