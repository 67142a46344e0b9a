//! The blocks of a vision transformer in bf16, batch 1, in the sizes of `s16`: one call, one launch.
//!
//! A block is x₁ = x + attention(norm(x)·Wqkvᵀ + b)·Woutᵀ + b, then y = x₁ + gelu(norm(x₁)·Wupᵀ + b)·Wdownᵀ + b, the norm
//! LayerNorm: `patch_embed` makes the first x, and each next block reads y. x and y are (1, 197, 384), Wqkv (1152, 384),
//! Wout (384, 384), Wup (1536, 384), Wdown (384, 1536), with 6 heads of 64 channels. x, sums, softmax, mean and variance are in
//! f32. "An image is worth 16x16 words", Dosovitskiy et al. 2021, section 3.1.
//!
//! Op by op, x is rounded to bf16 after each sum. This pass rounds x only at its end. But its blocks split each sum over K that
//! is added to x into 6 or 12 parts, and each part is rounded.
//!
//! Tolerance: as far from an oracle in f64 as the blocks op by op.

pub mod level5;

#[cfg(test)]
mod tests;
