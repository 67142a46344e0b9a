//! A forward pass of the graph transformer, from features to logits:
//! x₀ = x·Wᵢₙᵀ + b; in each block y = x + attention(norm(x)) + skip(norm(x)), x = y + MLP(norm(y)); head(norm(mean of x)).
//!
//! "Masked label prediction", Shi et al. 2021; `edge_attention` has the attention's formula.
//! Level 5 alone has it, on a Hopper, for the sizes of the preset `base` and graphs of at most 32 nodes and 448 edges.
//! Everything else is computed op by op, which gives the same answer. There is no twin for a CPU, and none in the simulator,
//! which has neither `wgmma` nor TMA.
//!
//! All operands are f32, or all bf16. Sums, softmax and x are in f32. In bf16 norms, q, k, v and the MLP's hidden channels are
//! rounded, as they are op by op. In f32 the matmuls of the layers are three products of FP16 each, whose range the weights
//! have to respect: no norm's result and no hidden channel may reach 65504, or the pass is computed op by op. A model
//! keeps its layers' weights once more, as these parts: 2.1 MB for `base`. Norms and hidden channels below 6e-5 are exact to
//! 1e-11, and not to a fraction of themselves.
//!
//! Tolerance: 2e-2 of the largest logit in bf16, 1e-5 in f32.

pub mod level5;

#[cfg(test)]
mod tests;
