//! Level 4: a warp a row, held in registers.

use candle_core::{Result, Tensor};

use super::cpu;
use crate::element::{dispatch, entry};
use crate::launch::{Launch, Module, module};
use crate::output;

static MODULE: Module = module!("add_layer_norm_level4", "level4.ptx");

/// Threads of a block.
const THREADS: usize = 256;

/// Columns that the 32 lanes of a warp hold; a longer row is a block's.
const HELD: usize = 32 * 32;

/// (s, y), both like x; without a residual s is x itself.
///
/// # Errors
/// When shapes, formats or devices do not agree.
pub fn add_layer_norm(
    x: &Tensor,
    residual: Option<&Tensor>,
    w: &Tensor,
    b: &Tensor,
    eps: f64,
) -> Result<(Tensor, Tensor)> {
    let (rows, c) = super::check("add_layer_norm_level4", x, residual, w, b)?;
    if x.device().is_cpu() {
        return dispatch!(
            "add_layer_norm_level4",
            x.dtype(),
            cpu::level4(x, residual, w, b, eps)
        );
    }
    let like_x = || output::tensor(x.shape(), x.dtype(), x.device());
    let (s, y) = (residual.map(|_| like_x()).transpose()?, like_x()?);
    let threads = if c <= HELD { 32 } else { THREADS };
    let rows_a_block = THREADS / threads;
    Launch::new(&MODULE, entry!("add_layer_norm", x.dtype(), "level4")?)
        .grid(rows.div_ceil(rows_a_block), 1, 1)
        .block(threads, rows_a_block, 1)
        .read(x)
        .read_or_null(residual)
        .read(w)
        .read(b)
        .write_or_null(s.as_ref())
        .write(&y)
        .u32(rows)
        .u32(c)
        .f32(eps)
        .run()?;
    Ok((s.unwrap_or_else(|| x.clone()), y))
}
