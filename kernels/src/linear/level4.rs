//! Level 4: register tiles, tensor cores for bf16, and a warp a column for a few rows.

use candle_core::{DType, Result, Tensor};

use super::cpu;
pub(crate) use super::cpu::level4::Panels;
use crate::element::dispatch;

/// A weight (N, K) as this level multiplies by it: on a GPU the tensor itself, on a CPU its panels.
#[derive(Debug)]
pub struct Packed {
    pub(crate) form: Form,
    /// (N, K); (2F, K) with a gate.
    pub(crate) dims: (usize, usize),
    pub(crate) dtype: DType,
}

#[derive(Debug)]
pub(crate) enum Form {
    /// On a GPU.
    Tensor(Tensor),
    /// On a CPU.
    Panels(Panels),
}

impl Packed {
    /// w (N, K), for [`linear`] and [`linear_gelu`].
    ///
    /// # Errors
    /// When w is not a matrix of f32 or bf16.
    pub fn new(w: &Tensor) -> Result<Self> {
        Self::with(w, Panels::new)
    }

    /// w (2F, K), the gate's rows above the up-projection's, for [`linear_swiglu`].
    ///
    /// # Errors
    /// When w is not a matrix of f32 or bf16 with an even number of rows.
    pub fn gate_up(w: &Tensor) -> Result<Self> {
        super::half("linear_swiglu_level4", w.dim(0)?)?;
        Self::with(w, Panels::gate_up)
    }

    fn with(w: &Tensor, panels: fn(&Tensor) -> Result<Panels>) -> Result<Self> {
        let dims = w.dims2()?;
        let form = match w.device().is_cpu() {
            true => Form::Panels(panels(w)?),
            false => Form::Tensor(w.contiguous()?),
        };
        Ok(Self {
            form,
            dims,
            dtype: w.dtype(),
        })
    }
}

/// x·wᵀ + b: x (…, K), w (N, K), b (N) → (…, N)
///
/// # Errors
/// When shapes, formats or devices do not agree.
pub fn linear(x: &Tensor, w: &Packed, b: Option<&Tensor>) -> Result<Tensor> {
    let shape = super::check("linear_level4", x, w.dims, w.dtype, b)?;
    match &w.form {
        Form::Panels(w) => dispatch!("linear_level4", x.dtype(), cpu::level4::linear(x, w, b)),
        Form::Tensor(_) => super::output_like(x, shape.n),
    }
}

/// gelu(x·wᵀ + b): x (…, K), w (N, K), b (N) → (…, N)
///
/// # Errors
/// When shapes, formats or devices do not agree.
pub fn linear_gelu(x: &Tensor, w: &Packed, b: &Tensor) -> Result<Tensor> {
    let shape = super::check("linear_gelu_level4", x, w.dims, w.dtype, Some(b))?;
    match &w.form {
        Form::Panels(w) => {
            dispatch!(
                "linear_gelu_level4",
                x.dtype(),
                cpu::level4::linear_gelu(x, w, b)
            )
        }
        Form::Tensor(_) => super::output_like(x, shape.n),
    }
}

/// silu(x·Wgᵀ) ⊙ (x·Wuᵀ): x (…, K), w from [`Packed::gate_up`] of (2F, K) → (…, F)
///
/// # Errors
/// When shapes, formats or devices do not agree.
pub fn linear_swiglu(x: &Tensor, w: &Packed) -> Result<Tensor> {
    let (rows, k) = w.dims;
    let f = super::half("linear_swiglu_level4", rows)?;
    let shape = super::check("linear_swiglu_level4", x, (f, k), w.dtype, None)?;
    match &w.form {
        Form::Panels(w) => {
            dispatch!(
                "linear_swiglu_level4",
                x.dtype(),
                cpu::level4::linear_swiglu(x, w)
            )
        }
        Form::Tensor(_) => super::output_like(x, shape.n),
    }
}
