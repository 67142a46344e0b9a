use candle_core::{Result, Tensor};

use crate::Weight;

/// A linear layer, x·Wᵀ + b: weight (N, K), one row per output, and bias (N).
///
/// A layer that projects patches of images has its weight as (C, 3, P, P).
#[derive(Debug, Clone)]
pub struct Linear {
    /// (N, K)
    pub weight: Weight,
    /// (N), if the layer has one.
    pub bias: Option<Tensor>,
}

impl Linear {
    /// A layer with or without a bias.
    pub fn new(weight: Tensor, bias: Option<Tensor>) -> Self {
        Self {
            weight: Weight::new(weight),
            bias,
        }
    }

    /// Stacks several layers that share their input into one: weights (ΣNᵢ, K) and biases (ΣNᵢ) in order.
    ///
    /// # Errors
    /// If the weights have different K.
    pub fn stack(weights: &[Tensor], biases: Option<&[Tensor]>) -> Result<Self> {
        let bias = biases.map(|biases| Tensor::cat(biases, 0)).transpose()?;
        Ok(Self::new(Tensor::cat(weights, 0)?, bias))
    }
}
