//! Ops that say what each needs before it runs.

use candle_core::{Result, Tensor};
use kernels::cost::Cost;
use models::trace::{Needs, needs};
use models::{CacheShape, Csr, Heads, KvCache, Ops, Rope, Sampling, Segments, Weight};

use crate::{Level, costs};

/// A level whose ops tell the trace the bytes and operations that they need at the least, from the shapes
/// of their operands alone: the same figures whatever the level, so that rates can be compared.
pub struct Costed(Level);

impl Costed {
    /// Around a level.
    pub fn new(ops: Level) -> Self {
        Self(ops)
    }

    /// The level, about to do something of this cost.
    fn at(&self, cost: Cost) -> &dyn Ops {
        needs(Needs {
            bytes: cost.bytes,
            flops: cost.flops,
        });
        &*self.0
    }
}

impl Ops for Costed {
    fn level(&self) -> u8 {
        self.0.level()
    }

    fn new_caches(&self, shape: &CacheShape) -> Result<Vec<KvCache>> {
        self.0.new_caches(shape)
    }

    fn embedding(&self, ids: &Tensor, w: &Weight) -> Result<Tensor> {
        self.at(costs::embedding(ids, w)).embedding(ids, w)
    }

    fn linear(&self, x: &Tensor, w: &Weight, b: Option<&Tensor>) -> Result<Tensor> {
        self.at(costs::linear(x, w)).linear(x, w, b)
    }

    fn qkv(
        &self,
        x: &Tensor,
        w: &Weight,
        b: Option<&Tensor>,
        heads: Heads,
    ) -> Result<(Tensor, Tensor, Tensor)> {
        self.at(costs::linear(x, w)).qkv(x, w, b, heads)
    }

    fn qkv_skip(
        &self,
        x: &Tensor,
        w: &Weight,
        b: &Tensor,
        heads: Heads,
    ) -> Result<(Tensor, Tensor, Tensor, Tensor)> {
        self.at(costs::linear(x, w)).qkv_skip(x, w, b, heads)
    }

    fn linear_gelu(&self, x: &Tensor, w: &Weight, b: &Tensor) -> Result<Tensor> {
        self.at(costs::linear(x, w)).linear_gelu(x, w, b)
    }

    fn linear_swiglu(&self, x: &Tensor, w: &Weight) -> Result<Tensor> {
        self.at(costs::linear_swiglu(x, w)).linear_swiglu(x, w)
    }

    fn add_rms_norm(
        &self,
        x: &Tensor,
        residual: Option<&Tensor>,
        w: &Tensor,
        eps: f64,
    ) -> Result<(Tensor, Tensor)> {
        let cost = costs::add_rms_norm(x, residual);
        self.at(cost).add_rms_norm(x, residual, w, eps)
    }

    fn add_layer_norm(
        &self,
        x: &Tensor,
        residual: Option<&Tensor>,
        w: &Tensor,
        b: &Tensor,
        eps: f64,
    ) -> Result<(Tensor, Tensor)> {
        let cost = costs::add_layer_norm(x, residual);
        self.at(cost).add_layer_norm(x, residual, w, b, eps)
    }

    fn causal_attention(
        &self,
        q: &Tensor,
        k: &Tensor,
        v: &Tensor,
        rope: &Rope,
        cache: &mut KvCache,
    ) -> Result<Tensor> {
        let cost = costs::causal_attention(q, k, cache.len())?;
        self.at(cost).causal_attention(q, k, v, rope, cache)
    }

    fn attention(&self, q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
        self.at(costs::attention(q, k)?).attention(q, k, v)
    }

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
        let cost = costs::edge_attention(q, edges, graph)?;
        self.at(cost).edge_attention(q, k, v, skip, edges, w, graph)
    }

    fn segment_mean(&self, x: &Tensor, residual: &Tensor, segments: &Segments) -> Result<Tensor> {
        let cost = costs::segment_mean(x, segments);
        self.at(cost).segment_mean(x, residual, segments)
    }

    fn patch_embed(
        &self,
        pixels: &Tensor,
        w: &Weight,
        b: &Tensor,
        class: &Tensor,
        positions: &Tensor,
    ) -> Result<Tensor> {
        let cost = costs::patch_embed(pixels, w, positions)?;
        self.at(cost).patch_embed(pixels, w, b, class, positions)
    }

    fn next_token(&self, logits: &Tensor, sampling: &mut Sampling) -> Result<u32> {
        self.at(costs::next_token(logits))
            .next_token(logits, sampling)
    }
}
