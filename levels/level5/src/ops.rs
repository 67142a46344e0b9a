//! Level 4's operations, with the kernel picked by shape where several compute the same, and the position of a
//! decode step in the device's memory.

use candle_core::{Result, Tensor};
use kernels::linear::level5::Packed;
use kernels::{add_layer_norm, add_rms_norm, attention, edge_attention, linear, rope};
use level4::Level4;
use models::trace::{span, span_because};
use models::{CacheShape, Csr, Heads, KvCache, Ops, Rope, Sampling, Segments, Weight};

/// Tuned small-matrix dispatch, and steps that one CUDA graph repeats.
#[derive(Default)]
pub struct Level5;

impl Ops for Level5 {
    fn level(&self) -> u8 {
        5
    }

    // ANCHOR: new_caches
    fn new_caches(&self, shape: &CacheShape) -> Result<Vec<KvCache>> {
        let heads = shape.heads;
        let position = attention::level5::Position::new(&shape.device)?; // one for all layers
        shape.caches(|| {
            let cache = attention::Cache::new(
                shape.batch,
                shape.capacity,
                heads.num_kv_heads,
                heads.head_dim,
                shape.dtype,
                &shape.device,
            )?;
            Ok(attention::level5::Cache::new(cache, position.clone()))
        })
    }
    // ANCHOR_END: new_caches

    // ANCHOR: embedding
    fn embedding(&self, ids: &Tensor, w: &Weight) -> Result<Tensor> {
        Level4.embedding(ids, w)
    }
    // ANCHOR_END: embedding

    // ANCHOR: linear
    fn linear(&self, x: &Tensor, w: &Weight, b: Option<&Tensor>) -> Result<Tensor> {
        let _span = span("linear_level5");
        linear::level5::linear(x, w.packed(Packed::new)?.as_ref(), b)
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
        let _span = span("qkv_level5");
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
        let _span = span("qkv_skip_level5");
        heads.split_skip(&self.linear(x, w, Some(b))?)
    }
    // ANCHOR_END: qkv_skip

    // ANCHOR: linear_gelu
    fn linear_gelu(&self, x: &Tensor, w: &Weight, b: &Tensor) -> Result<Tensor> {
        let _span = span("linear_gelu_level5");
        linear::level5::linear_gelu(x, w.packed(Packed::new)?.as_ref(), b)
    }
    // ANCHOR_END: linear_gelu

    // ANCHOR: linear_swiglu
    fn linear_swiglu(&self, x: &Tensor, w: &Weight) -> Result<Tensor> {
        let _span = span("linear_swiglu_level5");
        linear::level5::linear_swiglu(x, w.packed(Packed::gate_up)?.as_ref())
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
        let _span = span("add_rms_norm_level5");
        add_rms_norm::level5::add_rms_norm(x, residual, w, eps)
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
        let _span = span("add_layer_norm_level5");
        add_layer_norm::level5::add_layer_norm(x, residual, w, b, eps)
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
        let _span = span("causal_attention_level5");
        let (position, t) = (cache.len(), q.dim(1)?);
        let cache = cache.advance::<attention::level5::Cache>(t)?;
        if let Some(at) = cache.on_device(q, position)? {
            // The kernels read the position: the same launches for every step up to the next bucket.
            let q = rope::level5::rope_append(q, k, v, &rope.cos, &rope.sin, &at)?; // (B, T, H, D)
            return attention::level5::causal_attention(&q, &at);
        }
        let (cos, sin) = rope.at(position, t)?; // (T, D/2)
        let cache = cache.inner();
        let q = {
            let _span = span_because("rope_append_level4", || {
                "the host passes the position to the launch".into()
            });
            rope::level4::rope_append(q, k, v, &cos, &sin, cache, position)?
        };
        attention::level5::prompt(&q, cache, position)
    }
    // ANCHOR_END: causal_attention

    // ANCHOR: attention
    fn attention(&self, q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
        let _span = span("attention_level5");
        attention::level5_pick::attention(q, k, v)
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
        let _span = span("edge_attention_level5");
        let graph = edge_attention::Graph {
            row_ptr: &graph.row_ptr,
            col_idx: &graph.col_idx,
            max_degree: graph.max_degree,
        };
        edge_attention::level5::edge_attention(q, k, v, skip, edges, w.tensor(), graph)
    }
    // ANCHOR_END: edge_attention

    // ANCHOR: segment_mean
    fn segment_mean(&self, x: &Tensor, residual: &Tensor, segments: &Segments) -> Result<Tensor> {
        Level4.segment_mean(x, residual, segments)
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
        Level4.patch_embed(pixels, w, b, class, positions)
    }
    // ANCHOR_END: patch_embed

    // ANCHOR: next_token
    fn next_token(&self, logits: &Tensor, sampling: &mut Sampling) -> Result<u32> {
        Level4.next_token(logits, sampling)
    }
    // ANCHOR_END: next_token
}
