use candle_core::Tensor;

/// A normalization over the last dimension, C, with its learned parameters.
#[derive(Debug, Clone)]
pub enum Norm {
    /// x/√(mean(x²) + eps) ⊙ weight. "Root mean square layer normalization", Zhang and Sennrich 2019.
    Rms {
        /// (C)
        weight: Tensor,
        /// Added to the mean square.
        eps: f64,
    },
    /// (x − mean(x))/√(var(x) + eps) ⊙ weight + bias; var divides by C.
    /// "Layer normalization", Ba, Kiros and Hinton 2016.
    Layer {
        /// (C)
        weight: Tensor,
        /// (C)
        bias: Tensor,
        /// Added to the variance.
        eps: f64,
    },
}
