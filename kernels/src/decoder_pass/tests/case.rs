//! A model before a step, with random weights, and its oracle: the step in f64 by candle on the CPU.

use candle_core::{D, DType, Device, Result, Tensor};
use operands::{DecoderBlock, Linear, Norm};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::super::level5::{self, DecoderStep, F, Size};
use crate::attention;
use crate::attention::level5::{Cache, Position};
use crate::output::poisoned;
use crate::rope::level4::rope_append;
use crate::testing::uniform;

const EPS: f64 = 1e-5;
pub(super) const HEAD: usize = level5::D;

/// Positions that the caches have room for.
pub(super) const CAPACITY: usize = 600;

/// Rows of the embedding.
pub(super) const VOCAB: usize = 37;

/// shift + scale·u, with u uniform in −1..1.
pub(super) fn affine(
    rng: &mut ChaCha8Rng,
    shape: &[usize],
    (shift, scale): (f64, f64),
    dtype: DType,
    device: &Device,
) -> Result<Tensor> {
    let (u, _) = uniform(rng, shape, DType::F32, &Device::Cpu)?;
    u.affine(scale, shift)?.to_dtype(dtype)?.to_device(device)
}

/// The weights of a block.
#[derive(Clone)]
pub(super) struct Layers {
    pub(super) norm_before: Norm,
    pub(super) qkv: Linear,
    pub(super) out: Linear,
    pub(super) norm_after: Norm,
    pub(super) gate_up: Linear,
    pub(super) down: Linear,
}

impl Layers {
    /// Results have the size of the inputs.
    fn random(rng: &mut ChaCha8Rng, size: &Size, device: &Device) -> Result<Self> {
        let (c, q, kv) = (size.hidden, size.heads * HEAD, size.kv_heads * HEAD);
        let mut norm = || {
            let weight = affine(rng, &[c], (1., 0.3), size.dtype, device)?;
            Ok::<_, candle_core::Error>(Norm::Rms { weight, eps: EPS })
        };
        let (norm_before, norm_after) = (norm()?, norm()?);
        let mut linear = |n: usize, k: usize| {
            let scale = (3. / k as f64).sqrt();
            let w = affine(rng, &[n, k], (0., scale), size.dtype, device)?;
            Ok::<_, candle_core::Error>(Linear::new(w, None))
        };
        Ok(Self {
            norm_before,
            qkv: linear(q + 2 * kv, c)?,
            out: linear(c, q)?,
            norm_after,
            gate_up: linear(2 * F, c)?,
            down: linear(c, F)?,
        })
    }

    fn borrow(&self) -> DecoderBlock<'_> {
        DecoderBlock {
            norm_before: &self.norm_before,
            qkv: &self.qkv,
            out: &self.out,
            norm_after: &self.norm_after,
            gate_up: &self.gate_up,
            down: &self.down,
        }
    }
}

pub(super) fn f64(x: &Tensor) -> Result<Tensor> {
    x.to_device(&Device::Cpu)?.to_dtype(DType::F64)
}

/// A model before a step: its layers, and a cache for each with NaN from the position on.
pub(super) struct Case {
    pub(super) size: &'static Size,
    pub(super) position: usize,
    pub(super) id: Tensor,
    pub(super) table: Tensor,
    pub(super) layers: Vec<Layers>,
    pub(super) caches: Vec<Cache>,
    pub(super) cos: Tensor,
    pub(super) sin: Tensor,
}

impl Case {
    pub(super) fn random(
        rng: &mut ChaCha8Rng,
        size: &'static Size,
        (blocks, position): (usize, usize),
        device: &Device,
    ) -> Result<Self> {
        let (angles, _) = uniform(rng, &[CAPACITY, HEAD / 2], DType::F32, &Device::Cpu)?;
        let angles = (angles * 3.)?;
        let dtype = size.dtype;
        let on_device = |x: Tensor| x.to_dtype(dtype)?.to_device(device);
        let shared = Position::new(device)?;
        let mut caches = vec![];
        for _ in 0..blocks {
            let kv = size.kv_heads;
            let new = || attention::Cache::new(1, CAPACITY, kv, HEAD, dtype, device);
            let mut cache = poisoned(new)?;
            if position > 0 {
                let mut of = |heads: usize, scale: f64| {
                    affine(rng, &[1, position, heads, HEAD], (0., scale), dtype, device)
                };
                let (q, k, v) = (of(size.heads, 1.)?, of(kv, 1.5)?, of(kv, 1.5)?);
                let zeros = Tensor::zeros((position, HEAD / 2), dtype, device)?;
                rope_append(&q, &k, &v, &zeros.ones_like()?, &zeros, &mut cache, 0)?;
            }
            caches.push(Cache::new(cache, shared.clone()));
        }
        Ok(Self {
            size,
            position,
            id: Tensor::new(&[[rng.random_range(0..VOCAB as u32)]], device)?,
            table: affine(rng, &[VOCAB, size.hidden], (0., 1.7), dtype, device)?,
            layers: (0..blocks)
                .map(|_| Layers::random(rng, size, device))
                .collect::<Result<_>>()?,
            caches,
            cos: on_device(angles.cos()?)?,
            sin: on_device(angles.sin()?)?,
        })
    }

    /// Does something with the step and its caches.
    pub(super) fn with<T>(&mut self, act: impl FnOnce(DecoderStep, &mut [Cache]) -> T) -> T {
        let blocks: Vec<_> = self.layers.iter().map(Layers::borrow).collect();
        let step = DecoderStep {
            id: &self.id,
            table: &self.table,
            blocks: &blocks,
            heads: self.size.heads,
            cos: &self.cos,
            sin: &self.sin,
            position: self.position,
        };
        act(step, &mut self.caches)
    }

    pub(super) fn run(&mut self) -> Result<Tensor> {
        self.with(|step, caches| {
            let refs: Vec<&Cache> = caches.iter().collect();
            assert!(step.is_readable(&refs));
            poisoned(|| step.run(caches.iter_mut().collect()))
        })
    }

    pub(super) fn is_readable(&mut self) -> bool {
        self.with(|step, caches| step.is_readable(&caches.iter().collect::<Vec<_>>()))
    }

    /// The keys or values of a layer up to a position: (KV, positions, D)
    pub(super) fn cached(&self, layer: usize, is_value: bool, positions: usize) -> Result<Tensor> {
        let (keys, values) = self.caches[layer].inner_ref().tensors()?;
        let all = if is_value { values } else { keys };
        f64(&all.squeeze(0)?.narrow(1, 0, positions)?)
    }

    /// The step in f64 by candle on the CPU: (C), and what it appends to each layer: (KV, 1, D) twice.
    pub(super) fn oracle(&self) -> Result<(Tensor, Vec<[Tensor; 2]>)> {
        let mut x = self.embedded()?;
        let mut appended = vec![];
        for i in 0..self.layers.len() {
            let (attended, new) = self.attended(i, &x)?;
            x = self.transformed(i, &attended)?;
            appended.push(new);
        }
        Ok((x.squeeze(0)?, appended))
    }

    /// The token's row of the embedding: (1, C)
    pub(super) fn embedded(&self) -> Result<Tensor> {
        let id = self.id.to_vec2::<u32>()?[0][0];
        f64(&self.table.narrow(0, id as usize, 1)?)
    }

    /// x (1, C) and the attention of a layer, and what the layer appends.
    pub(super) fn attended(&self, layer: usize, x: &Tensor) -> Result<(Tensor, [Tensor; 2])> {
        let (heads, kv, p) = (self.size.heads, self.size.kv_heads, self.position);
        let layers = &self.layers[layer];
        let angle = |x: &Tensor| f64(&x.narrow(0, p, 1)?);
        let (cos, sin) = (angle(&self.cos)?, angle(&self.sin)?);
        let rotated = |x: &Tensor| {
            let half = |i: usize| x.narrow(1, i * HEAD / 2, HEAD / 2);
            let (a, b) = (half(0)?, half(1)?);
            let first = (a.broadcast_mul(&cos)? - b.broadcast_mul(&sin)?)?;
            let second = (b.broadcast_mul(&cos)? + a.broadcast_mul(&sin)?)?;
            Tensor::cat(&[first, second], 1)
        };
        let dtype = self.size.dtype;
        let rounded = |x: Tensor| x.to_dtype(dtype)?.to_dtype(DType::F64)?.unsqueeze(1);
        let qkv = matmul(&layers.qkv, &norm(&layers.norm_before, x)?)?;
        let qkv = qkv.reshape((heads + 2 * kv, HEAD))?;
        let q = rotated(&qkv.narrow(0, 0, heads)?)?;
        let new = [
            rounded(rotated(&qkv.narrow(0, heads, kv)?)?)?,
            rounded(qkv.narrow(0, heads + kv, kv)?.copy()?)?,
        ];
        let all = |is_value: bool| {
            let old = self.cached(layer, is_value, p)?;
            let all = Tensor::cat(&[&old, &new[usize::from(is_value)]], 1)?; // (KV, p + 1, D)
            let of_head = (0..heads).map(|h| all.get(h / (heads / kv)));
            Tensor::stack(&of_head.collect::<Result<Vec<_>>>()?, 0) // (H, p + 1, D)
        };
        let (keys, values) = (all(false)?, all(true)?);
        let scores = (keys.matmul(&q.unsqueeze(2)?)?.squeeze(2)? / (HEAD as f64).sqrt())?;
        let e = scores.broadcast_sub(&scores.max_keepdim(1)?)?.exp()?;
        let weights = e.broadcast_div(&e.sum_keepdim(1)?)?.unsqueeze(1)?; // (H, 1, p + 1)
        let attended = weights.matmul(&values)?.reshape((1, heads * HEAD))?;
        Ok(((x + matmul(&layers.out, &attended)?)?, new))
    }

    /// x (1, C) and the MLP of a layer.
    pub(super) fn transformed(&self, layer: usize, x: &Tensor) -> Result<Tensor> {
        let layers = &self.layers[layer];
        let h = matmul(&layers.gate_up, &norm(&layers.norm_after, x)?)?;
        let (gate, up) = (h.narrow(1, 0, F)?, h.narrow(1, F, F)?);
        x + matmul(&layers.down, &(gate.silu()? * up)?)?
    }
}

/// x·wᵀ in f64.
fn matmul(w: &Linear, x: &Tensor) -> Result<Tensor> {
    x.matmul(&f64(w.weight.tensor())?.t()?)
}

/// RMSNorm in f64.
fn norm(norm: &Norm, x: &Tensor) -> Result<Tensor> {
    match norm {
        Norm::Rms { weight, eps } => {
            let scale = (x.sqr()?.mean_keepdim(D::Minus1)? + *eps)?.sqrt()?;
            x.broadcast_div(&scale)?.broadcast_mul(&f64(weight)?)
        }
        Norm::Layer { .. } => candle_core::bail!("expected RMSNorm"),
    }
}
