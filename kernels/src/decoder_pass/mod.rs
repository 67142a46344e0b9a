//! The blocks of a language model for one token, in the sizes of `readme` and `smollm-135m`: two launches per block.
//!
//! A block is x₁ = x + attention(norm(x)·Wqkvᵀ)·Woᵀ, then y = x₁ + (silu(h·Wgᵀ) ⊙ (h·Wuᵀ))·Wdᵀ with h = norm(x₁). The norm
//! is RMSNorm. The first x is a row of the embedding, as `embedding` gives it; each next block reads y, and the head the last y.
//! x and y are (1, 1, 512), with 8 heads of 64 channels and as many key heads, or (1, 1, 576), with 9 heads and 3 key heads;
//! F is 1536. The token's key and value go into the cache at the position in the device's memory.
//!
//! All operands are f32, or all bf16. Op by op, every result is rounded to this dtype. This pass keeps all in f32 from the first
//! block to the last, except the cache: with bf16 operands, keys and values are stored in bf16.
//!
//! Tolerance: nearer to an oracle in f64 than the blocks op by op.

pub mod level5;

#[cfg(test)]
mod tests;
