//! Attention with heads first, without repeating keys and values.

use std::collections::HashMap;
use std::sync::Mutex;

use candle_core::{DType, Device, DeviceLocation, Result, Tensor};
use candle_nn::ops::softmax_last_dim;

/// softmax(q·kᵀ/√D + mask)·v: q (B, H, T, D), k and v (B, Hkv, S, D), mask (T, S) → (B, T, H·D)
///
/// The G = H/Hkv query heads that share a key head are stacked along T, so one product serves them
/// all and no key is copied. The scale is applied to q, which is smaller than the scores; the scaled
/// q is contiguous whatever q was.
pub fn attend(q: &Tensor, k: &Tensor, v: &Tensor, mask: Option<&Tensor>) -> Result<Tensor> {
    let (b, h, t, d) = q.dims4()?;
    let (_, h_kv, s, _) = k.dims4()?;
    let q = (q * (1. / (d as f64).sqrt()))?.reshape((b, h_kv, h / h_kv * t, d))?;
    let scores = q.matmul(&k.t()?)?; // (B, Hkv, G·T, S)
    let scores = match mask {
        Some(mask) => scores.reshape((b, h, t, s))?.broadcast_add(mask)?,
        None => scores,
    };
    let weights = softmax_last_dim(&scores)?.reshape((b, h_kv, h / h_kv * t, s))?;
    let mixed = weights.matmul(v)?.reshape((b, h, t, d))?;
    mixed.transpose(1, 2)?.reshape((b, t, h * d))
}

/// T, S, and of which tensors.
type Key = (usize, usize, DType, DeviceLocation);

/// The causal masks of the prefills so far. Every layer of a forward pass needs the same one; and a recorded pass reads its
/// mask where it was, so none is ever freed: T·S numbers for each length of a prompt.
#[derive(Default)]
pub struct MaskMemo(Mutex<HashMap<Key, Tensor>>);

impl MaskMemo {
    /// 0 where position j is at or before position i, −∞ after it: (T, S), the last T of S
    /// positions. `None` for a single token, which sees everything.
    pub fn get(&self, t: usize, s: usize, like: &Tensor) -> Result<Option<Tensor>> {
        if t == 1 {
            return Ok(None);
        }
        let key = (t, s, like.dtype(), like.device().location());
        // A poisoned lock holds whole masks: they are fine.
        let mut memo = self.0.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(mask) = memo.get(&key) {
            return Ok(Some(mask.clone()));
        }
        let mask = causal_mask(t, s, like.device())?.to_dtype(like.dtype())?;
        memo.insert(key, mask.clone());
        Ok(Some(mask))
    }
}

fn causal_mask(t: usize, s: usize, device: &Device) -> Result<Tensor> {
    let row = |i: usize| (0..s).map(move |j| if j > s - t + i { f32::NEG_INFINITY } else { 0. });
    let mask: Vec<f32> = (0..t).flat_map(row).collect();
    Tensor::from_vec(mask, (t, s), device)
}
