//! Level 3: one block per row.

use candle_core::{Result, Tensor};

use crate::element::by_dtype;
use crate::launch::{Launch, Module, module};
use crate::output;

static F32: Module = module!("embedding/level3");
static BF16: Module = module!("embedding/level3_bf16");

/// Threads of a block: the loop in `level3.ptx` advances by 256 columns.
const THREADS: usize = 256;

/// ids (…), w (V, C) → y (…, C), on a GPU.
pub(super) fn launch(
    ids: &Tensor,
    w: &Tensor,
    shape: Vec<usize>,
    vocab: usize,
    c: usize,
) -> Result<Tensor> {
    let y = output::tensor(shape, w.dtype(), w.device())?;
    let (module, entry) = by_dtype(
        "embedding_level3",
        w.dtype(),
        (&F32, "embedding_f32_level3"),
        (&BF16, "embedding_bf16_level3"),
    )?;
    Launch::new(module, entry)
        .grid(ids.elem_count(), 1, 1)
        .block(THREADS, 1, 1)
        .read(ids)
        .read(w)
        .write(&y)
        .u32(vocab)
        .u32(c)
        .launch()?;
    Ok(y)
}
