//! Level 4: register tiles, tensor cores for bf16, and a few rows of w a warp where x has few rows.

mod packed;
mod product;

use candle_core::{Result, Tensor};
use operands::Linear;
use trace::span;

use super::cpu;
pub(crate) use super::cpu::level4::Panels;
use crate::element::dispatch;
pub(crate) use packed::Form;
pub(crate) use packed::Packed;
pub(super) use product::{FEW_ROWS, Op, Product};

/// x·wᵀ + b: x (…, K), w (N, K), b (N) or none → (…, N)
///
/// # Errors
/// When shapes, formats or devices do not agree.
pub fn linear(x: &Tensor, w: &Linear) -> Result<Tensor> {
    let _span = span("linear_level4");
    plain("linear_level4", x, w, None)
}

/// x·wᵀ + b + residual: x (…, K), w (N, K), b (N) or none, residual (…, N) → (…, N), rounded once
///
/// # Errors
/// When shapes, formats or devices do not agree.
pub fn linear_residual(x: &Tensor, w: &Linear, residual: &Tensor) -> Result<Tensor> {
    let _span = span("linear_residual_level4");
    plain("linear_residual_level4", x, w, Some(residual))
}

fn plain(kernel: &str, x: &Tensor, w: &Linear, residual: Option<&Tensor>) -> Result<Tensor> {
    let (b, w) = (w.bias.as_ref(), Packed::of(&w.weight)?);
    let shape = super::check(kernel, x, w.dims, w.dtype, b, residual)?;
    match &w.form {
        Form::Panels(w) => dispatch!(
            "linear_level4",
            x.dtype(),
            cpu::level4::linear(x, w, b, residual, None)
        ),
        Form::Tensor(w) => Product {
            op: Op::Linear,
            x,
            w,
            b,
            residual,
            shape,
        }
        .run(),
    }
}

/// gelu(x·wᵀ + b): x (…, K), w (N, K), b (N) → (…, N)
///
/// # Errors
/// When there is no bias, or shapes, formats or devices do not agree.
pub fn linear_gelu(x: &Tensor, w: &Linear) -> Result<Tensor> {
    let _span = span("linear_gelu_level4");
    let b = super::with_bias("linear_gelu_level4", w)?;
    let w = Packed::of(&w.weight)?;
    let shape = super::check("linear_gelu_level4", x, w.dims, w.dtype, Some(b), None)?;
    match &w.form {
        Form::Panels(w) => {
            dispatch!(
                "linear_gelu_level4",
                x.dtype(),
                cpu::level4::linear_gelu(x, w, b, None)
            )
        }
        Form::Tensor(w) => Product {
            op: Op::Gelu,
            x,
            w,
            b: Some(b),
            residual: None,
            shape,
        }
        .run(),
    }
}

/// silu(x·Wgᵀ) ⊙ (x·Wuᵀ): x (…, K), w (2F, K), the gate's rows above the up-projection's → (…, F)
///
/// # Errors
/// When there is a bias, or shapes, formats or devices do not agree.
pub fn linear_swiglu(x: &Tensor, w: &Linear) -> Result<Tensor> {
    let _span = span("linear_swiglu_level4");
    super::without_bias("linear_swiglu_level4", w)?;
    let w = Packed::gate_up_of(&w.weight)?;
    let (rows, k) = w.dims;
    let f = super::half("linear_swiglu_level4", rows)?;
    let shape = super::check("linear_swiglu_level4", x, (f, k), w.dtype, None, None)?;
    match &w.form {
        Form::Panels(w) => {
            dispatch!(
                "linear_swiglu_level4",
                x.dtype(),
                cpu::level4::linear_swiglu(x, w, None)
            )
        }
        Form::Tensor(w) => Product {
            op: Op::SwiGlu,
            x,
            w,
            b: None,
            residual: None,
            shape,
        }
        .run(),
    }
}
