//! Level 3 on a CPU.

use candle_core::{Device, Result, Tensor};

use crate::attention::Cache;
use crate::cpu::Slice;
use crate::element::Element;
use crate::output;

/// Every query sees every key: q (B, T, H, D), k and v (B, T, Hkv, D), views or not.
pub fn attention<T: Element>(q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
    let (batch, tokens, heads, d) = q.dims4()?;
    let group = heads / k.dim(2)?;
    let (queries, keys, values) = (
        Slice::<T>::strided(q)?,
        Slice::<T>::strided(k)?,
        Slice::<T>::strided(v)?,
    );
    let start =
        |x: &Tensor, b: usize, t: usize, h: usize| b * x.stride()[0] + t * x.stride()[1] + h * d;
    let mut y = output::vec::<T>(batch * tokens * heads * d);
    for (i, y) in y.chunks_exact_mut(d).enumerate() {
        let (b, t, h) = (i / heads / tokens, i / heads % tokens, i % heads);
        let row = |x: &Tensor, all: &[T], t, h| all[start(x, b, t, h)..][..d].to_vec();
        let q = row(q, &queries, t, h);
        let kv = (0..tokens).map(|t| (row(k, &keys, t, h / group), row(v, &values, t, h / group)));
        attend(&q, kv, y);
    }
    Tensor::from_vec(y, (batch, tokens, heads * d), &Device::Cpu)
}

/// Query t sees the keys `0..=position + t` of the cache: q (B, T, H, D).
pub fn causal_attention<T: Element>(q: &Tensor, cache: &Cache, position: usize) -> Result<Tensor> {
    let (batch, tokens, heads, d) = q.dims4()?;
    let group = heads / cache.kv_heads;
    let queries = Slice::<T>::new(q)?;
    let slots = cache.slots::<T>()?;
    let mut y = output::vec::<T>(queries.len());
    for (i, (q, y)) in queries
        .chunks_exact(d)
        .zip(y.chunks_exact_mut(d))
        .enumerate()
    {
        let (b, t, h) = (i / heads / tokens, i / heads % tokens, i % heads);
        let start = (b * cache.kv_heads + h / group) * cache.capacity * d;
        let row = |all: &[T], s: usize| all[start + s * d..][..d].to_vec();
        let kv = (0..=position + t).map(|s| (row(&slots.keys, s), row(&slots.values, s)));
        attend(q, kv, y);
    }
    Tensor::from_vec(y, (batch, tokens, heads * d), &Device::Cpu)
}

/// One query.
fn attend<T: Element>(q: &[T], kv: impl Iterator<Item = (Vec<T>, Vec<T>)>, y: &mut [T]) {
    let kv: Vec<(Vec<T>, Vec<T>)> = kv.collect();
    let scale = 1. / (q.len() as f32).sqrt();
    let dot = |k: &[T]| {
        q.iter()
            .zip(k)
            .map(|(q, k)| q.widen() * k.widen())
            .sum::<f32>()
    };
    let mut scores: Vec<f32> = kv.iter().map(|(k, _)| scale * dot(k)).collect();
    let max = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    scores.iter_mut().for_each(|s| *s = (*s - max).exp());
    let sum: f32 = scores.iter().sum();
    for (c, y) in y.iter_mut().enumerate() {
        let mean: f32 = scores
            .iter()
            .zip(&kv)
            .map(|(p, (_, v))| p * v[c].widen())
            .sum();
        *y = T::narrow(mean / sum);
    }
}
