//! m = mean(x), v = mean((x − m)²), y = (x − m)/√(v + eps) ⊙ w + b, over the last dimension.
//!
//! "Layer normalization", Ba, Kiros and Hinton 2016. x and y are (…, C), w and b (C), contiguous, all f32 or all bf16;
//! sums are in f32. The variance is that of the deviations, in a sweep of its own: mean(x²) − m² loses its digits where
//! the mean is large.
//!
//! Tolerance: 1e-5 in f32, 2e-2 in bf16, of an element's size or of 1.

pub(crate) mod calls;
mod cpu;
#[path = "level3.rs"]
mod level3_launch;
#[path = "level4.rs"]
mod level4_launch;
pub mod level5;

use candle_core::{DType, Result, Tensor};
use trace::span;

use crate::cost::Cost;
use crate::cpu::norm_rows;
use crate::element::by_element;
use crate::launch::on_cpu;

/// x, w and b in, y out; per element an addition for the mean, a difference, a square and its addition for the
/// variance, a difference, two products and an addition for y.
pub fn cost(rows: usize, c: usize, dtype: DType) -> Cost {
    Cost::new(2 * rows * c + 2 * c, dtype, 8 * rows * c)
}

/// The operands agree: (rows, C).
fn check(kernel: &str, x: &Tensor, w: &Tensor, b: &Tensor) -> Result<(usize, usize)> {
    norm_rows::check(kernel, x, &[("w", w), ("b", b)])
}

/// Level 3: hand-written PTX on a GPU, and plain loops on a CPU.
pub mod level3 {
    use super::*;

    /// (x − mean(x))/√(var(x) + eps) ⊙ w + b over the last dimension: x (…, C), w and b (C) → y with the shape and
    /// dtype of x
    ///
    /// # Errors
    /// When shapes or devices do not agree, operands are not all f32 or all bf16, or one is not contiguous.
    pub fn layer_norm(x: &Tensor, w: &Tensor, b: &Tensor, eps: f64) -> Result<Tensor> {
        let _span = span("layer_norm_level3");
        let (rows, c) = check("layer_norm_level3", x, w, b)?;
        if on_cpu(x.device()) {
            return by_element!("layer_norm_level3", x.dtype(), cpu::level3(x, w, b, eps));
        }
        level3_launch::launch(x, w, b, eps, rows, c)
    }
}

/// Level 4: CUDA C++ on a GPU, and SIMD lanes on a CPU.
pub mod level4 {
    use super::*;

    /// (x − mean(x))/√(var(x) + eps) ⊙ w + b over the last dimension: x (…, C), w and b (C) → y with the shape and
    /// dtype of x
    ///
    /// # Errors
    /// When shapes or devices do not agree, operands are not all f32 or all bf16, or one is not contiguous.
    pub fn layer_norm(x: &Tensor, w: &Tensor, b: &Tensor, eps: f64) -> Result<Tensor> {
        let _span = span("layer_norm_level4");
        let (rows, c) = check("layer_norm_level4", x, w, b)?;
        if on_cpu(x.device()) {
            return by_element!("layer_norm_level4", x.dtype(), cpu::level4(x, w, b, eps));
        }
        level4_launch::launch(x, w, b, eps, rows, c)
    }
}

#[cfg(test)]
mod tests;
