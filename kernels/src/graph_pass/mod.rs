//! A forward pass of the graph transformer, from features to logits:
//! x₀ = x·Wᵢₙᵀ + b; in each block y = x + attention(norm(x)) + skip(norm(x)), x = y + MLP(norm(y)); head(norm(mean of x)).
//!
//! "Masked label prediction", Shi et al. 2021; `edge_attention` has the attention's formula.
//! Level 5 alone has it, in bf16 on a Hopper, for the sizes of the preset `base` and graphs of at most 32 nodes and 448
//! edges. Everything else is computed op by op, which gives the same answer. There is no twin for a CPU, and none in
//! the simulator, which has neither `wgmma` nor TMA.
//!
//! Sums, softmax and x are in f32; norms, q, k, v and the MLP's hidden channels are rounded to bf16, as they are op by op.
//!
//! Tolerance: 2e-2 of the largest logit.

#[path = "level5.rs"]
mod level5_launch;

/// Level 5: one block per graph, whose nodes never leave it.
pub mod level5 {
    use candle_core::{Result, Tensor};
    use operands::GraphPass;
    use trace::span;

    use super::level5_launch::Operands;
    use crate::dispatch::{Facts, Feature};
    use crate::without::Idea;

    /// Logits (G, classes); see [the formula](super). `None` where the kernel cannot: without a Hopper, for other dtypes
    /// or sizes, larger graphs, and edges between two graphs.
    ///
    /// # Errors
    /// If tensors are on different devices, or a launch fails.
    pub fn graph_pass(pass: &GraphPass) -> Result<Option<Tensor>> {
        let device = pass.x.device();
        if !device.is_cuda() || Idea::GraphPass.is_left_out() {
            return Ok(None);
        }
        if !Facts::of(device)?.has(Feature::Wgmma) {
            return Ok(None);
        }
        let Some(operands) = Operands::of(pass) else {
            return Ok(None);
        };
        let _span = span("graph_pass_level5");
        operands.launch().map(Some)
    }
}

#[cfg(test)]
mod tests;
