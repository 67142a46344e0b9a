//! C = A·B + b for matrices that are small: A (…, M, K), B (…, K, N), b (N) or none → (…, M, N), f32.
//!
//! A and B may be views of any strides, transposed, narrowed or one matrix for all of a batch, whose batch
//! dimensions lie at one distance from each other. C is contiguous. K = 0 makes C of b, or of zeros.
//!
//! Tolerance: 1e-4 of Σ|a||b|.

pub(crate) mod calls;
mod cpu;
pub mod level5;
mod view;

use candle_core::DType;

use crate::cost::Cost;

pub use view::View;

/// A and B in, C out; a multiplication and an addition for each of the products.
pub fn cost(batch: usize, m: usize, n: usize, k: usize) -> Cost {
    let elements = batch * (m * k + k * n + m * n);
    Cost::new(elements, DType::F32, 2 * batch * m * n * k)
}

#[cfg(test)]
mod tests;
