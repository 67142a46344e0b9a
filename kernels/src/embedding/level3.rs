//! Level 3: one block per row.

use candle_core::{Result, Tensor};
use operands::Weight;

use super::cpu;
use crate::element::{by_dtype, dispatch};
use crate::launch::{Launch, Module, module, on_cpu};
use crate::output;

static F32: Module = module!("embedding/level3");
static BF16: Module = module!("embedding/level3_bf16");

/// Threads of a block: the loop in `level3.ptx` advances by 256 columns.
const THREADS: usize = 256;

/// The rows of w (V, C) that ids (…) names: (…, C).
///
/// # Errors
/// When ids are not u32, w is no table of f32 or bf16, or, on a CPU, an id is not below V.
pub fn embedding(ids: &Tensor, w: &Weight) -> Result<Tensor> {
    let _span = trace::span("embedding_level3");
    let w = w.tensor();
    let ((vocab, c), shape) = super::check("embedding_level3", ids, w)?;
    if on_cpu(w.device()) {
        return dispatch!(
            "embedding_level3",
            w.dtype(),
            cpu::gather("embedding_level3", ids, w, shape)
        );
    }
    launch(ids, w, shape, vocab, c)
}

/// ids (…), w (V, C) → y (…, C), on a GPU.
fn launch(ids: &Tensor, w: &Tensor, shape: Vec<usize>, vocab: usize, c: usize) -> Result<Tensor> {
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
