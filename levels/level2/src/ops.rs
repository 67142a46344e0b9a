//! Every operation, fused as far as candle's own ops go: first the methods that the models call, below them the formulas.
//!
//! A launch is one kernel of candle's on a GPU; a view launches none. Counts are for f32 and no biases: each bias adds one,
//! except in `patch_embed`, and cuBLAS adds one to a matmul that it splits along K.
//!
//! The functions return the errors of candle's operations, for operands whose shapes or dtypes do not fit.

use std::sync::Arc;

use candle_core::{D, DType, Result, Tensor};
use candle_nn::ops::softmax_last_dim;
use candle_nn::rotary_emb::rope as rotate;
use level1::segment_max;
use models::{
    CacheShape, Csr, Heads, KvCache, Linear, Norm, Ops, Rope, Sampling, Segments, Weight, WholePass,
};

pub use level1::ops::{argmax, embedding, linear, segment_mean};

use crate::masks::MaskMemo;
use crate::patches::Patches;
use crate::span;

/// Fused candle ops.
#[derive(Default)]
pub struct Level2 {
    masks: Arc<MaskMemo>,
}

/// Keys and values of one layer, both (B, Hkv, capacity, D), made once and filled in place; the masks that all layers share.
pub struct Cache {
    keys: Tensor,
    values: Tensor,
    masks: Arc<MaskMemo>,
}

impl WholePass for Level2 {}

impl Ops for Level2 {
    fn level(&self) -> u8 {
        2
    }

    /// Memory for all positions is set aside once.
    fn new_caches(&self, shape: &CacheShape) -> Result<Vec<KvCache>> {
        let (h, d) = (shape.heads.num_kv_heads, shape.heads.head_dim);
        let zeros = || {
            Tensor::zeros(
                (shape.batch, h, shape.capacity, d),
                shape.dtype,
                &shape.device,
            )
        };
        shape.caches(|| {
            Ok(Cache {
                keys: zeros()?,
                values: zeros()?,
                masks: self.masks.clone(),
            })
        })
    }

    /// 1 launch. `index_select` copies a row for each token.
    fn embedding(&self, ids: &Tensor, w: &Weight) -> Result<Tensor> {
        embedding(ids, w)
    }

    /// 5 launches: as level 1 without a bias, which is added to the positions once, at load.
    fn patch_embed(
        &self,
        pixels: &Tensor,
        patch: &Linear,
        class: &Tensor,
        positions: &Tensor,
    ) -> Result<Tensor> {
        patch_embed(pixels, patch, class, positions)
    }

    /// 1 launch. A matmul by cuBLAS; candle cannot fuse the addition of a bias.
    fn linear(&self, x: &Tensor, w: &Linear) -> Result<Tensor> {
        linear(x, w)
    }

    /// 2 launches: the fused norm, then the matmul.
    fn norm_linear(&self, x: &Tensor, n: &Norm, w: &Linear) -> Result<Tensor> {
        linear(&norm(x, n)?, w)
    }

    /// 2 launches: the fused norm, then one matmul whose result is cut into views.
    fn norm_qkv(
        &self,
        x: &Tensor,
        n: &Norm,
        w: &Linear,
        heads: Heads,
    ) -> Result<(Tensor, Tensor, Tensor)> {
        heads.split(&linear(&norm(x, n)?, w)?)
    }

    /// 2 launches: the fused norm, then one matmul whose result is cut into views.
    fn norm_qkv_skip(
        &self,
        x: &Tensor,
        n: &Norm,
        w: &Linear,
        heads: Heads,
    ) -> Result<(Tensor, Tensor, Tensor, Tensor)> {
        heads.split_skip(&linear(&norm(x, n)?, w)?)
    }

    /// 8 launches for one token, 13 for a prompt: keys and values stay in place, and query heads share them without copies.
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
        let cache = cache.advance::<Cache>(t)?;
        let q = rope_append(q, k, v, &cos, &sin, cache, position)?; // (B, T, H, D)
        causal_attention(&q, cache, position)
    }

    /// 7 launches: two matmuls with the fused softmax between them, and 4 that scale or reorder.
    fn attention(&self, q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
        attention(q, k, v)
    }

    /// 26 launches, and 4⌈log₂ d⌉ for the maxima of up to d edges per node: one sum fewer than level 1, three copies of views more.
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
        edge_attention(q, k, v, skip, residual, edges, w, graph)
    }

    /// 2 launches: the matmul, then the addition of the residual.
    fn linear_residual(&self, x: &Tensor, w: &Linear, residual: &Tensor) -> Result<Tensor> {
        linear_residual(x, w, residual)
    }

    /// 4 launches for one row, 5 for more: the fused norm, one matmul for gate and up, a copy of the gate, silu and ⊙.
    fn norm_swiglu(&self, x: &Tensor, n: &Norm, gate_up: &Linear) -> Result<Tensor> {
        linear_swiglu(&norm(x, n)?, gate_up)
    }

    /// 3 launches: the fused norm, the matmul, and candle's gelu.
    fn norm_gelu(&self, x: &Tensor, n: &Norm, up: &Linear) -> Result<Tensor> {
        linear_gelu(&norm(x, n)?, up)
    }

    /// 2 launches: `index_add` adds every node to its graph's row, then each row is divided by its number of nodes.
    fn segment_mean(&self, x: &Tensor, segments: &Segments) -> Result<Tensor> {
        segment_mean(x, segments)
    }

    /// 1 launch for the greedy token. Else the scale and the fused softmax, 2, and the host reads all probabilities.
    fn next_token(&self, logits: &Tensor, sampling: &mut Sampling) -> Result<u32> {
        if sampling.is_greedy() {
            return argmax(logits);
        }
        let probabilities = softmax(&logits.to_dtype(DType::F32)?, 1. / sampling.temperature)?; // (V)
        sampling.draw(&probabilities.to_vec1()?)
    }
}

/// Cuts images into patches, projects each, puts the class token first and adds positions:
/// pixels (B, 3, H, W), patch (C, 3, P, P), class (1, 1, C), positions (1, 1 + H·W/P², C) → (B, 1 + H·W/P², C)
pub fn patch_embed(
    pixels: &Tensor,
    patch: &Linear,
    class: &Tensor,
    positions: &Tensor,
) -> Result<Tensor> {
    let _span = span!("patch_embed");
    let (batch, channels, height, width) = pixels.dims4()?;
    let (c, _, p, _) = patch.weight.tensor().dims4()?;
    let (rows, columns) = (height / p, width / p);
    let patches = pixels
        .reshape(&[batch, channels, rows, p, columns, p])?
        .permute(vec![0, 2, 4, 1, 3, 5])? // (B, rows, columns, 3, P, P)
        .reshape((batch * rows * columns, channels * p * p))?;
    // Bias and positions do not depend on the image: added to each other once, at load.
    let made = Patches::of(patch, class, positions)?;
    let x = patches
        .matmul(&made.w.t()?)?
        .reshape((batch, rows * columns, c))?;
    let first = made.first.expand((batch, 1, c))?;
    Tensor::cat(&[&first, &x.broadcast_add(&made.rest)?], 1)
}

/// residual + x·Wᵀ + b: x (…, K), w (C, K), residual (…, C) → (…, C)
pub fn linear_residual(x: &Tensor, w: &Linear, residual: &Tensor) -> Result<Tensor> {
    let _span = span!("linear_residual");
    linear(x, w)? + residual
}

/// gelu(x·Wᵀ + b): x (…, K), w (N, K) → (…, N)
pub fn linear_gelu(x: &Tensor, w: &Linear) -> Result<Tensor> {
    let _span = span!("linear_gelu");
    linear(x, w)?.gelu_erf()
}

/// silu(x·Wgᵀ) ⊙ (x·Wuᵀ): x (…, C), w (2F, C), the rows of Wg above those of Wu → (…, F)
pub fn linear_swiglu(x: &Tensor, w: &Linear) -> Result<Tensor> {
    let _span = span!("linear_swiglu");
    let y = linear(x, w)?; // (B, T, 2F)
    let f = w.weight.tensor().dim(0)? / 2;
    // candle's silu uses all threads only when its operand is contiguous: worth a copy.
    let gate = y.narrow(D::Minus1, 0, f)?.contiguous()?.silu()?; // (B, T, F)
    gate * y.narrow(D::Minus1, f, f)?
}

/// x/√(mean(x²) + eps) ⊙ w: x (…, C), w (C) → (…, C)
pub fn rms_norm(x: &Tensor, w: &Tensor, eps: f64) -> Result<Tensor> {
    let _span = span!("rms_norm");
    candle_nn::ops::rms_norm(x, w, eps as f32)
}

/// (x − mean(x))/√(var(x) + eps) ⊙ w + b: x (…, C), w and b (C) → (…, C); var divides by C.
pub fn layer_norm(x: &Tensor, w: &Tensor, b: &Tensor, eps: f64) -> Result<Tensor> {
    let _span = span!("layer_norm");
    candle_nn::ops::layer_norm(x, w, b, eps as f32)
}

/// Rotates q and k by the angles of their positions, and writes k and v at `position..` of the cache:
/// q (B, T, H, D), k and v (B, T, Hkv, D), cos and sin (T, D/2) → the rotated q (B, T, H, D), a view
pub fn rope_append(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    cos: &Tensor,
    sin: &Tensor,
    cache: &mut Cache,
    position: usize,
) -> Result<Tensor> {
    let _span = span!("rope_append");
    let (q, k, v) = (heads_first(q)?, heads_first(k)?, heads_first(v)?); // (B, H, T, D)
    let (q, k) = (rotate(&q, cos, sin)?, rotate(&k, cos, sin)?);
    cache.keys.slice_set(&k, 2, position)?;
    cache.values.slice_set(&v, 2, position)?;
    q.transpose(1, 2)
}

/// softmax(q·kᵀ/√D, over the positions up to its own)·v: q (B, T, H, D) stands at `position` and after it → (B, T, H·D)
pub fn causal_attention(q: &Tensor, cache: &Cache, position: usize) -> Result<Tensor> {
    let _span = span!("causal_attention");
    let (t, s) = (q.dim(1)?, position + q.dim(1)?);
    let (k, v) = (cache.keys.narrow(2, 0, s)?, cache.values.narrow(2, 0, s)?); // (B, Hkv, S, D), views
    let mask = cache.masks.get(t, s, q)?;
    attend(&q.transpose(1, 2)?, &k, &v, mask.as_ref())
}

/// softmax(q·kᵀ/√D)·v: q, k, v (B, T, H, D) → (B, T, H·D)
pub fn attention(q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
    let _span = span!("attention");
    let q = q.transpose(1, 2)?; // (B, H, T, D), a view
    attend(&q, &heads_first(k)?, &heads_first(v)?, None)
}

/// softmax(q·kᵀ/√D + mask)·v, with heads first and no key repeated: q (B, H, T, D), k and v (B, Hkv, S, D), mask (T, S) → (B, T, H·D)
///
/// The G = H/Hkv query heads that share a key head are stacked along T, so one matmul serves them
/// all and no key is copied. The scale is applied to q, which is smaller than the scores; the scaled
/// q is contiguous whatever q was.
fn attend(q: &Tensor, k: &Tensor, v: &Tensor, mask: Option<&Tensor>) -> Result<Tensor> {
    let (b, h, t, d) = q.dims4()?;
    let (_, h_kv, s, _) = k.dims4()?;
    let q = (q * (1. / (d as f64).sqrt()))?.reshape((b, h_kv, h / h_kv * t, d))?;
    let scores = q.matmul(&k.t()?)?; // (B, Hkv, G·T, S)
    let scores = match mask {
        Some(mask) => scores.reshape((b, h, t, s))?.broadcast_add(mask)?,
        None => scores,
    };
    let weights = softmax_last_dim_f32(&scores)?.reshape((b, h_kv, h / h_kv * t, s))?;
    let mixed = weights.matmul(v)?.reshape((b, h, t, d))?;
    mixed.transpose(1, 2)?.reshape((b, t, h * d))
}

/// Σⱼ αᵢⱼ(vⱼ + Wₑeᵢⱼ) + skipᵢ + residualᵢ with αᵢⱼ = softmaxⱼ(qᵢ·(kⱼ + Wₑeᵢⱼ)/√D), over the incoming edges j → i:
/// q, k, v (N, H, D), skip and residual (N, H·D), edges (E, Fe), w (H·D, Fe) → (N, H·D)
#[allow(clippy::too_many_arguments)]
pub fn edge_attention(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    skip: &Tensor,
    residual: &Tensor,
    edges: &Tensor,
    w: &Weight,
    graph: &Csr,
) -> Result<Tensor> {
    let _span = span!("edge_attention");
    let added = (skip + residual)?; // (N, H·D)
    if graph.num_edges == 0 {
        return Ok(added);
    }
    let (n, h, d) = q.dims3()?;
    let (src, dst) = (&graph.col_idx, &graph.row_idx);
    let e = edges
        .matmul(&w.tensor().t()?)?
        .reshape((graph.num_edges, h, d))?; // (E, H, D)
    let q = q.contiguous()?.index_select(dst, 0)?;
    let k = (k.contiguous()?.index_select(src, 0)? + &e)?;
    let v = (v.contiguous()?.index_select(src, 0)? + e)?;

    let scores = ((q * k)?.sum(2)? / (d as f64).sqrt())?.to_dtype(DType::F32)?; // (E, H)
    let exp = (&scores - segment_max(&scores, graph)?)?.exp()?;
    let sum = Tensor::zeros((n, h), DType::F32, exp.device())?.index_add(dst, &exp, 0)?;
    let alpha = (exp / sum.index_select(dst, 0)?)?.to_dtype(v.dtype())?; // (E, H)

    // The messages are added to skip and residual themselves: no zeros first, no sum after.
    let messages = v.broadcast_mul(&alpha.unsqueeze(2)?)?; // (E, H, D)
    let mixed = added.reshape((n, h, d))?.index_add(dst, &messages, 0)?;
    mixed.reshape((n, h * d))
}

/// softmax(scale·x) over the last dimension: x (…, V) → (…, V)
pub fn softmax(x: &Tensor, scale: f64) -> Result<Tensor> {
    let _span = span!("softmax");
    softmax_last_dim_f32(&(x * scale)?)
}

/// eˣ / Σeˣ over the last dimension, in one operation.
///
/// On a CPU candle adds up in the type of its operand, and in bf16 256 + 1 is 256. There, the sums are made in f32.
fn softmax_last_dim_f32(x: &Tensor) -> Result<Tensor> {
    if x.device().is_cpu() {
        softmax_last_dim(&x.to_dtype(DType::F32)?)?.to_dtype(x.dtype())
    } else {
        softmax_last_dim(x)
    }
}

/// [`rms_norm`] or [`layer_norm`], whichever the model has.
fn norm(x: &Tensor, norm: &Norm) -> Result<Tensor> {
    match norm {
        Norm::Rms { weight, eps } => rms_norm(x, weight, *eps),
        Norm::Layer { weight, bias, eps } => layer_norm(x, weight, bias, *eps),
    }
}

/// (B, T, H, D) → (B, H, T, D); copies nothing for a single token.
fn heads_first(x: &Tensor) -> Result<Tensor> {
    x.transpose(1, 2)?.contiguous()
}
