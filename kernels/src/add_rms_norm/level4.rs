//! Level 4: a warp a row, held in registers.

use candle_core::{DType, Result, Tensor};

use super::cpu;
use crate::element::{dispatch, entry};
use crate::launch::{Launch, Module, module, on_cpu};
use crate::output;

static F32: Module = module!("add_rms_norm_level4", "level4.ptx");
static BF16: Module = module!("add_rms_norm_level4_sm80", "level4_sm80.ptx");

/// Bytes of a row that a thread holds: four pieces of 16.
const HELD: usize = 64;

/// Columns that a block holds at the most; a longer row goes through memory, and so does one that does not
/// lie on 16 bytes.
const COLUMNS: usize = 16384;

/// Threads of a block where a row takes no more.
const THREADS: usize = 256;

/// (s, y), both like x; without a residual s is x itself.
///
/// # Errors
/// When shapes, formats or devices do not agree.
pub fn add_rms_norm(
    x: &Tensor,
    residual: Option<&Tensor>,
    w: &Tensor,
    eps: f64,
) -> Result<(Tensor, Tensor)> {
    let (rows, c) = super::check("add_rms_norm_level4", x, residual, w)?;
    if on_cpu(x.device()) {
        return dispatch!(
            "add_rms_norm_level4",
            x.dtype(),
            cpu::level4(x, residual, w, eps)
        );
    }
    let like_x = || output::tensor(x.shape(), x.dtype(), x.device());
    let (s, y) = (residual.map(|_| like_x()).transpose()?, like_x()?);
    let size = x.dtype().size_in_bytes();
    let threads = if (c * size).is_multiple_of(16) {
        // As few warps as can hold a row: one up to 512 columns of f32 or 1024 of bf16.
        let warps = (c * size).div_ceil(HELD * 32).next_power_of_two();
        (32 * warps).min(COLUMNS * size / HELD)
    } else {
        c.next_power_of_two().clamp(32, THREADS)
    };
    let rows_a_block = (THREADS / threads).max(1);
    let module = if x.dtype() == DType::BF16 {
        &BF16
    } else {
        &F32
    };
    Launch::new(module, entry!("add_rms_norm", x.dtype(), "level4")?)
        .grid(rows.div_ceil(rows_a_block), 1, 1)
        .block(threads, rows_a_block, 1)
        .read(x)
        .read_or_null(residual)
        .read(w)
        .write_or_null(s.as_ref())
        .write(&y)
        .u32(rows)
        .u32(c)
        .f32(eps)
        .run()?;
    Ok((s.unwrap_or_else(|| x.clone()), y))
}
