//! y = x/√(mean(x²) + eps) ⊙ w, over the last dimension.
//!
//! "Root mean square layer normalization", Zhang and Sennrich 2019. x and y are (…, C), w (C), contiguous, all f32 or all
//! bf16; sums are in f32.
//!
//! Tolerance: 1e-5 in f32, 2e-2 in bf16, of an element's size or of 1.

pub(crate) mod calls;
mod cpu;
pub mod level3;
pub mod level4;
pub mod level5;

use candle_core::{DType, Result, Tensor};

use crate::cost::Cost;
use crate::cpu::norm_rows;

/// x and w in, y out; per element a square, an addition and two multiplications.
pub fn cost(rows: usize, c: usize, dtype: DType) -> Cost {
    Cost::new(2 * rows * c + c, dtype, 4 * rows * c)
}

/// The operands agree: (rows, C).
fn check(kernel: &str, x: &Tensor, w: &Tensor) -> Result<(usize, usize)> {
    norm_rows::check(kernel, x, &[("w", w)])
}

#[cfg(test)]
mod tests;
