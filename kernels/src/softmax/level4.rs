//! Level 4: a warp a row, held in registers.

use candle_core::{Result, Tensor};

use super::cpu;
use crate::cpu::rows;
use crate::element::{dispatch, entry};
use crate::launch::{Launch, Module, module};
use crate::output;

static MODULE: Module = module!("softmax_level4", "level4.ptx");

/// Threads of a block.
const THREADS: usize = 256;

/// Columns that the 32 lanes of a warp hold; a longer row is a block's.
const HELD: usize = 32 * 32;

/// softmax(scale·x) over the last dimension, like x.
///
/// # Errors
/// When x is neither f32 nor bf16.
pub fn softmax(x: &Tensor, scale: f64) -> Result<Tensor> {
    let (rows, c) = rows(x)?;
    if x.device().is_cpu() {
        return dispatch!("softmax_level4", x.dtype(), cpu::level4(x, scale));
    }
    let y = output::tensor(x.shape(), x.dtype(), x.device())?;
    let threads = if c <= HELD { 32 } else { THREADS };
    let rows_a_block = THREADS / threads;
    Launch::new(&MODULE, entry!("softmax", x.dtype(), "level4")?)
        .grid(rows.div_ceil(rows_a_block), 1, 1)
        .block(threads, rows_a_block, 1)
        .read(x)
        .write(&y)
        .u32(rows)
        .u32(c)
        .f32(scale)
        .run()?;
    Ok(y)
}
