//! Test cases: operands, oracle, and how a level runs them.

use candle_core::{DType, Device, Result, Tensor};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::attention::{self, Cache};
use crate::dispatch::Facts;
use crate::testing::{Expected, skip, uniform};

/// Functions of a level.
pub struct Level {
    pub name: &'static str,
    rope_append:
        fn(&Tensor, &Tensor, &Tensor, &Tensor, &Tensor, &mut Cache, usize) -> Result<Tensor>,
    pub causal_attention: fn(&Tensor, &Cache, usize) -> Result<Tensor>,
    pub attention: fn(&Tensor, &Tensor, &Tensor) -> Result<Tensor>,
}

pub const LEVELS: [Level; 2] = [
    Level {
        name: "level 3",
        rope_append: crate::rope::level3::rope_append,
        causal_attention: attention::level3::causal_attention,
        attention: attention::level3::attention,
    },
    Level {
        name: "level 4",
        rope_append: crate::rope::level4::rope_append,
        causal_attention: attention::level4::causal_attention,
        attention: attention::level4::attention,
    },
];

/// Level 5's kernels for Hopper.
const HOPPER: Level = Level {
    name: "level 5",
    rope_append: crate::rope::level5::rope_append,
    causal_attention: attention::level5::causal_attention,
    attention: attention::level5::tile_wgmma::attention,
};

/// Level 5's f32 kernels on tensor cores (TF32×3).
const TF32: Level = Level {
    name: "level 5 in f32",
    rope_append: crate::rope::level5::rope_append,
    causal_attention: attention::level5::causal_attention,
    attention: attention::level5::tile_tf32x3::attention,
};

/// A sequence of `position` + `tokens` tokens; the last `tokens` are queries.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    pub batch: usize,
    pub tokens: usize,
    pub position: usize,
    pub heads: usize,
    pub kv_heads: usize,
    pub d: usize,
    pub dtype: DType,
    /// Offset of q, k and v's shared tensor from a multiple of 16 bytes, in elements.
    pub offset: usize,
}

impl Case {
    /// Levels that run on `device`.
    pub fn levels(&self, device: &Device) -> Result<Vec<&'static Level>> {
        let facts = Facts::of(device)?;
        let hopper = attention::level5::tile_wgmma::can(facts, self.dtype, self.d);
        if !hopper && device.is_cuda() && self.dtype == DType::BF16 {
            let what = format!("level 5's attention in bf16, D = {}", self.d);
            let why = format!("needs a Hopper and D = 8·n ≤ 128, found {}", facts.name);
            skip(&what, &why);
        }
        let tf32 = attention::level5::tile_tf32x3::can(facts, self.dtype, self.d);
        let own = [(hopper, &HOPPER), (tf32, &TF32)].into_iter();
        let own = own.filter_map(|(can, level)| can.then_some(level));
        Ok(LEVELS.iter().chain(own).collect())
    }

    fn keys(&self) -> usize {
        self.position + self.tokens
    }

    fn multiply_adds(&self) -> usize {
        2 * self.batch * self.heads * self.tokens * self.keys() * self.d
    }

    /// Reduces sequences, heads and queries until the work is at most `limit`.
    pub fn capped(mut self, limit: usize) -> Self {
        while self.multiply_adds() > limit {
            match self {
                Self { batch: 2.., .. } => self.batch = 1,
                Self { kv_heads: 2.., .. } => {
                    (self.heads, self.kv_heads) = (self.heads / self.kv_heads, 1);
                }
                Self { heads: 2.., .. } => self.heads = 1,
                _ => self.tokens = self.tokens.div_ceil(2),
            }
        }
        self
    }

    /// Returns (B, S, H + 2·Hkv, D) on `device`, starting at `offset` elements in memory, and its values.
    pub fn product(&self, rng: &mut ChaCha8Rng, device: &Device) -> Result<(Tensor, Vec<f64>)> {
        let shape = (
            self.batch,
            self.keys(),
            self.heads + 2 * self.kv_heads,
            self.d,
        );
        let len = shape.0 * shape.1 * shape.2 * shape.3;
        let (all, mut values) = uniform(rng, &[self.offset + len], self.dtype, device)?;
        let product = all.narrow(0, self.offset, len)?.reshape(shape)?;
        Ok((product, values.split_off(self.offset)))
    }

    /// Returns q, k and v of the tokens from `start` on, as views.
    pub fn cut(&self, product: &Tensor, start: usize, tokens: usize) -> Result<[Tensor; 3]> {
        let (h, h_kv) = (self.heads, self.kv_heads);
        let rows = product.narrow(1, start, tokens)?;
        let cut = |start, heads| rows.narrow(2, start, heads);
        Ok([cut(0, h)?, cut(h, h_kv)?, cut(h + h_kv, h_kv)?])
    }

    /// Computes the last `tokens` in f64; errors scale with max |v|.
    pub fn oracle(&self, product: &[f64], causal: bool) -> Expected {
        let queries = self.batch * self.tokens * self.heads;
        let results = (0..queries).into_par_iter().map(|i| {
            let (b, t, h) = (
                i / self.heads / self.tokens,
                i / self.heads % self.tokens,
                i % self.heads,
            );
            self.query(product, b, self.position + t, h, causal)
        });
        let (values, scales): (Vec<_>, Vec<_>) = results.unzip();
        Expected {
            values: values.concat(),
            scales: scales.concat(),
        }
    }

    /// Returns head h of token t of sequence b, and the max |v| it attends to, D times.
    fn query(
        &self,
        product: &[f64],
        b: usize,
        t: usize,
        h: usize,
        causal: bool,
    ) -> (Vec<f64>, Vec<f64>) {
        let keys = if causal { t + 1 } else { self.keys() };
        let kv = self.heads + h * self.kv_heads / self.heads;
        let all = self.heads + 2 * self.kv_heads;
        let row =
            |t: usize, h: usize| &product[((b * self.keys() + t) * all + h) * self.d..][..self.d];
        let score = |s: usize| {
            let dot: f64 = row(t, h).iter().zip(row(s, kv)).map(|(q, k)| q * k).sum();
            dot / (self.d as f64).sqrt()
        };
        let scores: Vec<f64> = (0..keys).map(score).collect();
        let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = scores.iter().map(|s| (s - max).exp()).sum();
        let (mut y, mut greatest) = (vec![0.; self.d], 0f64);
        for (s, score) in scores.iter().enumerate() {
            let p = (score - max).exp() / sum;
            for (y, v) in y.iter_mut().zip(row(s, kv + self.kv_heads)) {
                *y += p * v;
                greatest = greatest.max(v.abs());
            }
        }
        (y, vec![greatest; self.d])
    }

    pub fn cache(&self, device: &Device) -> Result<Cache> {
        let capacity = self.keys() + 3;
        Cache::new(
            self.batch,
            capacity,
            self.kv_heads,
            self.d,
            self.dtype,
            device,
        )
    }

    /// Appends tokens, rotated by 0, and returns their q.
    pub fn append(
        &self,
        level: &Level,
        product: &Tensor,
        cache: &mut Cache,
        position: usize,
        tokens: usize,
    ) -> Result<Tensor> {
        let [q, k, v] = self.cut(product, position, tokens)?;
        let cos = Tensor::ones((tokens, self.d / 2), q.dtype(), q.device())?;
        let sin = cos.zeros_like()?;
        (level.rope_append)(&q, &k, &v, &cos, &sin, cache, position)
    }

    /// Appends tokens in the given steps and attends after each: (B, S, H·D).
    pub fn causal(&self, level: &Level, product: &Tensor, steps: &[usize]) -> Result<Tensor> {
        let mut cache = self.cache(product.device())?;
        let (mut position, mut results) = (0, Vec::new());
        for &tokens in steps {
            let q = self.append(level, product, &mut cache, position, tokens)?;
            results.push((level.causal_attention)(&q, &cache, position)?);
            position += tokens;
        }
        Tensor::cat(&results, 1)
    }
}
