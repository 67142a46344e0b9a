//! Level 3: one block per row, and trees in shared memory.

use candle_core::{Result, Tensor};

use crate::element::by_dtype;
use crate::launch::{Launch, Module, module};
use crate::output;

static F32: Module = module!("layer_norm/level3");
static BF16: Module = module!("layer_norm/level3_bf16");

/// Threads of a block: the trees in `level3.ptx` start with 256 sums.
const THREADS: usize = 256;

/// x (rows, C), w and b (C) → y, on a GPU.
pub(super) fn launch(
    x: &Tensor,
    w: &Tensor,
    b: &Tensor,
    eps: f64,
    rows: usize,
    c: usize,
) -> Result<Tensor> {
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
