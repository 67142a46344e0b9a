//! The same call with other activations.

use candle_core::{Result, Tensor};

use super::{Call, Draw};

impl Draw {
    /// The call with the same weights, graph and sizes, and other activations in tensors of their own: a result that a
    /// method has kept is wrong for it.
    ///
    /// # Errors
    /// Those of candle.
    pub fn again(&mut self, call: &Call) -> Result<Call> {
        let mut like = |x: &Tensor| self.tensor(x.dims());
        Ok(match call {
            Call::Embedding(ids, w) => {
                let below = w.tensor().dim(0)?;
                let new: Vec<u32> = (0..ids.elem_count()).map(|_| self.index(below)).collect();
                let ids = Tensor::from_vec(new, ids.shape(), &self.device)?;
                Call::Embedding(ids, w.clone())
            }
            Call::PatchEmbed(pixels, patch, class, positions) => Call::PatchEmbed(
                like(pixels)?,
                patch.clone(),
                class.clone(),
                positions.clone(),
            ),
            Call::Linear(x, w) => Call::Linear(like(x)?, w.clone()),
            Call::NormLinear(x, norm, w) => Call::NormLinear(like(x)?, norm.clone(), w.clone()),
            Call::NormQkv(x, norm, w, heads) => {
                Call::NormQkv(like(x)?, norm.clone(), w.clone(), *heads)
            }
            Call::NormQkvSkip(x, norm, w, heads) => {
                Call::NormQkvSkip(like(x)?, norm.clone(), w.clone(), *heads)
            }
            Call::Causal(steps, rope, shape) => {
                let step = |[q, k, v]: &[Tensor; 3]| Ok([like(q)?, like(k)?, like(v)?]);
                let steps = steps.iter().map(step).collect::<Result<_>>()?;
                Call::Causal(steps, rope.clone(), shape.clone())
            }
            Call::Attention([q, k, v]) => Call::Attention([like(q)?, like(k)?, like(v)?]),
            Call::Edges {
                qkv: [q, k, v],
                skip,
                residual,
                edges,
                w,
                graph,
            } => Call::Edges {
                qkv: [like(q)?, like(k)?, like(v)?],
                skip: like(skip)?,
                residual: like(residual)?,
                edges: like(edges)?,
                w: w.clone(),
                graph: graph.clone(),
            },
            Call::LinearResidual(x, w, residual) => {
                Call::LinearResidual(like(x)?, w.clone(), like(residual)?)
            }
            Call::NormSwiglu(x, norm, w) => Call::NormSwiglu(like(x)?, norm.clone(), w.clone()),
            Call::NormGelu(x, norm, w) => Call::NormGelu(like(x)?, norm.clone(), w.clone()),
            Call::SegmentMean(x, segments) => Call::SegmentMean(like(x)?, segments.clone()),
            Call::NextToken(logits, temperature) => {
                Call::NextToken((like(logits)? * 4.)?, *temperature)
            }
        })
    }
}
