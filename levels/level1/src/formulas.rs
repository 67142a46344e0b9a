//! The formulas that several ops share.

use candle_core::{D, DType, Result, Tensor};
use models::Csr;

/// eˣ / Σeˣ over the last dimension, shifted by the maximum so that eˣ cannot overflow.
///
/// In f32 and rounded back, as all sums over many terms at this level.
pub fn softmax(x: &Tensor) -> Result<Tensor> {
    let dtype = x.dtype();
    let x = x.to_dtype(DType::F32)?;
    let max = x.max_keepdim(D::Minus1)?;
    let exp = x.broadcast_sub(&max)?.exp()?;
    let sum = exp.sum_keepdim(D::Minus1)?;
    exp.broadcast_div(&sum)?.to_dtype(dtype)
}

/// x / (1 + e⁻ˣ)
pub fn silu(x: &Tensor) -> Result<Tensor> {
    x / (x.neg()?.exp()? + 1.)?
}

/// x · ½(1 + erf(x/√2))
pub fn gelu(x: &Tensor) -> Result<Tensor> {
    let erf = (x / f64::sqrt(2.))?.erf()?;
    x * ((erf + 1.)? * 0.5)?
}

/// Rotates channel i together with channel i + D/2: x (B, T, H, D), cos and sin (T, D/2).
///
/// (x₁, x₂) → (x₁·cos − x₂·sin, x₂·cos + x₁·sin)
pub fn rotate(x: &Tensor, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
    let half = x.dim(D::Minus1)? / 2;
    let x1 = x.narrow(D::Minus1, 0, half)?; // (B, T, H, D/2)
    let x2 = x.narrow(D::Minus1, half, half)?;
    let (cos, sin) = (cos.unsqueeze(1)?, sin.unsqueeze(1)?); // (T, 1, D/2)
    let y1 = (x1.broadcast_mul(&cos)? - x2.broadcast_mul(&sin)?)?;
    let y2 = (x2.broadcast_mul(&cos)? + x1.broadcast_mul(&sin)?)?;
    Tensor::cat(&[y1, y2], D::Minus1)
}

/// Repeats each key or value head for the query heads that read it: (B, S, Hkv, D) → (B, S, H, D).
pub fn repeat_heads(x: &Tensor, num_heads: usize) -> Result<Tensor> {
    let (b, s, num_kv_heads, d) = x.dims4()?;
    let times = num_heads / num_kv_heads;
    x.unsqueeze(3)? // (B, S, Hkv, 1, D)
        .expand((b, s, num_kv_heads, times, d))?
        .reshape((b, s, num_heads, d))
}

/// 0 where position j is at or before position i, −∞ after it: (T, S), the last T of S positions.
pub fn causal_mask(t: usize, s: usize, like: &Tensor) -> Result<Tensor> {
    let device = like.device();
    let i = Tensor::arange((s - t) as u32, s as u32, device)?.unsqueeze(1)?; // (T, 1)
    let j = Tensor::arange(0, s as u32, device)?.unsqueeze(0)?; // (1, S)
    let future = j.broadcast_gt(&i)?; // (T, S)
    let zero = Tensor::zeros((t, s), like.dtype(), device)?;
    let minus_infinity = Tensor::full(f32::NEG_INFINITY, (t, s), device)?;
    future.where_cond(&minus_infinity.to_dtype(like.dtype())?, &zero)
}

/// softmax(q·kᵀ/√D + mask)·v: q (B, T, H, D), k and v (B, S, H, D), mask (T, S) → (B, T, H·D)
pub fn attend(q: &Tensor, k: &Tensor, v: &Tensor, mask: Option<&Tensor>) -> Result<Tensor> {
    let (b, t, h, d) = q.dims4()?;
    let heads_first = |x: &Tensor| x.transpose(1, 2)?.contiguous();
    let (q, k, v) = (heads_first(q)?, heads_first(k)?, heads_first(v)?); // (B, H, T or S, D)
    let scores = (q.matmul(&k.t()?)? / (d as f64).sqrt())?; // (B, H, T, S)
    let scores = match mask {
        Some(mask) => scores.broadcast_add(mask)?,
        None => scores,
    };
    let weights = softmax(&scores)?;
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
