//! softmax(q·kᵀ/√D)·v: full, and causal over a cache of keys and values.
//!
//! "Attention is all you need", Vaswani et al. 2017, section 3.2.1; grouped queries from "GQA: training
//! generalized multi-query transformer models", Ainslie et al. 2023: query head h reads key head
//! ⌊h·Hkv/H⌋. q is (B, T, H, D), keys and values have Hkv heads, the result is (B, T, H·D), all f32 or
//! all bf16; scores, their maximum and their sum are in f32.
//!
//! Full: k and v (B, T, Hkv, D), every query sees every key. q, k and v may be views whose heads and
//! channels are contiguous, as `narrow` cuts them from the result of one matmul; k and v have the same strides.
//! Causal: q is contiguous, its queries stand at `position..position + T` of the sequence, keys and
//! values of all positions up to there are in a [`Cache`], and query t sees the keys `0..=position + t`.
//!
//! Tolerance: 1e-4 in f32 and 2e-2 in bf16 of the maximum |v|: a result is a mean of v.

mod cache;
pub(crate) mod calls;
mod cpu;
pub mod level3;
pub mod level4;
pub mod level5;
mod params;

pub use cache::Cache;
pub(crate) use cpu::{KeyStream, Rows};
use params::Params;
pub(crate) use params::strides;

use candle_core::DType;

use crate::cost::Cost;
use crate::rope;

/// Full: reads q, k and v, writes the result. For each pair of a query and a key q·k and α·v take a multiplication and an
/// addition per channel, and the softmax an exponential, a sum and a scale.
pub fn cost(
    batch: usize,
    tokens: usize,
    (heads, kv_heads): (usize, usize),
    head_dim: usize,
    dtype: DType,
) -> Cost {
    let elements = 2 * batch * tokens * (heads + kv_heads) * head_dim;
    let pairs = batch * heads * tokens * tokens;
    Cost::new(elements, dtype, pairs * (4 * head_dim + 3))
}

/// Causal: [`cost`] with `tokens` queries after `position` keys, where each query sees its own past.
pub fn causal_cost(
    batch: usize,
    tokens: usize,
    position: usize,
    (heads, kv_heads): (usize, usize),
    head_dim: usize,
    dtype: DType,
) -> Cost {
    let keys = position + tokens;
    let elements = 2 * batch * (tokens * heads + keys * kv_heads) * head_dim;
    let pairs = batch * heads * (tokens * position + tokens * (tokens + 1) / 2);
    Cost::new(elements, dtype, pairs * (4 * head_dim + 3))
}

/// [`causal_cost`] and the step before it: q and k are rotated, k and v written to the cache, and the angles read.
pub fn cached_cost(
    batch: usize,
    tokens: usize,
    position: usize,
    heads: (usize, usize),
    head_dim: usize,
    dtype: DType,
) -> Cost {
    let attended = causal_cost(batch, tokens, position, heads, head_dim, dtype);
    let rotated = rope::cost(batch, tokens, heads, head_dim, dtype);
    let appended = 2 * batch * tokens * heads.1 * head_dim + tokens * head_dim;
    Cost {
        bytes: attended.bytes + Cost::new(appended, dtype, 0).bytes,
        flops: attended.flops + rotated.flops,
    }
}

#[cfg(test)]
mod tests;
