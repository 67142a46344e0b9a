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
#[path = "level3.rs"]
mod level3_launch;
pub mod level4;
pub mod level5;
mod params;

pub use cache::Cache;
pub(crate) use cpu::{HeadRows, KeyStream};
use params::Params;
pub(crate) use params::strides;

use candle_core::{DType, Result, Tensor};
use trace::span;

use crate::cost::Cost;
use crate::element::by_element;
use crate::launch::on_cpu;
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

/// Level 3: hand-written PTX on a GPU, and plain loops on a CPU.
pub mod level3 {
    use super::*;

    /// softmax(q·kᵀ/√D)·v over the keys `0..=position + t` of the cache: q (B, T, H, D) → (B, T, H·D)
    ///
    /// # Errors
    /// When q and the cache do not agree in shape, dtype or device, q is not contiguous, H is no multiple of Hkv, the
    /// cache has fewer than position + T positions, or, on a GPU, the scores of a query do not fit in shared memory.
    pub fn causal_attention(q: &Tensor, cache: &Cache, position: usize) -> Result<Tensor> {
        const KERNEL: &str = "causal_attention_level3";
        let _span = span(KERNEL);
        if on_cpu(q.device()) {
            params::check_causal(KERNEL, q, cache, position)?;
            return by_element!(
                "causal_attention_level3",
                q.dtype(),
                cpu::level3::causal_attention(q, cache, position)
            );
        }
        level3_launch::launch(&Params::causal(KERNEL, q, cache, position)?)
    }

    /// softmax(q·kᵀ/√D)·v: q (B, T, H, D), k and v (B, T, Hkv, D) → (B, T, H·D). Tokens and sequences may be strided.
    ///
    /// # Errors
    /// When shapes, strides of k and v, or devices do not agree, operands are not all f32 or all bf16, the heads and
    /// channels of one are not contiguous, H is no multiple of Hkv, or, on a GPU, the scores of a query do not fit in
    /// shared memory.
    pub fn attention(q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
        let _span = span("attention_level3");
        let params = Params::full("attention_level3", q, k, v)?;
        if on_cpu(q.device()) {
            return by_element!(
                "attention_level3",
                q.dtype(),
                cpu::level3::attention(q, k, v)
            );
        }
        level3_launch::launch(&params)
    }
}

#[cfg(test)]
mod tests;
