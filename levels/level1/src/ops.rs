//! Every operation, spelled out: first the methods that the models call, below them the formulas.
//!
//! A launch is one kernel of candle's on a GPU; a view launches none. Counts are for f32, RMSNorm and no biases: LayerNorm
//! has 11 launches in place of 7, each bias adds one, and bf16 adds casts. cuBLAS adds one to a matmul that it splits along K.
//!
//! The functions return the errors of candle's operations, for operands whose shapes or dtypes do not fit.

use candle_core::{D, DType, Result, Tensor, bail};
use models::{
    CacheShape, Csr, Heads, KvCache, Linear, Norm, Ops, Rope, Sampling, Segments, Weight, WholePass,
};

use crate::span;

/// Naive candle ops.
#[derive(Debug, Clone, Copy, Default)]
pub struct Level1;

/// Keys and values of one layer so far, both (B, S, Hkv, D); none before the first token.
#[derive(Default)]
pub struct Cache(Option<(Tensor, Tensor)>);

impl WholePass for Level1 {}

impl Ops for Level1 {
    fn level(&self) -> u8 {
        1
    }

    /// No memory is set aside: a longer tensor takes the place of the old one at each step.
    fn new_caches(&self, shape: &CacheShape) -> Result<Vec<KvCache>> {
        shape.caches(|| Ok(Cache::default()))
    }

    /// 1 launch. `index_select` copies a row for each token.
    fn embedding(&self, ids: &Tensor, w: &Weight) -> Result<Tensor> {
        embedding(ids, w)
    }

    /// 5 launches: pixels are put in the order of patches and multiplied, then the class token is put first and positions added.
    fn patch_embed(
        &self,
        pixels: &Tensor,
        patch: &Linear,
        class: &Tensor,
        positions: &Tensor,
    ) -> Result<Tensor> {
        patch_embed(pixels, patch, class, positions)
    }

    /// 1 launch. A matmul by cuBLAS; a bias is one addition after it.
    fn linear(&self, x: &Tensor, w: &Linear) -> Result<Tensor> {
        linear(x, w)
    }

    /// 8 launches: the norm in 7 steps, then the matmul.
    fn norm_linear(&self, x: &Tensor, n: &Norm, w: &Linear) -> Result<Tensor> {
        linear(&norm(x, n)?, w)
    }

    /// 10 launches: the norm, then three matmuls on its result, as the paper writes them.
    fn norm_qkv(
        &self,
        x: &Tensor,
        n: &Norm,
        w: &Linear,
        heads: Heads,
    ) -> Result<(Tensor, Tensor, Tensor)> {
        let (x, d) = (norm(x, n)?, heads.head_dim);
        let (batch, t, _) = x.dims3()?;
        let project = |first_head: usize, num_heads: usize| {
            let w = rows(w, first_head * d, num_heads * d)?;
            linear(&x, &w)?.reshape((batch, t, num_heads, d))
        };
        let (h, h_kv) = (heads.num_heads, heads.num_kv_heads);
        Ok((project(0, h)?, project(h, h_kv)?, project(h + h_kv, h_kv)?))
    }

    /// 11 launches: the norm, then four matmuls on its result.
    fn norm_qkv_skip(
        &self,
        x: &Tensor,
        n: &Norm,
        w: &Linear,
        heads: Heads,
    ) -> Result<(Tensor, Tensor, Tensor, Tensor)> {
        let (x, h, d) = (norm(x, n)?, heads.num_heads, heads.head_dim);
        let project = |part: usize| linear(&x, &rows(w, part * h * d, h * d)?);
        let heads = |y: Tensor| y.reshape(((), h, d));
        Ok((
            heads(project(0)?)?,
            heads(project(1)?)?,
            heads(project(2)?)?,
            project(3)?,
        ))
    }

    /// 34 launches for one token, 32 for a prompt, 2 more for shared heads: the cache is copied, and all scores are in memory.
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

    /// 12 launches: two matmuls and softmax in 5 steps, with every score in memory.
    fn attention(&self, q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
        attention(q, k, v)
    }

    /// 24 launches, and 4⌈log₂ d⌉ for the maxima of up to d edges per node: q, k and v are copied to every edge.
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

    /// 14 launches: the norm, two matmuls, and the activation in 5 steps.
    fn norm_swiglu(&self, x: &Tensor, n: &Norm, gate_up: &Linear) -> Result<Tensor> {
        linear_swiglu(&norm(x, n)?, gate_up)
    }

    /// 13 launches: the norm, the matmul, and the activation in 5 steps.
    fn norm_gelu(&self, x: &Tensor, n: &Norm, up: &Linear) -> Result<Tensor> {
        linear_gelu(&norm(x, n)?, up)
    }

    /// 2 launches: `index_add` adds every node to its graph's row, then each row is divided by its number of nodes.
    fn segment_mean(&self, x: &Tensor, segments: &Segments) -> Result<Tensor> {
        segment_mean(x, segments)
    }

    /// 1 launch for the greedy token. Else softmax in 6, and the host reads all probabilities.
    fn next_token(&self, logits: &Tensor, sampling: &mut Sampling) -> Result<u32> {
        if sampling.is_greedy() {
            return argmax(logits);
        }
        let probabilities = softmax(&logits.to_dtype(DType::F32)?, 1. / sampling.temperature)?; // (V)
        sampling.draw(&probabilities.to_vec1()?)
    }
}

/// Row `ids[b][t]` of `w`: ids (B, T) u32, w (V, C) → (B, T, C)
pub fn embedding(ids: &Tensor, w: &Weight) -> Result<Tensor> {
    let _span = span!("embedding");
    let (b, t) = ids.dims2()?;
    let rows = w.tensor().index_select(&ids.flatten_all()?, 0)?; // (B·T, C)
    rows.reshape((b, t, ()))
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
        .reshape((batch, rows * columns, channels * p * p))?;
    let w = patch.weight.tensor().reshape((c, ()))?;
    let x = product(&patches, &w, patch.bias.as_ref())?; // (B, patches, C)
    let class = class.expand((batch, 1, c))?;
    Tensor::cat(&[&class, &x], 1)?.broadcast_add(positions)
}

/// x·Wᵀ + b: x (…, K), w (N, K) → (…, N)
pub fn linear(x: &Tensor, w: &Linear) -> Result<Tensor> {
    let _span = span!("linear");
    product(x, w.weight.tensor(), w.bias.as_ref())
}

/// residual + x·Wᵀ + b: x (…, K), w (C, K), residual (…, C) → (…, C)
pub fn linear_residual(x: &Tensor, w: &Linear, residual: &Tensor) -> Result<Tensor> {
    let _span = span!("linear_residual");
    product(x, w.weight.tensor(), w.bias.as_ref())? + residual
}

/// gelu(x·Wᵀ + b): x (…, K), w (N, K) → (…, N)
pub fn linear_gelu(x: &Tensor, w: &Linear) -> Result<Tensor> {
    let _span = span!("linear_gelu");
    gelu(&product(x, w.weight.tensor(), w.bias.as_ref())?)
}

/// silu(x·Wgᵀ) ⊙ (x·Wuᵀ): x (…, C), w (2F, C), the rows of Wg above those of Wu → (…, F)
pub fn linear_swiglu(x: &Tensor, w: &Linear) -> Result<Tensor> {
    let _span = span!("linear_swiglu");
    let f = w.weight.tensor().dim(0)? / 2;
    let (gate, up) = (rows(w, 0, f)?, rows(w, f, f)?);
    let gate = product(x, gate.weight.tensor(), gate.bias.as_ref())?; // (B, T, F)
    let up = product(x, up.weight.tensor(), up.bias.as_ref())?;
    silu(&gate)? * up
}

/// x/√(mean(x²) + eps) ⊙ w: x (…, C), w (C) → (…, C)
pub fn rms_norm(x: &Tensor, w: &Tensor, eps: f64) -> Result<Tensor> {
    let _span = span!("rms_norm");
    let dtype = x.dtype();
    let x = x.to_dtype(DType::F32)?;
    let mean_square = x.sqr()?.mean_keepdim(D::Minus1)?;
    let rms = (mean_square + eps)?.sqrt()?;
    x.broadcast_div(&rms)?.to_dtype(dtype)?.broadcast_mul(w)
}

/// (x − mean(x))/√(var(x) + eps) ⊙ w + b: x (…, C), w and b (C) → (…, C); var divides by C.
pub fn layer_norm(x: &Tensor, w: &Tensor, b: &Tensor, eps: f64) -> Result<Tensor> {
    let _span = span!("layer_norm");
    let dtype = x.dtype();
    let x = x.to_dtype(DType::F32)?;
    let mean = x.mean_keepdim(D::Minus1)?;
    let x = x.broadcast_sub(&mean)?;
    let variance = x.sqr()?.mean_keepdim(D::Minus1)?;
    let y = x.broadcast_div(&(variance + eps)?.sqrt()?)?;
    y.to_dtype(dtype)?.broadcast_mul(w)?.broadcast_add(b)
}

/// Rotates q and k by the angles of their positions, and appends k and v to the first `position` of the cache:
/// q (B, T, H, D), k and v (B, T, Hkv, D), cos and sin (T, D/2) → the rotated q (B, T, H, D)
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
    let (q, k) = (rotate(q, cos, sin)?, rotate(k, cos, sin)?);
    let (k, v) = match &cache.0 {
        Some((old_k, old_v)) if position > 0 => (
            Tensor::cat(&[&old_k.narrow(1, 0, position)?, &k], 1)?,
            Tensor::cat(&[&old_v.narrow(1, 0, position)?, v], 1)?,
        ),
        _ => (k, v.clone()),
    };
    cache.0 = Some((k, v)); // (B, S, Hkv, D)
    Ok(q)
}

/// softmax(q·kᵀ/√D, over the positions up to its own)·v: q (B, T, H, D) stands at `position` and after it, keys and
/// values of the cache (B, S, Hkv, D) → (B, T, H·D)
pub fn causal_attention(q: &Tensor, cache: &Cache, position: usize) -> Result<Tensor> {
    let _span = span!("causal_attention");
    let Some((k, v)) = &cache.0 else {
        bail!("causal_attention: expected keys that `rope_append` has written, found none")
    };
    let (_, t, num_heads, _) = q.dims4()?;
    let mask = causal_mask(t, position + t, q)?;
    let (k, v) = (repeat_heads(k, num_heads)?, repeat_heads(v, num_heads)?);
    attend(q, &k, &v, Some(&mask))
}

/// softmax(q·kᵀ/√D)·v: q, k, v (B, T, H, D) → (B, T, H·D)
pub fn attention(q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
    let _span = span!("attention");
    attend(q, k, v, None)
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

    let messages = v.broadcast_mul(&alpha.unsqueeze(2)?)?; // (E, H, D)
    let mixed = Tensor::zeros((n, h, d), v.dtype(), v.device())?.index_add(dst, &messages, 0)?;
    mixed.reshape((n, h * d))? + added
}

/// Mean of x over the nodes of each graph: x (N, C) → (G, C); 0 for a graph without nodes.
pub fn segment_mean(x: &Tensor, segments: &Segments) -> Result<Tensor> {
    let _span = span!("segment_mean");
    let dtype = x.dtype();
    let x = x.to_dtype(DType::F32)?;
    let zeros = Tensor::zeros((segments.num_segments, x.dim(1)?), DType::F32, x.device())?;
    let total = zeros.index_add(&segments.index, &x, 0)?;
    total
        .broadcast_mul(&segments.inverse_count)?
        .to_dtype(dtype)
}

/// softmax(scale·x) over the last dimension: x (…, V) → (…, V)
pub fn softmax(x: &Tensor, scale: f64) -> Result<Tensor> {
    let _span = span!("softmax");
    softmax_rows(&(x * scale)?)
}

/// The index of the largest of x (V); of equals the lowest. A NaN is passed over.
pub fn argmax(x: &Tensor) -> Result<u32> {
    let _span = span!("argmax");
    x.to_dtype(DType::F32)?.argmax(0)?.to_scalar()
}

/// [`rms_norm`] or [`layer_norm`], whichever the model has.
fn norm(x: &Tensor, norm: &Norm) -> Result<Tensor> {
    match norm {
        Norm::Rms { weight, eps } => rms_norm(x, weight, *eps),
        Norm::Layer { weight, bias, eps } => layer_norm(x, weight, bias, *eps),
    }
}

/// x·wᵀ + b: x (…, K), w (N, K), b (N) → (…, N)
fn product(x: &Tensor, w: &Tensor, b: Option<&Tensor>) -> Result<Tensor> {
    let (leading, k) = x.dims().split_at(x.rank() - 1);
    let y = x.reshape(((), k[0]))?.matmul(&w.t()?)?; // (rows, N)
    let y = match b {
        Some(b) => y.broadcast_add(b)?,
        None => y,
    };
    let shape: Vec<usize> = [leading, &[w.dim(0)?]].concat();
    y.reshape(shape)
}

/// The layer that computes `count` of the outputs of `w`, from output `first` on.
fn rows(w: &Linear, first: usize, count: usize) -> Result<Linear> {
    let narrow = |t: &Tensor| t.narrow(0, first, count);
    let bias = w.bias.as_ref().map(narrow).transpose()?;
    Ok(Linear::new(narrow(w.weight.tensor())?, bias))
}

/// eˣ / Σeˣ over the last dimension, shifted by the maximum so that eˣ cannot overflow.
///
/// In f32 and rounded back, as all sums over many terms at this level.
fn softmax_rows(x: &Tensor) -> Result<Tensor> {
    let dtype = x.dtype();
    let x = x.to_dtype(DType::F32)?;
    let max = x.max_keepdim(D::Minus1)?;
    let exp = x.broadcast_sub(&max)?.exp()?;
    let sum = exp.sum_keepdim(D::Minus1)?;
    exp.broadcast_div(&sum)?.to_dtype(dtype)
}

/// x / (1 + e⁻ˣ)
fn silu(x: &Tensor) -> Result<Tensor> {
    x / (x.neg()?.exp()? + 1.)?
}

/// x · ½(1 + erf(x/√2))
fn gelu(x: &Tensor) -> Result<Tensor> {
    let erf = (x / f64::sqrt(2.))?.erf()?;
    x * ((erf + 1.)? * 0.5)?
}

/// Rotates channel i together with channel i + D/2: x (B, T, H, D), cos and sin (T, D/2).
///
/// (x₁, x₂) → (x₁·cos − x₂·sin, x₂·cos + x₁·sin), "RoFormer", Su et al. 2021.
fn rotate(x: &Tensor, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
    let half = x.dim(D::Minus1)? / 2;
    let x1 = x.narrow(D::Minus1, 0, half)?; // (B, T, H, D/2)
    let x2 = x.narrow(D::Minus1, half, half)?;
    let (cos, sin) = (cos.unsqueeze(1)?, sin.unsqueeze(1)?); // (T, 1, D/2)
    let y1 = (x1.broadcast_mul(&cos)? - x2.broadcast_mul(&sin)?)?;
    let y2 = (x2.broadcast_mul(&cos)? + x1.broadcast_mul(&sin)?)?;
    Tensor::cat(&[y1, y2], D::Minus1)
}

/// Repeats each key or value head for the query heads that read it: (B, S, Hkv, D) → (B, S, H, D).
fn repeat_heads(x: &Tensor, num_heads: usize) -> Result<Tensor> {
    let (b, s, num_kv_heads, d) = x.dims4()?;
    let times = num_heads / num_kv_heads;
    x.unsqueeze(3)? // (B, S, Hkv, 1, D)
        .expand((b, s, num_kv_heads, times, d))?
        .reshape((b, s, num_heads, d))
}

/// 0 where position j is at or before position i, −∞ after it: (T, S), the last T of S positions.
fn causal_mask(t: usize, s: usize, like: &Tensor) -> Result<Tensor> {
    let device = like.device();
    let i = Tensor::arange((s - t) as u32, s as u32, device)?.unsqueeze(1)?; // (T, 1)
    let j = Tensor::arange(0, s as u32, device)?.unsqueeze(0)?; // (1, S)
    let future = j.broadcast_gt(&i)?; // (T, S)
    let zero = Tensor::zeros((t, s), like.dtype(), device)?;
    let minus_infinity = Tensor::full(f32::NEG_INFINITY, (t, s), device)?;
    future.where_cond(&minus_infinity.to_dtype(like.dtype())?, &zero)
}

/// softmax(q·kᵀ/√D + mask)·v: q (B, T, H, D), k and v (B, S, H, D), mask (T, S) → (B, T, H·D)
fn attend(q: &Tensor, k: &Tensor, v: &Tensor, mask: Option<&Tensor>) -> Result<Tensor> {
    let (b, t, h, d) = q.dims4()?;
    let heads_first = |x: &Tensor| x.transpose(1, 2)?.contiguous();
    let (q, k, v) = (heads_first(q)?, heads_first(k)?, heads_first(v)?); // (B, H, T or S, D)
    let scores = (q.matmul(&k.t()?)? / (d as f64).sqrt())?; // (B, H, T, S)
    let scores = match mask {
        Some(mask) => scores.broadcast_add(mask)?,
        None => scores,
    };
    let weights = softmax_rows(&scores)?;
    let mixed = weights.matmul(&v)?; // (B, H, T, D)
    mixed.transpose(1, 2)?.reshape((b, t, h * d))
}

/// The largest of each destination's scores, for every edge: scores (E, H) → (E, H).
///
/// candle has no scatter-max, so each edge takes the maximum with the edge 1, then 2, then 4 …
/// further on in its row, never past the row's end; after ⌈log₂ degree⌉ steps the first edge of a
/// row has seen all of it. No gradient passes: a softmax does not depend on its shift.
pub fn segment_max(scores: &Tensor, graph: &Csr) -> Result<Tensor> {
    let device = scores.device();
    let first = graph.row_ptr.index_select(&graph.row_idx, 0)?; // (E)
    let end = graph.row_ptr.index_select(&(&graph.row_idx + 1.)?, 0)?;
    let last = (&end - end.ones_like()?)?;
    let edge = Tensor::arange(0, graph.num_edges as u32, device)?;
    let mut max = scores.detach();
    let mut step = 1;
    while step < graph.max_degree {
        let further = (&edge + step as f64)?.minimum(&last)?;
        max = max.maximum(&max.index_select(&further, 0)?)?;
        step *= 2;
    }
    max.index_select(&first, 0)
}
