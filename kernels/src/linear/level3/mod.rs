//! Level 3: one tile of y per block, with the rows that it needs in shared memory, `linear.ptx`, `gelu.ptx` and
//! `swiglu.ptx`. One row of x, a token being decoded, has kernels without a tile, `gemv.ptx` and `gemv_swiglu.ptx`; with
//! GELU, which no decode step calls, it takes the tile. Each kernel has the `.rs` of its name.

mod gelu;
mod gemv;
mod gemv_swiglu;
mod linear;
mod swiglu;

use candle_core::{Result, Tensor};
use operands::Linear;
use trace::span;

use super::cpu;
use crate::element::by_element;
use crate::launch::on_cpu;

/// x·wᵀ + b: x (…, K), w (N, K), b (N) or none → (…, N)
///
/// # Errors
/// When shapes or devices do not agree, operands are not all f32 or all bf16, or one is not contiguous.
pub fn linear(x: &Tensor, w: &Linear) -> Result<Tensor> {
    let _span = span("linear_level3");
    without_activation("linear_level3", x, w, None)
}

/// x·wᵀ + b + residual: x (…, K), w (N, K), b (N) or none, residual (…, N) → (…, N), rounded once
///
/// # Errors
/// When shapes or devices do not agree, operands are not all f32 or all bf16, or one is not contiguous.
pub fn linear_residual(x: &Tensor, w: &Linear, residual: &Tensor) -> Result<Tensor> {
    let _span = span("linear_residual_level3");
    without_activation("linear_residual_level3", x, w, Some(residual))
}

fn without_activation(
    kernel: &str,
    x: &Tensor,
    w: &Linear,
    residual: Option<&Tensor>,
) -> Result<Tensor> {
    let (b, w) = (w.bias.as_ref(), w.weight.tensor());
    let shape = super::check(kernel, x, w.dims2()?, w.dtype(), b, residual)?;
    if on_cpu(x.device()) {
        return by_element!(
            "linear_level3",
            x.dtype(),
            cpu::level3::linear(x, w, b, residual)
        );
    }
    let operands = [Some(w), b, residual];
    if shape.m == 1 {
        gemv::launch(x, &operands, shape)
    } else {
        linear::launch(x, &operands, shape)
    }
}

/// gelu(x·wᵀ + b): x (…, K), w (N, K), b (N) → (…, N)
///
/// # Errors
/// When there is no bias, shapes or devices do not agree, operands are not all f32 or all bf16, or one is not
/// contiguous.
pub fn linear_gelu(x: &Tensor, w: &Linear) -> Result<Tensor> {
    let _span = span("linear_gelu_level3");
    let b = super::with_bias("linear_gelu_level3", w)?;
    let w = w.weight.tensor();
    let (dims, dtype) = (w.dims2()?, w.dtype());
    let shape = super::check("linear_gelu_level3", x, dims, dtype, Some(b), None)?;
    if on_cpu(x.device()) {
        return by_element!(
            "linear_gelu_level3",
            x.dtype(),
            cpu::level3::linear_gelu(x, w, b)
        );
    }
    gelu::launch(x, &[Some(w), Some(b)], shape)
}

/// silu(x·Wgᵀ) ⊙ (x·Wuᵀ): x (…, K), w (2F, K), the gate's rows above the up-projection's → (…, F)
///
/// # Errors
/// When there is a bias, shapes or devices do not agree, operands are not all f32 or all bf16, or one is not
/// contiguous.
pub fn linear_swiglu(x: &Tensor, w: &Linear) -> Result<Tensor> {
    let _span = span("linear_swiglu_level3");
    super::without_bias("linear_swiglu_level3", w)?;
    let w = w.weight.tensor();
    let (rows, k) = w.dims2()?;
    let f = super::gate_rows("linear_swiglu_level3", rows)?;
    let shape = super::check("linear_swiglu_level3", x, (f, k), w.dtype(), None, None)?;
    if on_cpu(x.device()) {
        return by_element!(
            "linear_swiglu_level3",
            x.dtype(),
            cpu::level3::linear_swiglu(x, w)
        );
    }
    let operands = [Some(w), None];
    if shape.m == 1 {
        gemv_swiglu::launch(x, &operands, shape)
    } else {
        swiglu::launch(x, &operands, shape)
    }
}
