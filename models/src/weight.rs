//! A weight matrix, and the room in which a level keeps its own form of it.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use candle_core::{Result, Tensor};
use candle_nn::VarBuilder;

/// A weight as it is stored, (N, K) with one row an output, beside the form that a level packs it into.
///
/// Clones share both.
#[derive(Clone)]
pub struct Weight {
    tensor: Tensor,
    packed: Arc<OnceLock<Box<dyn Any + Send + Sync>>>,
}

impl Weight {
    /// Wraps a tensor as it was loaded.
    pub fn new(tensor: Tensor) -> Self {
        Self {
            tensor,
            packed: Arc::default(),
        }
    }

    /// Rows of several weights that share their input, stacked: (ΣNᵢ, K).
    pub fn stack(parts: &[Tensor]) -> Result<Self> {
        Ok(Self::new(Tensor::cat(parts, 0)?))
    }

    /// The weight as it was loaded.
    pub fn tensor(&self) -> &Tensor {
        &self.tensor
    }

    /// The level's own form of this weight, made by `pack` at first use and kept.
    ///
    /// A weight belongs to one level at a time.
    ///
    /// # Errors
    /// When `pack` fails, or when another level has packed this weight into another type.
    pub fn packed<T: Any + Send + Sync>(
        &self,
        pack: impl FnOnce(&Tensor) -> Result<T>,
    ) -> Result<&T> {
        if self.packed.get().is_none() {
            // Two threads may both pack; the first to finish is kept.
            let _ = self.packed.set(Box::new(pack(&self.tensor)?));
        }
        match self.packed.get().and_then(|form| form.downcast_ref()) {
            Some(form) => Ok(form),
            None => candle_core::bail!("this weight was packed by another level: load it again"),
        }
    }
}

/// Weight (C) and bias (C) of a LayerNorm.
pub fn norm(vb: VarBuilder, c: usize) -> Result<(Tensor, Tensor)> {
    Ok((vb.get(c, "weight")?, vb.get(c, "bias")?))
}

/// Weight (N, K) and bias (N) of a linear layer.
pub fn linear(vb: VarBuilder, n: usize, k: usize) -> Result<(Weight, Tensor)> {
    Ok((Weight::new(vb.get((n, k), "weight")?), vb.get(n, "bias")?))
}
