//! s = x + residual, m = mean(s), v = mean((s − m)²), y = (s − m)/√(v + eps) ⊙ w + b, over the last
//! dimension.
//!
//! "Layer normalization", Ba, Kiros and Hinton 2016. x, residual, s and y are (…, C), w and b (C),
//! contiguous, all f32 or all bf16; sums are in f32. The variance is that of the deviations, in a sweep of
//! its own: mean(s²) − m² loses its digits where the mean is large. y is made of the s that is written,
//! rounding included. Without a residual s is x itself and is not written.
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

/// x, residual, w and b in, s and y out; per element an addition for s and one for its mean, a difference,
/// a square and its addition for the variance, a difference, two products and an addition for y.
pub fn cost(rows: usize, c: usize, residual: bool, dtype: DType) -> Cost {
    let passes = if residual { 4 } else { 2 };
    let flops = if residual { 9 } else { 8 };
    Cost::new(passes * rows * c + 2 * c, dtype, flops * rows * c)
}

/// The operands agree: (rows, C).
fn check(
    kernel: &str,
    x: &Tensor,
    residual: Option<&Tensor>,
    w: &Tensor,
    b: &Tensor,
) -> Result<(usize, usize)> {
    same_dtype(kernel, &[x, w, b])?;
    add_rows::check(kernel, x, residual, &[("w", w), ("b", b)])
}

#[cfg(test)]
mod tests;
