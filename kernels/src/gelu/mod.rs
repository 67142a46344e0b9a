//! y = x·½(1 + erf(x/√2)), element by element.
//!
//! "Gaussian error linear units", Hendrycks and Gimpel 2016; the exact form, not the one with tanh. x and y
//! are of any shape, contiguous, f32 or bf16; arithmetic is in f32.
//!
//! The models never call it: `linear` applies the same function to what it is about to write. It stands
//! here alone to be read and measured.
//!
//! Tolerance: 1e-5 in f32, 2e-2 in bf16, of an element's size or of 1.

mod cpu;
pub mod level3;
pub mod level4;

use candle_core::DType;

use crate::cost::Cost;

/// x in, y out; erf counts as one operation, with two products, an addition and a product around it.
pub fn cost(elements: usize, dtype: DType) -> Cost {
    Cost::new(2 * elements, dtype, 5 * elements)
}

#[cfg(test)]
mod tests;
