//! Random operands of the methods of `Ops`, and their calls.

mod again;
mod left;
mod words;

use candle_core::{DType, Device, Result, Tensor};
use kernels::cost::Cost;
use models::{CacheShape, Csr, Heads, Linear, Norm, Ops, Rope, Sampling, Segments, Weight};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub use left::{left, tensors, uncomputed};

/// Added to the mean square or the variance of a norm: so large that a kernel without it has another result.
pub const EPS: f64 = 0.05;

/// A call of a method, with its operands.
pub enum Call {
    Embedding(Tensor, Weight),
    PatchEmbed(Tensor, Linear, Tensor, Tensor),
    Linear(Tensor, Linear),
    NormLinear(Tensor, Norm, Linear),
    NormQkv(Tensor, Norm, Linear, Heads),
    NormQkvSkip(Tensor, Norm, Linear, Heads),
    /// q, k and v of several steps with one cache.
    Causal(Vec<[Tensor; 3]>, Rope, CacheShape),
    Attention([Tensor; 3]),
    Edges {
        qkv: [Tensor; 3],
        skip: Tensor,
        residual: Tensor,
        edges: Tensor,
        w: Weight,
        graph: Csr,
    },
    LinearResidual(Tensor, Linear, Tensor),
    NormSwiglu(Tensor, Norm, Linear),
    NormGelu(Tensor, Norm, Linear),
    SegmentMean(Tensor, Segments),
    /// Logits, and the temperature.
    NextToken(Tensor, f64),
}

/// Sizes of a call.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// Tokens, rows or nodes.
    pub rows: usize,
    /// Channels of a row.
    pub c: usize,
    /// Outputs of a matmul, or rows of a table.
    pub n: usize,
    /// Heads of queries, heads of keys, channels of a head.
    pub heads: (usize, usize, usize),
}

/// Sizes that no tile, warp or vector divides, and one that all of them do.
pub const ODD: [Sizes; 4] = [
    Sizes {
        rows: 1,
        c: 7,
        n: 3,
        heads: (2, 1, 6),
    },
    Sizes {
        rows: 5,
        c: 33,
        n: 65,
        heads: (3, 3, 10),
    },
    Sizes {
        rows: 35,
        c: 129,
        n: 31,
        heads: (4, 2, 16),
    },
    Sizes {
        rows: 16,
        c: 64,
        n: 64,
        heads: (2, 2, 32),
    },
];

/// Sizes of the calls that are counted.
pub const COUNTED: Sizes = Sizes {
    rows: 32,
    c: 256,
    n: 64,
    heads: (2, 1, 32),
};

/// Sizes of the calls that are timed: those of a small model.
pub const TIMED: Sizes = Sizes {
    rows: 256,
    c: 512,
    n: 512,
    heads: (8, 8, 64),
};

/// Draws operands.
pub struct Draw {
    rng: ChaCha8Rng,
    dtype: DType,
    device: Device,
}

impl Draw {
    /// A generator with a seed, for operands of a dtype on a device.
    pub fn new(seed: u64, dtype: DType, device: &Device) -> Self {
        Self {
            rng: ChaCha8Rng::seed_from_u64(seed),
            dtype,
            device: device.clone(),
        }
    }

    /// Uniform in −1..1.
    fn tensor(&mut self, shape: &[usize]) -> Result<Tensor> {
        let values = (0..shape.iter().product()).map(|_| self.rng.random::<f32>() * 2. - 1.);
        let values: Vec<f32> = values.collect();
        Tensor::from_vec(values, shape, &Device::Cpu)?
            .to_dtype(self.dtype)?
            .to_device(&self.device)
    }

    fn index(&mut self, below: usize) -> u32 {
        self.rng.random_range(0..below.max(1)) as u32
    }

    fn linear(&mut self, n: usize, k: usize, bias: bool) -> Result<Linear> {
        let bias = bias.then(|| self.tensor(&[n])).transpose()?;
        Ok(Linear::new(self.tensor(&[n, k])?, bias))
    }

    fn norm(&mut self, c: usize, rms: bool) -> Result<Norm> {
        let weight = self.tensor(&[c])?;
        Ok(if rms {
            Norm::Rms { weight, eps: EPS }
        } else {
            Norm::Layer {
                weight,
                bias: self.tensor(&[c])?,
                eps: EPS,
            }
        })
    }

    fn qkv(&mut self, shape: [usize; 2], (h, kv, d): (usize, usize, usize)) -> Result<[Tensor; 3]> {
        let [b, t] = shape;
        let mut of = |heads| self.tensor(&[b, t, heads, d]);
        Ok([of(h)?, of(kv)?, of(kv)?])
    }

    /// A call of the method `name`; `variant` alternates biases and norms.
    ///
    /// # Errors
    /// There is no such method.
    pub fn call(&mut self, name: &str, sizes: Sizes, variant: usize) -> Result<Call> {
        let Sizes { rows, c, n, heads } = sizes;
        let (h, kv, d) = heads;
        let (even, batch) = (variant.is_multiple_of(2), 1 + variant % 2);
        let cut = |num_heads, num_kv_heads| Heads {
            num_heads,
            num_kv_heads,
            head_dim: d,
        };
        Ok(match name {
            "embedding" => {
                let ids: Vec<u32> = (0..batch * rows).map(|_| self.index(n)).collect();
                let ids = Tensor::from_vec(ids, (batch, rows), &self.device)?;
                Call::Embedding(ids, Weight::new(self.tensor(&[n, c])?))
            }
            "patch_embed" => {
                let (p, side) = (2 + variant % 3, 1 + rows.isqrt());
                let pixels = self.tensor(&[batch, 3, p * side, p * (side + 1)])?;
                let bias = Some(self.tensor(&[c])?);
                let patch = Linear::new(self.tensor(&[c, 3, p, p])?, bias);
                let class = self.tensor(&[1, 1, c])?;
                Call::PatchEmbed(
                    pixels,
                    patch,
                    class,
                    self.tensor(&[1, 1 + side * (side + 1), c])?,
                )
            }
            "linear" => Call::Linear(self.tensor(&[batch, rows, c])?, self.linear(n, c, even)?),
            "norm_linear" => {
                let (norm, w) = (self.norm(c, even)?, self.linear(n, c, !even)?);
                Call::NormLinear(self.tensor(&[batch, rows, c])?, norm, w)
            }
            "norm_qkv" => {
                let (norm, w) = (
                    self.norm(c, even)?,
                    self.linear((h + 2 * kv) * d, c, !even)?,
                );
                Call::NormQkv(self.tensor(&[batch, rows, c])?, norm, w, cut(h, kv))
            }
            "norm_qkv_skip" => {
                let (norm, w) = (self.norm(c, false)?, self.linear(4 * h * d, c, true)?);
                Call::NormQkvSkip(self.tensor(&[rows, c])?, norm, w, cut(h, h))
            }
            "causal_attention" => {
                let steps = [rows, 1].map(|t| self.qkv([batch, t], heads));
                let steps = steps.into_iter().collect::<Result<Vec<_>>>()?;
                let capacity = rows + 3;
                let rope = Rope::new(1e4, d, capacity, self.dtype, &self.device)?;
                let shape = CacheShape {
                    layers: 1,
                    batch,
                    capacity,
                    heads: cut(h, kv),
                    dtype: self.dtype,
                    device: self.device.clone(),
                };
                Call::Causal(steps, rope, shape)
            }
            "attention" => Call::Attention(self.qkv([batch, rows], (h, h, d))?),
            "edge_attention" => self.edges(rows, h, d)?,
            "linear_residual" => {
                let (x, w) = (self.tensor(&[batch, rows, c])?, self.linear(n, c, even)?);
                Call::LinearResidual(x, w, self.tensor(&[batch, rows, n])?)
            }
            "norm_swiglu" => {
                let (norm, w) = (self.norm(c, true)?, self.linear(2 * n, c, false)?);
                Call::NormSwiglu(self.tensor(&[batch, rows, c])?, norm, w)
            }
            "norm_gelu" => {
                let (norm, w) = (self.norm(c, false)?, self.linear(n, c, true)?);
                Call::NormGelu(self.tensor(&[batch, rows, c])?, norm, w)
            }
            "segment_mean" => {
                // The third graph of five has no nodes.
                let mut graphs: Vec<u32> = (0..rows)
                    .map(|_| [0, 1, 3, 4][self.index(4) as usize])
                    .collect();
                graphs.sort_unstable();
                let segments =
                    Segments::new(5, &graphs, &self.device).map_err(candle_core::Error::from)?;
                Call::SegmentMean(self.tensor(&[rows, c])?, segments)
            }
            "next_token" => {
                let logits = (self.tensor(&[n + c])? * 4.)?;
                Call::NextToken(logits, if even { 0. } else { 0.75 })
            }
            other => candle_core::bail!("expected a method of Ops, found {other}"),
        })
    }

    /// A graph with repeated edges, and a node without any.
    fn edges(&mut self, nodes: usize, h: usize, d: usize) -> Result<Call> {
        let to = nodes.saturating_sub(1).max(1);
        let mut pairs: Vec<[u32; 2]> = (0..3 * nodes)
            .map(|_| [self.index(nodes), self.index(to)])
            .collect();
        pairs.push(pairs[0]);
        let (graph, _) = Csr::new(nodes, &pairs, &self.device).map_err(candle_core::Error::from)?;
        let features = 5;
        let mut of = || self.tensor(&[nodes, h, d]);
        let qkv = [of()?, of()?, of()?];
        Ok(Call::Edges {
            qkv,
            skip: self.tensor(&[nodes, h * d])?,
            residual: self.tensor(&[nodes, h * d])?,
            edges: self.tensor(&[pairs.len(), features])?,
            w: Weight::new(self.tensor(&[h * d, features])?),
            graph,
        })
    }
}

impl Call {
    /// Calls the method of `ops`.
    ///
    /// # Errors
    /// Those of the method.
    pub fn run(&self, ops: &dyn Ops) -> Result<Vec<Tensor>> {
        let one = |y: Tensor| vec![y];
        Ok(match self {
            Self::Embedding(ids, w) => one(ops.embedding(ids, w)?),
            Self::PatchEmbed(pixels, patch, class, positions) => {
                one(ops.patch_embed(pixels, patch, class, positions)?)
            }
            Self::Linear(x, w) => one(ops.linear(x, w)?),
            Self::NormLinear(x, norm, w) => one(ops.norm_linear(x, norm, w)?),
            Self::NormQkv(x, norm, w, heads) => {
                let (q, k, v) = ops.norm_qkv(x, norm, w, *heads)?;
                vec![q, k, v]
            }
            Self::NormQkvSkip(x, norm, w, heads) => {
                let (q, k, v, skip) = ops.norm_qkv_skip(x, norm, w, *heads)?;
                vec![q, k, v, skip]
            }
            Self::Causal(steps, rope, shape) => {
                let mut caches = ops.new_caches(shape)?;
                let Some(cache) = caches.first_mut() else {
                    candle_core::bail!("new_caches: expected a cache for one layer, found none")
                };
                let step = |[q, k, v]: &[Tensor; 3]| ops.causal_attention(q, k, v, rope, cache);
                steps.iter().map(step).collect::<Result<_>>()?
            }
            Self::Attention([q, k, v]) => one(ops.attention(q, k, v)?),
            Self::Edges {
                qkv: [q, k, v],
                skip,
                residual,
                edges,
                w,
                graph,
            } => one(ops.edge_attention(q, k, v, skip, residual, edges, w, graph)?),
            Self::LinearResidual(x, w, residual) => one(ops.linear_residual(x, w, residual)?),
            Self::NormSwiglu(x, norm, w) => one(ops.norm_swiglu(x, norm, w)?),
            Self::NormGelu(x, norm, w) => one(ops.norm_gelu(x, norm, w)?),
            Self::SegmentMean(x, segments) => one(ops.segment_mean(x, segments)?),
            Self::NextToken(logits, temperature) => {
                let mut sampling = Sampling::new(*temperature, None, None, 7);
                let token = ops.next_token(logits, &mut sampling)?;
                one(Tensor::new(&[token], &Device::Cpu)?)
            }
        })
    }

    /// Names of its results.
    pub fn results(&self) -> &'static [&'static str] {
        match self {
            Self::NormQkv(..) => &["q", "k", "v"],
            Self::NormQkvSkip(..) => &["q", "k", "v", "skip"],
            Self::Causal(..) => &["first call", "second call"],
            _ => &["y"],
        }
    }

    /// Bytes that the call must move at least, of operands and results, and its FLOPs.
    ///
    /// # Errors
    /// Those of candle for shapes that do not fit.
    pub fn cost(&self) -> Result<Cost> {
        use levels::costs;
        match self {
            Self::Embedding(ids, w) => costs::embedding(ids, w),
            Self::PatchEmbed(x, patch, class, positions) => {
                costs::patch_embed(x, patch, class, positions)
            }
            Self::Linear(x, w) => costs::linear(x, w),
            Self::NormLinear(x, norm, w) => costs::norm_linear(x, norm, w),
            Self::NormQkv(x, norm, w, heads) => costs::norm_qkv(x, norm, w, heads),
            Self::NormQkvSkip(x, norm, w, heads) => costs::norm_qkv_skip(x, norm, w, heads),
            Self::Causal(steps, rope, shape) => {
                let mut cache = models::KvCache::new(shape.capacity, ());
                let (mut bytes, mut flops) = (0, 0);
                for [q, k, v] in steps {
                    let step = costs::causal_attention(q, k, v, rope, &cache)?;
                    (bytes, flops) = (bytes + step.bytes, flops + step.flops);
                    cache.advance::<()>(q.dim(1)?)?;
                }
                Ok(Cost { bytes, flops })
            }
            Self::Attention([q, k, v]) => costs::attention(q, k, v),
            Self::Edges {
                qkv: [q, k, v],
                skip,
                residual,
                edges,
                w,
                graph,
            } => costs::edge_attention(q, k, v, skip, residual, edges, w, graph),
            Self::LinearResidual(x, w, residual) => costs::linear_residual(x, w, residual),
            Self::NormSwiglu(x, norm, w) => costs::norm_swiglu(x, norm, w),
            Self::NormGelu(x, norm, w) => costs::norm_gelu(x, norm, w),
            Self::SegmentMean(x, segments) => costs::segment_mean(x, segments),
            Self::NextToken(logits, _) => costs::next_token(logits, &Sampling::greedy()),
        }
    }
}
