//! Level 4's operations, with the kernel picked by shape where several compute the same, and the position of a
//! decode step in the device's memory.
//!
//! A function of `k`, such as `rms_norm`, is in the folder of its op, `kernels/src/rms_norm`. At level N the kernel is
//! `levelN.ptx` or `levelN.cu`, and `levelN.rs` launches it. Several kernels are in a folder `levelN`, as in
//! `kernels/src/linear`. `cpu.rs` is the code for a CPU, and `kernels/generated` has the PTX compiled from `.cu` files.
//!
//! Where no kernel is this level's own, level 4's runs. `kernels/src/dispatch/tables` has the measured tables.

use candle_core::{DType, Result, Tensor};
use kernels::level5 as k;
use models::{
    CacheShape, Csr, Heads, KvCache, Linear, Norm, Ops, Rope, Sampling, Segments, Weight,
};

/// Kernels picked from a measured table, and decode steps that one CUDA graph repeats.
#[derive(Default)]
pub struct Level5;

impl Ops for Level5 {
    fn level(&self) -> u8 {
        5
    }

    /// The layers share one position in the device's memory, so that a recorded step can be repeated.
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
        let position = k::Position::new(device)?;
        let cache = || k::Level4Cache::new(batch, capacity, h, d, dtype, device);
        shape.caches(|| Ok(k::Cache::new(cache()?, position.clone())))
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

    /// 1 launch, of the kernel that was the fastest for this shape: our own GEMVs and tiles, cuBLAS or cuBLASLt.
    fn linear(&self, x: &Tensor, w: &Linear) -> Result<Tensor> {
        // In an H200's table our GEMVs run up to 4 or 8 rows of x, and our tiles nearly all other matmuls of f32. In bf16
        // small tiles run up to about 100 rows, cuBLASLt most of what is larger, and tiles by wgmma some of the largest.
        k::linear(x, w)
    }

    /// 1 launch for one row of at most 6 KB in f32 or 4 KB in bf16, whose RMSNorm scales the finished dot products; else 2.
    fn norm_linear(&self, x: &Tensor, n: &Norm, w: &Linear) -> Result<Tensor> {
        match k::norm_linear(x, n, w)? {
            Some(y) => Ok(y),
            None => k::linear(&norm(x, n)?, w),
        }
    }

    /// 1 launch where `norm_linear` has 1, else 2; the result is cut into views.
    fn norm_qkv(
        &self,
        x: &Tensor,
        n: &Norm,
        w: &Linear,
        heads: Heads,
    ) -> Result<(Tensor, Tensor, Tensor)> {
        heads.split(&self.norm_linear(x, n, w)?)
    }

    /// 2 launches: the fastest norm, then the fastest matmul, cut into views; nodes are too many rows for `norm_linear`'s 1.
    fn norm_qkv_skip(
        &self,
        x: &Tensor,
        n: &Norm,
        w: &Linear,
        heads: Heads,
    ) -> Result<(Tensor, Tensor, Tensor, Tensor)> {
        heads.split_skip(&k::linear(&norm(x, n)?, w)?)
    }

    /// 1 launch for up to 4 queries where a cluster is the fastest, or blocks that draw tickets; else 2, or 3 for split keys.
    fn causal_attention(
        &self,
        q: &Tensor,
        k: &Tensor,
        v: &Tensor,
        rope: &Rope,
        cache: &mut KvCache,
    ) -> Result<Tensor> {
        let (position, t) = (cache.len(), q.dim(1)?);
        let cache = cache.advance::<k::Cache>(t)?;
        if let Some(cache) = cache.on_device(q, position)? {
            // Up to 4 queries read the position from the device's memory, where a launch sets it once per step; a longer
            // prompt gets it from the host. The launches are the same until the keys outgrow a power of two, at least 256:
            // then `replay` records a step again.
            return k::attention_step(q, k, v, &rope.cos, &rope.sin, &cache);
        }
        let (cos, sin) = rope.at(position, t)?; // (T, D/2)
        let cache = cache.inner();
        let q = k::rope_append(q, k, v, &cos, &sin, cache, position)?; // (B, T, H, D)
        k::causal_attention(&q, cache, position)
    }

    /// 1 launch, of the kernel that was the fastest for this shape: tensor cores for f32 too, TMA and wgmma on Hopper.
    fn attention(&self, q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
        k::attention(q, k, v)
    }

    /// 1 launch; 3 for nodes of more than 1024 edges and heads of up to 128 channels: many blocks then share a node's edges.
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

    /// 1 launch, of the kernel that was the fastest for this shape; cuBLASLt adds the residual with beta = 1.
    fn linear_residual(&self, x: &Tensor, w: &Linear, residual: &Tensor) -> Result<Tensor> {
        k::linear_residual(x, w, residual)
    }

    /// 1 launch where `norm_linear` has 1; else 2, the norm and the fastest matmul, or 4 where that is a library's.
    fn norm_swiglu(&self, x: &Tensor, n: &Norm, gate_up: &Linear) -> Result<Tensor> {
        match k::norm_swiglu(x, n, gate_up)? {
            Some(y) => Ok(y),
            // silu and ⊙ follow a library's matmul.
            None => k::linear_swiglu(&norm(x, n)?, gate_up),
        }
    }

    /// 2 launches: the norm, then the fastest matmul; 3 where a library's is the fastest, which leaves gelu.
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
