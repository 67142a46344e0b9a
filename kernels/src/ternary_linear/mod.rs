//! y = s ⊙ (x·tᵀ) with weights t of −1, 0 and +1: y_mn = s_n·Σ_k x_mk·t_nk.
//!
//! "The era of 1-bit LLMs: all large language models are in 1.58 bits" (BitNet b1.58), Ma et al. 2024.
//! x (…, K) and y (…, N) are both f32 or both bf16; t (N, K) is packed four a byte and s (N) is f32,
//! both in a [`Ternary`]. Sums are in f32. There is no product with t: a weight of 0 leaves its
//! activation out, be it NaN or infinite.
//!
//! Two kernels, both of level 4:
//!
//! - [`level4::lut()`] looks up sums of activations in tables that the weights index. "T-MAC: CPU
//!   renaissance via table lookup for low-bit LLM deployment on edge", Wei et al. 2024. It keeps the
//!   activations as they are. Tolerance: 1e-4 in f32, 2e-2 in bf16, of s·Σ|x||t|.
//! - [`level4::dp4a()`] rounds each row of x to 8-bit integers, as BitNet does in training, and adds
//!   those: q = round(x·c) with c = 127/max(max|x|, 1e-5), ties to even, and y = (s/c)·Σ q·t. It equals
//!   that formula up to the rounding of y: 1e-6 in f32, 2e-2 in bf16, of (s/c)·Σ|q||t|. From the
//!   product of x itself it differs by up to (s/c)·½·Σ|t|. A row with NaN or an infinity becomes NaN.

pub(crate) mod calls;
mod cpu;
pub mod level4;
mod packed;

pub use packed::Ternary;

use candle_core::{D, DType, Result, Tensor};

use crate::cost::Cost;
use crate::error::mismatch;

/// x in, y out, two bits per weight and a scale per row; an addition per weight and a multiplication per element of y.
pub fn cost(m: usize, n: usize, k: usize, dtype: DType) -> Cost {
    let weights = n * k.div_ceil(4) + n * size_of::<f32>();
    let mut cost = Cost::new(m * (k + n), dtype, m * n * k + m * n);
    cost.bytes += weights as u64;
    cost
}

/// The operands agree: the sizes of the product.
fn check(kernel: &str, x: &Tensor, w: &Ternary) -> Result<Sizes> {
    let (n, k) = w.shape();
    if x.dim(D::Minus1)? != k {
        let found = format!("{:?}", x.dims());
        return Err(mismatch(kernel, format!("x (…, {k})"), found));
    }
    if !matches!(x.dtype(), DType::F32 | DType::BF16) {
        return Err(mismatch(kernel, "f32 or bf16", x.dtype().as_str()));
    }
    let rows = &x.dims()[..x.rank() - 1];
    let m = rows.iter().product();
    let y = [rows, &[n]].concat();
    Ok(Sizes { m, n, k, y })
}

/// x (M, K), t (N, K), and y's shape (…, N).
struct Sizes {
    m: usize,
    n: usize,
    k: usize,
    y: Vec<usize>,
}

#[cfg(test)]
mod tests;
