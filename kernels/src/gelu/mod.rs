//! y = x·½(1 + erf(x/√2)), element by element.
//!
//! "Gaussian error linear units", Hendrycks and Gimpel 2016; the exact form, not the one with tanh. x and y
//! are of any shape, contiguous, f32 or bf16; arithmetic is in f32.
//!
//! The models have it in `linear_gelu`, whose kernels apply it to what they are about to write. From level 4 on that
//! is the same code, `common/activation.cuh`. Level 3's PTX includes nothing, and has two erfs: a polynomial of 15
//! terms here, and in `linear` five terms and an exponential (Abramowitz and Stegun 7.1.26), fewer instructions in a
//! longer kernel. Both are off by less than 3e-7. A kernel of this folder runs only where level 5 picks a library's
//! matmul, after it.
//!
//! Tolerance: 1e-5 in f32, 2e-2 in bf16, of an element's size or of 1.

pub(crate) mod calls;
mod cpu;
#[path = "level3.rs"]
mod level3_launch;
#[path = "level4.rs"]
mod level4_launch;

use candle_core::{DType, Result, Tensor};
use trace::span;

use crate::cost::Cost;
use crate::element::by_element;
use crate::launch::on_cpu;

/// x in, y out; erf counts as one operation, with two products, an addition and a product around it.
pub fn cost(elements: usize, dtype: DType) -> Cost {
    Cost::new(2 * elements, dtype, 5 * elements)
}

/// Level 3: hand-written PTX on a GPU, and plain loops on a CPU.
pub mod level3 {
    use super::*;

    /// x·½(1 + erf(x/√2)) of each element, with the shape and dtype of x.
    ///
    /// # Errors
    /// When x is neither f32 nor bf16, or not contiguous.
    pub fn gelu(x: &Tensor) -> Result<Tensor> {
        let _span = span("gelu_level3");
        if on_cpu(x.device()) {
            return by_element!("gelu_level3", x.dtype(), cpu::level3(x));
        }
        level3_launch::launch(x)
    }
}

/// Level 4: CUDA C++ on a GPU, and SIMD lanes on a CPU.
pub mod level4 {
    use super::*;

    /// x·½(1 + erf(x/√2)) of each element, with the shape and dtype of x.
    ///
    /// # Errors
    /// When x is neither f32 nor bf16, or not contiguous.
    pub fn gelu(x: &Tensor) -> Result<Tensor> {
        let _span = span("gelu_level4");
        if on_cpu(x.device()) {
            return by_element!("gelu_level4", x.dtype(), cpu::level4(x));
        }
        level4_launch::launch(x)
    }
}

#[cfg(test)]
mod tests;
