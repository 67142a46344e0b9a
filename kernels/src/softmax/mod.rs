//! y = softmax(scale·x): e^(scale·x − m)/Σ e^(scale·x − m), m = max(scale·x), over the last dimension.
//!
//! x and y are (…, C), contiguous, f32 or bf16; arithmetic is in f32. The maximum is taken off first: it
//! changes nothing, and no exponential is above 1. A row with NaN, or with ∞, is all NaN.
//!
//! Tolerance: 1e-5 in f32, 2e-2 in bf16.

pub(crate) mod calls;
mod cpu;
#[path = "level3.rs"]
mod level3_launch;
#[path = "level4.rs"]
mod level4_launch;

use candle_core::{DType, Result, Tensor};
use trace::span;

use crate::cost::Cost;
use crate::cpu::rows;
use crate::element::by_element;
use crate::launch::on_cpu;

/// x in, y out; per element two multiplications, a comparison, a difference, an exponential and an addition.
pub fn cost(rows: usize, c: usize, dtype: DType) -> Cost {
    Cost::new(2 * rows * c, dtype, 6 * rows * c)
}

/// Level 3: hand-written PTX on a GPU, and plain loops on a CPU.
pub mod level3 {
    use super::*;

    /// softmax(scale·x) over the last dimension: x (…, C) → y with the shape and dtype of x
    ///
    /// # Errors
    /// When x is neither f32 nor bf16, or not contiguous.
    pub fn softmax(x: &Tensor, scale: f64) -> Result<Tensor> {
        let _span = span("softmax_level3");
        let (rows, c) = rows(x)?;
        if on_cpu(x.device()) {
            return by_element!("softmax_level3", x.dtype(), cpu::level3(x, scale));
        }
        level3_launch::launch(x, scale, rows, c)
    }
}

/// Level 4: CUDA C++ on a GPU, and SIMD lanes on a CPU.
pub mod level4 {
    use super::*;

    /// softmax(scale·x) over the last dimension: x (…, C) → y with the shape and dtype of x
    ///
    /// # Errors
    /// When x is neither f32 nor bf16, or not contiguous.
    pub fn softmax(x: &Tensor, scale: f64) -> Result<Tensor> {
        let _span = span("softmax_level4");
        let (rows, c) = rows(x)?;
        if on_cpu(x.device()) {
            return by_element!("softmax_level4", x.dtype(), cpu::level4(x, scale));
        }
        level4_launch::launch(x, scale, rows, c)
    }
}

#[cfg(test)]
mod tests;
