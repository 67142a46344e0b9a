//! Every operation in hand-written CUDA with warp shuffles; on a CPU, in explicit SIMD lanes.
//!
//! A function of `k`, such as `rms_norm`, is in the folder of its op, `kernels/src/rms_norm`. At level N the kernel is
//! `levelN.ptx` or `levelN.cu`, and `levelN.rs` launches it. Several kernels are in a folder `levelN`, as in
//! `kernels/src/linear`. `cpu.rs` is the code for a CPU, and `kernels/generated` has the PTX compiled from `.cu` files.

use candle_core::{DType, Result, Tensor};
use kernels::level4 as k;
use models::{
    CacheShape, Csr, Heads, KvCache, Linear, Norm, Ops, Rope, Sampling, Segments, Weight, WholePass,
};

/// Hand-written CUDA: a warp per row, and shuffles between its lanes.
#[derive(Default)]
pub struct Level4;

impl WholePass for Level4 {}

impl Ops for Level4 {
    fn level(&self) -> u8 {
        4
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

    /// 1 launch. A lane copies 16 bytes at a time; one warp has a row of up to 1 KiB.
    fn embedding(&self, ids: &Tensor, w: &Weight) -> Result<Tensor> {
        k::embedding(ids, w)
    }

    /// 1 launch. The tiles of `linear`, whose rows are patches read where the image has them.
    fn patch_embed(
        &self,
        pixels: &Tensor,
        patch: &Linear,
        class: &Tensor,
        positions: &Tensor,
    ) -> Result<Tensor> {
        k::patch_embed(pixels, patch, class, positions)
    }

    /// 1 launch. Tiles in registers, tensor cores for bf16; up to 8 rows: a warp per few rows of W.
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

    /// 2 launches: rotation and cache, then attention with an online softmax; 3 where the keys are split over blocks.
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
        // Up to 4 queries over more than 256 keys: the keys are split over blocks unless heads and batch give 512 blocks
        // already, and a third launch joins the parts.
        k::causal_attention(&q, cache, position)
    }

    /// 1 launch. Tiles of queries and keys with an online softmax: no score is written.
    fn attention(&self, q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
        k::attention(q, k, v)
    }

    /// 1 launch. 8 to 32 lanes share a head of a node; q·(w·e) = (wᵀ·q)·e, so a node takes two products with `w`, an edge none.
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

    /// 1 launch. The epilogue adds the residual to chunks of a tile's row, 16 bytes per thread.
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

    /// 1 launch for graphs of up to 512 nodes on average; large graphs are split over blocks, and a second launch joins the parts.
    fn segment_mean(&self, x: &Tensor, segments: &Segments) -> Result<Tensor> {
        k::segment_mean(x, segments)
    }

    /// 1 launch for the greedy token or the k most probable. Else softmax in 1 launch; the host reads all probabilities.
    fn next_token(&self, logits: &Tensor, sampling: &mut Sampling) -> Result<u32> {
        if sampling.is_greedy() {
            return k::argmax(logits);
        }
        if let Some(count) = sampling.top_k {
            return sampling.draw_from(k::top_k(logits, count, sampling.temperature)?);
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
