//! Your level. Every method begins as level 1's; replace one at a time, and save: `cargo ex level watch` checks it.

use candle_core::{Result, Tensor};
use level1::Level1;
use models::{
    CacheShape, Csr, Heads, KvCache, Linear, Norm, Ops, Rope, Sampling, Segments, Weight, WholePass,
};

/// The level `NAME`.
pub struct Own;

/// Passes of a whole model: yours are computed method by method.
impl WholePass for Own {}

impl Ops for Own {
    /// 0: a level of your own.
    fn level(&self) -> u8 {
        0
    }

    /// Caches of the language model, one per layer, for `causal_attention`.
    fn new_caches(&self, shape: &CacheShape) -> Result<Vec<KvCache>> {
        Level1.new_caches(shape)
    }

    /// Row `ids[b][t]` of w: ids (B, T) u32, w (V, C) → (B, T, C)
    fn embedding(&self, ids: &Tensor, w: &Weight) -> Result<Tensor> {
        Level1.embedding(ids, w)
    }

    /// pixels (B, 3, H, W), patch (C, 3, P, P), class (1, 1, C), positions (1, 1 + H·W/P², C) → (B, 1 + H·W/P², C)
    fn patch_embed(
        &self,
        pixels: &Tensor,
        patch: &Linear,
        class: &Tensor,
        positions: &Tensor,
    ) -> Result<Tensor> {
        Level1.patch_embed(pixels, patch, class, positions)
    }

    /// x·Wᵀ + b: x (…, K), w (N, K) → (…, N)
    fn linear(&self, x: &Tensor, w: &Linear) -> Result<Tensor> {
        Level1.linear(x, w)
    }

    /// norm(x)·Wᵀ + b: x (…, C), w (N, C) → (…, N)
    fn norm_linear(&self, x: &Tensor, norm: &Norm, w: &Linear) -> Result<Tensor> {
        Level1.norm_linear(x, norm, w)
    }

    /// Queries, keys and values of norm(x): x (B, T, C), w ((H + 2·Hkv)·D, C) → q (B, T, H, D), k and v (B, T, Hkv, D)
    fn norm_qkv(
        &self,
        x: &Tensor,
        norm: &Norm,
        w: &Linear,
        heads: Heads,
    ) -> Result<(Tensor, Tensor, Tensor)> {
        Level1.norm_qkv(x, norm, w, heads)
    }

    /// The same with a skip connection: x (N, C), w (4·H·D, C) → q, k, v (N, H, D) and skip (N, H·D)
    fn norm_qkv_skip(
        &self,
        x: &Tensor,
        norm: &Norm,
        w: &Linear,
        heads: Heads,
    ) -> Result<(Tensor, Tensor, Tensor, Tensor)> {
        Level1.norm_qkv_skip(x, norm, w, heads)
    }

    /// Rotates q and k, appends k and v to the cache, attends to the positions up to its own:
    /// q (B, T, H, D), k and v (B, T, Hkv, D) → (B, T, H·D)
    fn causal_attention(
        &self,
        q: &Tensor,
        k: &Tensor,
        v: &Tensor,
        rope: &Rope,
        cache: &mut KvCache,
    ) -> Result<Tensor> {
        Level1.causal_attention(q, k, v, rope, cache)
    }

    /// softmax(q·kᵀ/√D)·v: q, k, v (B, T, H, D) → (B, T, H·D)
    fn attention(&self, q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
        Level1.attention(q, k, v)
    }

    /// Attention over the incoming edges of each node, plus skip and residual: q, k, v (N, H, D), skip and residual (N, H·D),
    /// edges (E, Fe), w (H·D, Fe) → (N, H·D)
    fn edge_attention(
        &self,
        q: &Tensor,
        k: &Tensor,
        v: &Tensor,
        skip: &Tensor,
        residual: &Tensor,
        edges: &Tensor,
        w: &Weight,
        graph: &Csr,
    ) -> Result<Tensor> {
        Level1.edge_attention(q, k, v, skip, residual, edges, w, graph)
    }

    /// residual + x·Wᵀ + b: x (…, K), w (C, K), residual (…, C) → (…, C)
    fn linear_residual(&self, x: &Tensor, w: &Linear, residual: &Tensor) -> Result<Tensor> {
        Level1.linear_residual(x, w, residual)
    }

    /// silu(n·Wgᵀ) ⊙ (n·Wuᵀ), n = norm(x): x (…, C), gate_up (2F, C) → (…, F)
    fn norm_swiglu(&self, x: &Tensor, norm: &Norm, gate_up: &Linear) -> Result<Tensor> {
        Level1.norm_swiglu(x, norm, gate_up)
    }

    /// gelu(norm(x)·Wᵀ + b): x (…, C), up (F, C) → (…, F)
    fn norm_gelu(&self, x: &Tensor, norm: &Norm, up: &Linear) -> Result<Tensor> {
        Level1.norm_gelu(x, norm, up)
    }

    /// Mean of x over the nodes of each graph: x (N, C) → (G, C); 0 for a graph without nodes.
    fn segment_mean(&self, x: &Tensor, segments: &Segments) -> Result<Tensor> {
        Level1.segment_mean(x, segments)
    }

    /// The next token from the logits (V) of the last one.
    fn next_token(&self, logits: &Tensor, sampling: &mut Sampling) -> Result<u32> {
        Level1.next_token(logits, sampling)
    }
}
