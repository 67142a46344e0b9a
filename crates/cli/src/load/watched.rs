//! Weights that count loaded tensors.

use candle_core::{DType, Device, Result, Shape, Tensor};
use candle_nn::Init;
use candle_nn::var_builder::{SimpleBackend, VarBuilder};

use crate::progress::Progress;

/// Forwards all requests to `weights`.
struct Watched {
    weights: VarBuilder<'static>,
    progress: Progress,
}

/// Adds a progress bar to `weights`; the model will request `tensors` of them.
pub fn watched(weights: VarBuilder<'static>, tensors: usize) -> VarBuilder<'static> {
    let (dtype, device) = (weights.dtype(), weights.device().clone());
    let watched = Watched {
        weights,
        progress: Progress::new("loading tensors", tensors),
    };
    VarBuilder::from_backend(Box::new(watched), dtype, device)
}

impl SimpleBackend for Watched {
    fn get(
        &self,
        shape: Shape,
        name: &str,
        init: Init,
        dtype: DType,
        _: &Device,
    ) -> Result<Tensor> {
        self.progress.step();
        self.weights.get_with_hints_dtype(shape, name, init, dtype)
    }

    fn get_unchecked(&self, name: &str, dtype: DType, _: &Device) -> Result<Tensor> {
        self.progress.step();
        self.weights.get_unchecked_dtype(name, dtype)
    }

    fn contains_tensor(&self, name: &str) -> bool {
        self.weights.contains_tensor(name)
    }
}
