//! Rows with one element that is by far the largest.
//!
//! Softmax of a row with one score that stands so far above the others that an exponential overflows unless just that
//! score is taken off: at the first index, in the middle, at the last, and at the ends of what a warp or a tile has.

use candle_core::{DType, Device, Result, Tensor};
use kernels::{attention, next_token, rope, softmax};

/// Next to zeros: e^(0.75·300) is beyond f32, and so is e^(80·10/√8).
const SCORE: f32 = 300.;
const KEY: f32 = 10.;

/// All of them.
pub fn all(dtype: DType) -> Result<()> {
    for c in [40, 257, 520, 1100] {
        for index in [0, 31, c / 2, c - 2, c - 1] {
            let x = peak(&[1, c], 1, index, SCORE, dtype)?;
            softmax::level3::softmax(&x, 0.75)?;
            softmax::level4::softmax(&x, 0.75)?;
        }
    }
    for keys in [70, 130] {
        for index in [0, 15, 63, 64, 69, 127, 128, 129] {
            if index < keys {
                attend(keys, index, dtype)?;
                decode(keys, index, dtype)?;
            }
        }
    }
    tokens(dtype)
}

/// Zeros, but for the `width` elements from `index * width` on.
fn peak(shape: &[usize], width: usize, index: usize, value: f32, dtype: DType) -> Result<Tensor> {
    let mut x = vec![0.; shape.iter().product()];
    x[index * width..][..width].fill(value);
    Tensor::from_vec(x, shape, &Device::Cpu)?.to_dtype(dtype)
}

/// Channels of the one head.
const D: usize = 8;

/// `tokens` queries that are all the same.
fn queries(tokens: usize, dtype: DType) -> Result<Tensor> {
    let ones = Tensor::ones((1, tokens, 1, D), DType::F32, &Device::Cpu)?;
    (ones * f64::from(KEY))?.to_dtype(dtype)
}

/// Every query meets the one key that is not zero.
fn attend(keys: usize, index: usize, dtype: DType) -> Result<()> {
    let q = queries(keys, dtype)?;
    let k = peak(&[1, keys, 1, D], D, index, KEY, dtype)?;
    let v = peak(&[1, keys, 1, D], D, index, 1., dtype)?;
    attention::level3::attention(&q, &k, &v)?;
    attention::level4::attention(&q, &k, &v)?;
    Ok(())
}

/// So does the query of one more token; a rotation by nothing fills the cache.
fn decode(keys: usize, index: usize, dtype: DType) -> Result<()> {
    let mut cache = attention::Cache::new(1, keys + 1, 1, D, dtype, &Device::Cpu)?;
    let mut last = None;
    for (tokens, position, key) in [(keys, 0, KEY), (1, keys, 0.)] {
        let at = index.min(tokens - 1);
        let k = peak(&[1, tokens, 1, D], D, at, key, dtype)?;
        let v = peak(&[1, tokens, 1, D], D, at, 1., dtype)?;
        let cos = Tensor::ones((tokens, D / 2), dtype, &Device::Cpu)?;
        let (q, sin) = (queries(tokens, dtype)?, cos.zeros_like()?);
        let append = rope::level4::rope_append;
        last = Some(append(&q, &k, &v, &cos, &sin, &mut cache, position)?);
    }
    if let Some(q) = last {
        attention::level3::causal_attention(&q, &cache, keys)?;
        attention::level4::causal_attention(&q, &cache, keys)?;
    }
    Ok(())
}

/// The largest logit at each index of a load of several, and in its tail; and so many ties that the last of the
/// k largest is found by its index alone.
fn tokens(dtype: DType) -> Result<()> {
    const VOCAB: usize = 2043;
    for index in (0..8).chain([1000, 1030, 1541, 2039, 2040, 2041, 2042]) {
        let logits = peak(&[VOCAB], 1, index, 4., dtype)?;
        next_token::level4::argmax(&logits)?;
        next_token::level4::top_k(&logits, 5, 0.7)?;
    }
    let mut logits = vec![1.; 1400];
    logits[..100].fill(2.);
    let logits = Tensor::new(logits, &Device::Cpu)?.to_dtype(dtype)?;
    next_token::level4::top_k(&logits, 1000, 0.7)?;
    Ok(())
}
