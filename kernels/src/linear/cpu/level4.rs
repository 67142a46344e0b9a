//! Level 4 on a CPU.

use candle_core::{Result, Tensor};

use super::level3;
use crate::element::Element;

/// A weight in the order in which the loops read it.
#[derive(Debug)]
pub struct Panels(Tensor);

impl Panels {
    /// Of w (N, K).
    pub fn new(w: &Tensor) -> Result<Self> {
        Ok(Self(w.contiguous()?))
    }

    /// As it was given.
    pub fn tensor(&self) -> &Tensor {
        &self.0
    }

    /// Of w (2F, K), the gate's rows above the up-projection's.
    pub fn gate_up(w: &Tensor) -> Result<Self> {
        Self::new(w)
    }
}

/// x·wᵀ + b
pub fn linear<T: Element>(x: &Tensor, w: &Panels, b: Option<&Tensor>) -> Result<Tensor> {
    level3::linear::<T>(x, &w.0, b)
}

/// gelu(x·wᵀ + b)
pub fn linear_gelu<T: Element>(x: &Tensor, w: &Panels, b: &Tensor) -> Result<Tensor> {
    level3::linear_gelu::<T>(x, &w.0, b)
}

/// silu(x·Wgᵀ) ⊙ (x·Wuᵀ)
pub fn linear_swiglu<T: Element>(x: &Tensor, w: &Panels) -> Result<Tensor> {
    level3::linear_swiglu::<T>(x, &w.0)
}
