// Causal attention of one head: token t sees the tokens 0 to t.
//
//   q, k, v (T, D)  →  softmax(q · kᵀ / √D + mask) · v

use exercise::candle_core::D;
use exercise::candle_core::{Device, Result, Tensor};
use exercise::candle_nn::ops::softmax;

/// (T, T): 0 where token t (the row) may see token s (the column), −∞ where it may not.
pub fn causal_mask(t: usize) -> Result<Tensor> {
    let entry = |i: usize| if i % t > i / t { f32::NEG_INFINITY } else { 0. };
    let entries: Vec<f32> = (0..t * t).map(entry).collect();
    Tensor::from_vec(entries, (t, t), &Device::Cpu)
}

pub fn causal_attention(q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
    // REGION: attention
    let (t, d) = q.dims2()?;
    let scores = (q.matmul(&k.t()?)? / (d as f64).sqrt())?; // (T, T)
    let mask = causal_mask(t)?;
    let scores = scores.broadcast_add(&mask)?;
    let weights = softmax(&scores, D::Minus1)?;
    weights.matmul(v)
    // END
}
