//! Linear layers and norms as checkpoints store them. Each function returns an error, with the tensor's name, if one is
//! missing, of another shape, or there and not asked for.

use candle_core::{Result, Tensor};
use candle_nn::VarBuilder;

use crate::checkpoint::ABSENT;
use crate::{Linear, Norm, Weight};

/// `weight` (N, K) and `bias` (N).
pub fn linear(vb: VarBuilder, n: usize, k: usize) -> Result<Linear> {
    Ok(Linear::new(
        vb.get((n, k), "weight")?,
        Some(vb.get(n, "bias")?),
    ))
}

/// `weight` (N, K) alone.
///
/// # Errors
/// If the checkpoint has a bias: without it the model would be another than the one that was trained.
pub fn linear_no_bias(vb: VarBuilder, n: usize, k: usize) -> Result<Linear> {
    no_bias(&vb)?;
    Ok(Linear::new(vb.get((n, k), "weight")?, None))
}

/// Several layers that read the same input, as one: each has K inputs and the number of outputs in its pair, and all have
/// a bias or none.
pub fn stacked(parts: &[(VarBuilder, usize)], k: usize, has_bias: bool) -> Result<Linear> {
    let weights = parts.iter().map(|(vb, n)| vb.get((*n, k), "weight"));
    let weights: Vec<Tensor> = weights.collect::<Result<_>>()?;
    if !has_bias {
        parts.iter().try_for_each(|(vb, _)| no_bias(vb))?;
        return Linear::stack(&weights, None);
    }
    let biases = parts.iter().map(|(vb, n)| vb.get(*n, "bias"));
    Linear::stack(&weights, Some(&biases.collect::<Result<Vec<_>>>()?))
}

/// An error, which names tensor and file, if there is a bias.
pub fn no_bias(vb: &VarBuilder) -> Result<()> {
    if vb.contains_tensor("bias") {
        vb.get(ABSENT, "bias")?;
    }
    Ok(())
}

/// `weight` (C) of an RMSNorm.
pub fn rms_norm(vb: VarBuilder, c: usize, eps: f64) -> Result<Norm> {
    no_bias(&vb)?;
    let weight = vb.get(c, "weight")?;
    Ok(Norm::Rms { weight, eps })
}

/// `weight` and `bias` (C) of a LayerNorm.
pub fn layer_norm(vb: VarBuilder, c: usize, eps: f64) -> Result<Norm> {
    let (weight, bias) = (vb.get(c, "weight")?, vb.get(c, "bias")?);
    Ok(Norm::Layer { weight, bias, eps })
}

/// `weight` (V, C) of an embedding.
pub fn embedding(vb: VarBuilder, v: usize, c: usize) -> Result<Weight> {
    Ok(Weight::new(vb.get((v, c), "weight")?))
}
