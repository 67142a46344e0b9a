//! Operations in hand-written PTX; on a CPU, in hand-written loops over rows.
//!
//! Two exceptions: the greedy `next_token` is level 1's, which is candle's argmax, and on a CPU the library `gemm` computes
//! the matmuls.
//!
//! A function of `k`, such as `rms_norm`, is in the folder of its op, `kernels/src/rms_norm`. At level N the kernel is
//! `levelN.ptx` or `levelN.cu`, and `levelN.rs` launches it. Several kernels are in a folder `levelN`, as in
//! `kernels/src/linear`. `cpu.rs` is the code for a CPU, and `kernels/generated` has the PTX compiled from `.cu` files.

use candle_core::{DType, Result, Tensor};
use kernels::level3 as k;
use level1::ops::argmax;
use models::{
    CacheShape, Csr, Heads, KvCache, Linear, Norm, Ops, Rope, Sampling, Segments, Weight, WholePass,
};

/// Hand-written PTX: shared memory, and trees of additions.
#[derive(Default)]
pub struct Level3;

impl WholePass for Level3 {}

impl Ops for Level3 {
    fn level(&self) -> u8 {
        3
    }

    /// Memory for all positions is set aside once; kernels write keys and values where they stay.
    fn new_caches(&self, shape: &CacheShape) -> Result<Vec<KvCache>> {
        let CacheShape {
            batch,
            capacity,
            heads,
            dtype,
            ref device,
            ..
        } = *shape;
        let (h, d) = (heads.num_kv_heads, heads.head_dim);
        shape.caches(|| k::Cache::new(batch, capacity, h, d, dtype, device))
    }

    /// 1 launch. A block copies a row.
    fn embedding(&self, ids: &Tensor, w: &Weight) -> Result<Tensor> {
        k::embedding(ids, w)
    }

    /// 1 launch. A tiled matmul that reads patches where the image has them, and adds bias and position at the end.
    fn patch_embed(
        &self,
        pixels: &Tensor,
        patch: &Linear,
        class: &Tensor,
        positions: &Tensor,
    ) -> Result<Tensor> {
        k::patch_embed(pixels, patch, class, positions)
    }

    /// 1 launch. A block computes a 32×32 tile from shared memory; for one row, a warp computes one element.
    fn linear(&self, x: &Tensor, w: &Linear) -> Result<Tensor> {
        k::linear(x, w)
    }

    /// 2 launches: the norm, then the matmul.
    fn norm_linear(&self, x: &Tensor, n: &Norm, w: &Linear) -> Result<Tensor> {
        k::linear(&norm(x, n)?, w)
    }

    /// 2 launches: the norm, then one matmul whose result is cut into views.
    fn norm_qkv(
        &self,
        x: &Tensor,
        n: &Norm,
        w: &Linear,
        heads: Heads,
    ) -> Result<(Tensor, Tensor, Tensor)> {
        heads.split(&k::linear(&norm(x, n)?, w)?)
    }

    /// 2 launches: the norm, then one matmul whose result is cut into views.
    fn norm_qkv_skip(
        &self,
        x: &Tensor,
        n: &Norm,
        w: &Linear,
        heads: Heads,
    ) -> Result<(Tensor, Tensor, Tensor, Tensor)> {
        heads.split_skip(&k::linear(&norm(x, n)?, w)?)
    }

    /// 2 launches: rotation and cache, then attention with the scores of a query in shared memory.
    fn causal_attention(
        &self,
        q: &Tensor,
        k: &Tensor,
        v: &Tensor,
        rope: &Rope,
        cache: &mut KvCache,
    ) -> Result<Tensor> {
        let (position, t) = (cache.len(), q.dim(1)?);
        let (cos, sin) = rope.at(position, t)?; // (T, D/2)
        let cache = cache.advance::<k::Cache>(t)?;
        let q = k::rope_append(q, k, v, &cos, &sin, cache, position)?; // (B, T, H, D)
        k::causal_attention(&q, cache, position)
    }

    /// 1 launch. A block per query, its scores in shared memory.
    fn attention(&self, q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
        k::attention(q, k, v)
    }

    /// 1 launch. Up to 1024 blocks per head take its nodes in turn, and multiply the features of each edge by `w`.
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
        k::edge_attention(q, k, v, skip, residual, edges, w, graph)
    }

    /// 1 launch. The residual is added before the tile is written.
    fn linear_residual(&self, x: &Tensor, w: &Linear, residual: &Tensor) -> Result<Tensor> {
        k::linear_residual(x, w, residual)
    }

    /// 2 launches: the norm, then one matmul that multiplies gate and up before it writes them.
    fn norm_swiglu(&self, x: &Tensor, n: &Norm, gate_up: &Linear) -> Result<Tensor> {
        k::linear_swiglu(&norm(x, n)?, gate_up)
    }

    /// 2 launches: the norm, then a matmul that applies gelu before it writes.
    fn norm_gelu(&self, x: &Tensor, n: &Norm, up: &Linear) -> Result<Tensor> {
        k::linear_gelu(&norm(x, n)?, up)
    }

    /// 1 launch. A block per graph and 32 channels.
    fn segment_mean(&self, x: &Tensor, segments: &Segments) -> Result<Tensor> {
        k::segment_mean(x, segments)
    }

    /// 1 launch: candle's argmax for the greedy token; else softmax, after a cast if logits are bf16, and the host reads it.
    fn next_token(&self, logits: &Tensor, sampling: &mut Sampling) -> Result<u32> {
        if sampling.is_greedy() {
            return argmax(logits);
        }
        let logits = logits.to_dtype(DType::F32)?;
        let probabilities = k::softmax(&logits, 1. / sampling.temperature)?; // (V)
        sampling.draw(&probabilities.to_vec1()?)
    }
}

fn norm(x: &Tensor, norm: &Norm) -> Result<Tensor> {
    match norm {
        Norm::Rms { weight, eps } => k::rms_norm(x, weight, *eps),
        Norm::Layer { weight, bias, eps } => k::layer_norm(x, weight, bias, *eps),
    }
}
