//! Level 4: 16 bytes per lane.

use candle_core::{Result, Tensor};

use crate::element::by_dtype;
use crate::launch::{Launch, Module, module, rows_per_block};
use crate::output;

static MODULE: Module = module!("embedding/level4", sm_75, sm_90);

/// Threads of a block.
const THREADS: usize = 256;

/// Bytes that a thread copies: two chunks of 16.
const BYTES: usize = 32;

/// ids (…), w (V, C) → y (…, C), on a GPU.
pub(super) fn launch(
    ids: &Tensor,
    w: &Tensor,
    shape: Vec<usize>,
    vocab: usize,
    c: usize,
) -> Result<Tensor> {
    let y = output::tensor(shape, w.dtype(), w.device())?;
    let rows = ids.elem_count();
    let threads = (c * w.dtype().size_in_bytes()).div_ceil(BYTES);
    let threads = threads.next_power_of_two().clamp(32, THREADS);
    let rows_per_block = rows_per_block(rows, threads);
    let entry = by_dtype(
        "embedding_level4",
        w.dtype(),
        "embedding_f32_level4",
        "embedding_bf16_level4",
    )?;
    Launch::new(&MODULE, entry)
        .grid(rows.div_ceil(rows_per_block), 1, 1)
        .block(threads, rows_per_block, 1)
        .programmatic()
        .read(ids)
        .constant(w)
        .write(&y)
        .u32(rows)
        .u32(vocab)
        .u32(c)
        .launch()?;
    Ok(y)
}
