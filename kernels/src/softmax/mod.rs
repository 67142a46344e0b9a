//! y = softmax(scale·x): e^(scale·x − m)/Σ e^(scale·x − m), m = max(scale·x), over the last dimension.
//!
//! x and y are (…, C), contiguous, f32 or bf16; arithmetic is in f32. The maximum is taken off first: it
//! changes nothing, and no exponential is above 1. A row with NaN, or with ∞, is all NaN.
//!
//! Tolerance: 1e-5 in f32, 2e-2 in bf16.

pub(crate) mod calls;
mod cpu;
pub mod level3;
pub mod level4;

use candle_core::DType;

use crate::cost::Cost;

/// x in, y out; per element two multiplications, a comparison, a difference, an exponential and an addition.
pub fn cost(rows: usize, c: usize, dtype: DType) -> Cost {
    Cost::new(2 * rows * c, dtype, 6 * rows * c)
}

#[cfg(test)]
mod tests;
