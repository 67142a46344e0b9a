//! Every operation in hand-written CUDA with warp shuffles; on a CPU, in explicit SIMD lanes.

use candle_core::{Result, Tensor};
use kernels::linear::level4::Packed;
use kernels::{
    add_layer_norm, add_rms_norm, attention, edge_attention, embedding, linear, next_token,
    patch_embed, rope, segment_mean, softmax,
};
use models::trace::span;
use models::{CacheShape, Csr, Heads, KvCache, Ops, Rope, Sampling, Segments, Weight};

/// Hand-written CUDA, a warp a row.
#[derive(Default)]
pub struct Level4;

impl Ops for Level4 {
    fn level(&self) -> u8 {
        4
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
        let _span = span("embedding_level4");
        embedding::level4::embedding(ids, w.tensor())
    }
    // ANCHOR_END: embedding

    // ANCHOR: linear
    fn linear(&self, x: &Tensor, w: &Weight, b: Option<&Tensor>) -> Result<Tensor> {
        let _span = span("linear_level4");
        linear::level4::linear(x, w.packed(Packed::new)?.as_ref(), b)
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
        let _span = span("qkv_level4");
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
        let _span = span("qkv_skip_level4");
        heads.split_skip(&self.linear(x, w, Some(b))?)
    }
    // ANCHOR_END: qkv_skip

    // ANCHOR: linear_gelu
    fn linear_gelu(&self, x: &Tensor, w: &Weight, b: &Tensor) -> Result<Tensor> {
        let _span = span("linear_gelu_level4");
        linear::level4::linear_gelu(x, w.packed(Packed::new)?.as_ref(), b)
    }
    // ANCHOR_END: linear_gelu

    // ANCHOR: linear_swiglu
    fn linear_swiglu(&self, x: &Tensor, w: &Weight) -> Result<Tensor> {
        let _span = span("linear_swiglu_level4");
        linear::level4::linear_swiglu(x, w.packed(Packed::gate_up)?.as_ref())
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
        let _span = span("add_rms_norm_level4");
        add_rms_norm::level4::add_rms_norm(x, residual, w, eps)
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
        let _span = span("add_layer_norm_level4");
        add_layer_norm::level4::add_layer_norm(x, residual, w, b, eps)
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
        let _span = span("causal_attention_level4");
        let (position, t) = (cache.len(), q.dim(1)?);
        let (cos, sin) = rope.at(position, t)?; // (T, D/2)
        let cache = cache.advance::<attention::Cache>(t)?;
        let q = rope::level4::rope_append(q, k, v, &cos, &sin, cache, position)?; // (B, T, H, D)
        attention::level4::causal_attention(&q, cache, position)
    }
    // ANCHOR_END: causal_attention

    // ANCHOR: attention
    fn attention(&self, q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
        let _span = span("attention_level4");
        attention::level4::attention(q, k, v)
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
        let _span = span("edge_attention_level4");
        let graph = edge_attention::Graph {
            row_ptr: &graph.row_ptr,
            col_idx: &graph.col_idx,
            max_degree: graph.max_degree,
        };
        edge_attention::level4::edge_attention(q, k, v, skip, edges, w.tensor(), graph)
    }
    // ANCHOR_END: edge_attention

    // ANCHOR: segment_mean
    fn segment_mean(&self, x: &Tensor, residual: &Tensor, segments: &Segments) -> Result<Tensor> {
        let _span = span("segment_mean_level4");
        segment_mean::level4::segment_mean(x, residual, &segments.offsets)
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
        let _span = span("patch_embed_level4");
        let (c, channels, p, _) = w.tensor().dims4()?;
        let w = w.packed(|w| Packed::new(&w.reshape((c, channels * p * p))?))?;
        patch_embed::level4::patch_embed(pixels, &w, b, class, positions, p)
    }
    // ANCHOR_END: patch_embed

    // ANCHOR: next_token
    fn next_token(&self, logits: &Tensor, sampling: &mut Sampling) -> Result<u32> {
        let _span = span("next_token_level4");
        if sampling.is_greedy() {
            return next_token::level4::argmax(logits);
        }
        match sampling.top_k {
            Some(k) => {
                sampling.draw_from(next_token::level4::top_k(logits, k, sampling.temperature)?)
            }
            None => {
                let probabilities = softmax::level4::softmax(logits, 1. / sampling.temperature)?; // (V)
                sampling.draw(&probabilities.to_vec1()?)
            }
        }
    }
    // ANCHOR_END: next_token
}
