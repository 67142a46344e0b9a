//! y = x/√(mean(x²) + eps) ⊙ w, over the last dimension.
//!
//! "Root mean square layer normalization", Zhang and Sennrich 2019. x and y are (…, C), w (C), contiguous, all f32 or all
//! bf16; sums are in f32.
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

/// x and w in, y out; per element a square, an addition and two multiplications.
pub fn cost(rows: usize, c: usize, dtype: DType) -> Cost {
    Cost::new(2 * rows * c + c, dtype, 4 * rows * c)
}

/// The operands agree: (rows, C).
fn check(kernel: &str, x: &Tensor, w: &Tensor) -> Result<(usize, usize)> {
    norm_rows::check(kernel, x, &[("w", w)])
}

/// Level 3: hand-written PTX on a GPU, and plain loops on a CPU.
pub mod level3 {
    use super::*;

    /// x/√(mean(x²) + eps) ⊙ w over the last dimension: x (…, C), w (C) → y with the shape and dtype of x
    ///
    /// # Errors
    /// When shapes or devices do not agree, operands are not all f32 or all bf16, or one is not contiguous.
    pub fn rms_norm(x: &Tensor, w: &Tensor, eps: f64) -> Result<Tensor> {
        let _span = span("rms_norm_level3");
        let (rows, c) = check("rms_norm_level3", x, w)?;
        if on_cpu(x.device()) {
            return by_element!("rms_norm_level3", x.dtype(), cpu::level3(x, w, eps));
        }
        level3_launch::launch(x, w, eps, rows, c)
    }
}

/// Level 4: CUDA C++ on a GPU, and SIMD lanes on a CPU.
pub mod level4 {
    use super::*;

    /// x/√(mean(x²) + eps) ⊙ w over the last dimension: x (…, C), w (C) → y with the shape and dtype of x
    ///
    /// # Errors
    /// When shapes or devices do not agree, operands are not all f32 or all bf16, or one is not contiguous.
    pub fn rms_norm(x: &Tensor, w: &Tensor, eps: f64) -> Result<Tensor> {
        let _span = span("rms_norm_level4");
        let (rows, c) = check("rms_norm_level4", x, w)?;
        if on_cpu(x.device()) {
            return by_element!("rms_norm_level4", x.dtype(), cpu::level4(x, w, eps));
        }
        level4_launch::launch(x, w, eps, rows, c)
    }
}

#[cfg(test)]
mod tests;
