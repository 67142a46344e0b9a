//! y = x·wᵀ + b, and the same with an epilogue: x·wᵀ + b + r, gelu(x·wᵀ + b), silu(x·Wgᵀ) ⊙ (x·Wuᵀ).
//!
//! x is (…, K) and contiguous, w (N, K) row-major as every framework stores it, b (N), the residual r and y
//! (…, N), all f32 or all bf16; sums are in f32, and y is rounded once. M is the product of x's leading dimensions.
//! Both operands lie with K last, so an element of y is the dot product of two contiguous rows.
//!
//! gelu(s) is s·½(1 + erf(s/√2)), "Gaussian error linear units", Hendrycks and Gimpel 2016; silu(s) is
//! s/(1 + e⁻ˢ); the gated product is SwiGLU of "GLU variants improve Transformer", Shazeer 2020, with
//! w (2F, K), the gate's rows above the up-projection's, and y (…, F).
//!
//! Tolerance: 1e-4 of Σ|x||w|, |b| and |r| together in f32, 2e-2 of it in bf16.

pub(crate) mod calls;
pub(crate) mod cpu;
mod gemm;
pub mod level3;
pub mod level4;
pub mod level5;
pub(crate) mod tile;

use candle_core::{D, DType, Result, Tensor};
use operands::Linear;

use crate::cost::Cost;
use crate::element::same_dtype;
use crate::error::mismatch;
use crate::output;

/// x, w and b in, y out; a multiplication and an addition for each step of M·N sums of K.
pub fn cost(m: usize, n: usize, k: usize, dtype: DType) -> Cost {
    Cost::new(m * k + n * k + n + m * n, dtype, 2 * m * n * k)
}

/// [`cost`] with a residual (…, N) in, too.
pub fn residual_cost(m: usize, n: usize, k: usize, dtype: DType) -> Cost {
    let mut cost = cost(m, n, k, dtype);
    cost.bytes += Cost::new(m * n, dtype, 0).bytes;
    cost
}

/// [`cost`] with w (2F, K), no bias, and y (…, F).
pub fn swiglu_cost(m: usize, f: usize, k: usize, dtype: DType) -> Cost {
    Cost::new(m * k + 2 * f * k + m * f, dtype, 4 * m * f * k)
}

/// The sizes of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    /// Rows of x.
    m: usize,
    /// Columns of y: rows of w, or half of them where gate and up meet in one column.
    n: usize,
    /// Columns of x and of w.
    k: usize,
}

/// Checks that x (…, K), b (N) and the residual (…, N) fit a weight (N, K) of `dtype`.
fn check(
    kernel: &str,
    x: &Tensor,
    (n, k): (usize, usize),
    dtype: DType,
    b: Option<&Tensor>,
    residual: Option<&Tensor>,
) -> Result<Shape> {
    if x.dim(D::Minus1)? != k {
        return Err(mismatch(
            kernel,
            format!("x (…, {k})"),
            format!("{:?}", x.dims()),
        ));
    }
    if x.dtype() != dtype {
        return Err(mismatch(kernel, dtype.as_str(), x.dtype().as_str()));
    }
    let fits = |name: &str, operand: Option<&Tensor>, dims: &[usize]| match operand {
        Some(operand) if operand.dims() != dims => {
            let found = format!("{:?}", operand.dims());
            Err(mismatch(kernel, format!("{name} {dims:?}"), found))
        }
        Some(operand) => same_dtype(kernel, &[x, operand]).map(drop),
        None => Ok(()),
    };
    fits("b", b, &[n])?;
    fits("a residual", residual, &dims_like(x, n))?;
    let leading = &x.dims()[..x.rank() - 1];
    Ok(Shape {
        m: leading.iter().product(),
        n,
        k,
    })
}

/// The bias of a layer that has to have one: the kernels of GELU read it.
fn with_bias<'a>(kernel: &str, w: &'a Linear) -> Result<&'a Tensor> {
    let none = || mismatch(kernel, "a layer with a bias", "none");
    w.bias.as_ref().ok_or_else(none)
}

/// The kernels of SwiGLU add no bias.
fn without_bias(kernel: &str, w: &Linear) -> Result<()> {
    match &w.bias {
        Some(b) => {
            let found = format!("a bias {:?}", b.dims());
            Err(mismatch(kernel, "a layer without a bias", found))
        }
        None => Ok(()),
    }
}

/// F of w (2F, K): the rows of the gate's weight.
fn gate_rows(kernel: &str, rows: usize) -> Result<usize> {
    if rows.is_multiple_of(2) {
        Ok(rows / 2)
    } else {
        Err(mismatch(kernel, "w (2F, K)", format!("{rows} rows")))
    }
}

/// (…, N), where x is (…, K).
fn dims_like(x: &Tensor, n: usize) -> Vec<usize> {
    let mut dims = x.dims().to_vec();
    if let Some(last) = dims.last_mut() {
        *last = n;
    }
    dims
}

/// Room for y (…, N), where x is (…, K).
fn output_like(x: &Tensor, n: usize) -> Result<Tensor> {
    output::tensor(dims_like(x, n), x.dtype(), x.device())
}

#[cfg(test)]
mod tests;
