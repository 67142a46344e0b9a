//! Operations in hand-written PTX; on a CPU, in hand-written loops over rows.
//!
//! Two exceptions: the greedy `next_token` is level 1's, which is candle's argmax, and on a CPU the library `gemm` computes
//! the matmuls.

use candle_core::{Result, Tensor};
use kernels::{
    add_layer_norm, add_rms_norm, attention, edge_attention, embedding, linear, patch_embed, rope,
    segment_mean, softmax,
};
use level1::Level1;
use models::trace::span;
use models::{CacheShape, Csr, Heads, KvCache, Ops, Rope, Sampling, Segments, Weight};

/// Custom PTX.
#[derive(Default)]
pub struct Level3;

impl Ops for Level3 {
    fn level(&self) -> u8 {
        3
    }

    // ANCHOR: new_caches
    fn new_caches(&self, shape: &CacheShape) -> Result<Vec<KvCache>> {
        let heads = shape.heads;
        shape.caches(|| {
            attention::Cache::new(
                shape.batch,
                shape.capacity,
                heads.num_kv_heads,
                heads.head_dim,
                shape.dtype,
                &shape.device,
            )
        })
    }
    // ANCHOR_END: new_caches

    // ANCHOR: embedding
    fn embedding(&self, ids: &Tensor, w: &Weight) -> Result<Tensor> {
        let _span = span("embedding_level3");
        embedding::level3::embedding(ids, w.tensor())
    }
    // ANCHOR_END: embedding

    // ANCHOR: linear
    fn linear(&self, x: &Tensor, w: &Weight, b: Option<&Tensor>) -> Result<Tensor> {
        let _span = span("linear_level3");
        linear::level3::linear(x, w.tensor(), b)
    }
    // ANCHOR_END: linear

    // ANCHOR: qkv
    fn qkv(
        &self,
        x: &Tensor,
        w: &Weight,
        b: Option<&Tensor>,
        heads: Heads,
    ) -> Result<(Tensor, Tensor, Tensor)> {
        let _span = span("qkv_level3");
        heads.split(&self.linear(x, w, b)?)
    }
    // ANCHOR_END: qkv

    // ANCHOR: qkv_skip
    fn qkv_skip(
        &self,
        x: &Tensor,
        w: &Weight,
        b: &Tensor,
        heads: Heads,
    ) -> Result<(Tensor, Tensor, Tensor, Tensor)> {
        let _span = span("qkv_skip_level3");
        heads.split_skip(&self.linear(x, w, Some(b))?)
    }
    // ANCHOR_END: qkv_skip

    // ANCHOR: linear_gelu
    fn linear_gelu(&self, x: &Tensor, w: &Weight, b: &Tensor) -> Result<Tensor> {
        let _span = span("linear_gelu_level3");
        linear::level3::linear_gelu(x, w.tensor(), b)
    }
    // ANCHOR_END: linear_gelu

    // ANCHOR: linear_swiglu
    fn linear_swiglu(&self, x: &Tensor, w: &Weight) -> Result<Tensor> {
        let _span = span("linear_swiglu_level3");
        linear::level3::linear_swiglu(x, w.tensor())
    }
    // ANCHOR_END: linear_swiglu

    // ANCHOR: add_rms_norm
    fn add_rms_norm(
        &self,
        x: &Tensor,
        residual: Option<&Tensor>,
        w: &Tensor,
        eps: f64,
    ) -> Result<(Tensor, Tensor)> {
        let _span = span("add_rms_norm_level3");
        add_rms_norm::level3::add_rms_norm(x, residual, w, eps)
    }
    // ANCHOR_END: add_rms_norm

    // ANCHOR: add_layer_norm
    fn add_layer_norm(
        &self,
        x: &Tensor,
        residual: Option<&Tensor>,
        w: &Tensor,
        b: &Tensor,
        eps: f64,
    ) -> Result<(Tensor, Tensor)> {
        let _span = span("add_layer_norm_level3");
        add_layer_norm::level3::add_layer_norm(x, residual, w, b, eps)
    }
    // ANCHOR_END: add_layer_norm

    // ANCHOR: causal_attention
    fn causal_attention(
        &self,
        q: &Tensor,
        k: &Tensor,
        v: &Tensor,
        rope: &Rope,
        cache: &mut KvCache,
    ) -> Result<Tensor> {
        let _span = span("causal_attention_level3");
        let (position, t) = (cache.len(), q.dim(1)?);
        let (cos, sin) = rope.at(position, t)?; // (T, D/2)
        let cache = cache.advance::<attention::Cache>(t)?;
        let q = rope::level3::rope_append(q, k, v, &cos, &sin, cache, position)?; // (B, T, H, D)
        attention::level3::causal_attention(&q, cache, position)
    }
    // ANCHOR_END: causal_attention

    // ANCHOR: attention
    fn attention(&self, q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
        let _span = span("attention_level3");
        attention::level3::attention(q, k, v)
    }
    // ANCHOR_END: attention

    // ANCHOR: edge_attention
    fn edge_attention(
        &self,
        q: &Tensor,
        k: &Tensor,
        v: &Tensor,
        skip: &Tensor,
        edges: &Tensor,
        w: &Weight,
        graph: &Csr,
    ) -> Result<Tensor> {
        let _span = span("edge_attention_level3");
        let graph = edge_attention::Graph {
            row_ptr: &graph.row_ptr,
            col_idx: &graph.col_idx,
            max_degree: graph.max_degree,
        };
        edge_attention::level3::edge_attention(q, k, v, skip, edges, w.tensor(), graph)
    }
    // ANCHOR_END: edge_attention

    // ANCHOR: segment_mean
    fn segment_mean(&self, x: &Tensor, residual: &Tensor, segments: &Segments) -> Result<Tensor> {
        let _span = span("segment_mean_level3");
        segment_mean::level3::segment_mean(x, residual, &segments.offsets)
    }
    // ANCHOR_END: segment_mean

    // ANCHOR: patch_embed
    fn patch_embed(
        &self,
        pixels: &Tensor,
        w: &Weight,
        b: &Tensor,
        class: &Tensor,
        positions: &Tensor,
    ) -> Result<Tensor> {
        let _span = span("patch_embed_level3");
        patch_embed::level3::patch_embed(pixels, w.tensor(), b, class, positions)
    }
    // ANCHOR_END: patch_embed

    // ANCHOR: next_token
    fn next_token(&self, logits: &Tensor, sampling: &mut Sampling) -> Result<u32> {
        if sampling.is_greedy() {
            return Level1.next_token(logits, sampling);
        }
        let _span = span("next_token_level3");
        let probabilities = softmax::level3::softmax(logits, 1. / sampling.temperature)?; // (V)
        sampling.draw(&probabilities.to_vec1()?)
    }
    // ANCHOR_END: next_token
}
