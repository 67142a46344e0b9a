//! s = x + residual, y = s/√(mean(s²) + eps) ⊙ w, over the last dimension.
//!
//! "Root mean square layer normalization", Zhang and Sennrich 2019. x, residual, s and y are (…, C),
//! w (C), contiguous, all f32 or all bf16; sums are in f32. y is made of the s that is written, rounding
//! included. Without a residual s is x itself and is not written.
//!
//! Tolerance: 1e-5 in f32, 2e-2 in bf16, of an element's size or of 1.

mod cpu;
pub mod level3;
pub mod level4;
pub mod level5;

use candle_core::{DType, Result, Tensor};

use crate::cost::Cost;
use crate::cpu::add_rows;
use crate::element::same_dtype;

/// x, residual and w in, s and y out; an addition, then a square, its addition and two products an element.
pub fn cost(rows: usize, c: usize, residual: bool, dtype: DType) -> Cost {
    let passes = if residual { 4 } else { 2 };
    let flops = if residual { 5 } else { 4 };
    Cost::new(passes * rows * c + c, dtype, flops * rows * c)
}

/// The operands agree: (rows, C).
fn check(
    kernel: &str,
    x: &Tensor,
    residual: Option<&Tensor>,
    w: &Tensor,
) -> Result<(usize, usize)> {
    same_dtype(kernel, &[x, w])?;
    add_rows::check(kernel, x, residual, &[("w", w)])
}

#[cfg(test)]
mod tests;
