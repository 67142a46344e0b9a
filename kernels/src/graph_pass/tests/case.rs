//! Random weights and graphs, and the pass over them in f64.

use std::any::Any;
use std::sync::OnceLock;

use candle_core::{DType, Device, Result, Tensor};
use operands::{Csr, GraphBlock, GraphPass, GraphSizes, Linear, Norm, Segments, Weight};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::cpu::math::tests::erf_f64;
use crate::graph_pass::level5::{CHANNELS, FEATURES, HEADS, HIDDEN, INPUTS};
use crate::testing::{Expected, host};

const EPS: f64 = 1e-5;

/// Sources of each node's incoming edges, in its graph.
pub type Graph = Vec<Vec<usize>>;

/// A graph of random edges, as many into each node as `degrees` says.
pub fn graph(rng: &mut ChaCha8Rng, degrees: &[usize]) -> Graph {
    let nodes = degrees.len();
    let mut row = |&degree: &usize| (0..degree).map(|_| rng.random_range(0..nodes)).collect();
    degrees.iter().map(&mut row).collect()
}

/// A generator, and what it makes tensors of.
pub struct Source<'a> {
    pub rng: &'a mut ChaCha8Rng,
    pub dtype: DType,
    pub device: &'a Device,
}

impl Source<'_> {
    /// `middle` ± `spread`, rounded to the dtype.
    fn draw(&mut self, shape: &[usize], middle: f32, spread: f32) -> Result<(Tensor, Vec<f64>)> {
        let draw = |_| middle + spread * (2. * self.rng.random::<f32>() - 1.);
        let values: Vec<f32> = (0..shape.iter().product()).map(draw).collect();
        let x = Tensor::from_vec(values, shape, &Device::Cpu)?.to_dtype(self.dtype)?;
        Ok((x.to_device(self.device)?, host(&x)?))
    }
}

/// A linear layer and its values.
pub struct Layer {
    pub operand: Linear,
    w: Vec<f64>,
    b: Vec<f64>,
}

impl Layer {
    /// Outputs are about as large as inputs.
    fn random(source: &mut Source, n: usize, k: usize) -> Result<Self> {
        let (weight, w) = source.draw(&[n, k], 0., (3. / k as f32).sqrt())?;
        let (bias, b) = source.draw(&[n], 0., 0.2)?;
        let operand = Linear::new(weight, Some(bias));
        Ok(Self { operand, w, b })
    }

    /// x·wᵀ + b
    fn of(&self, x: &[f64]) -> Vec<f64> {
        let (n, k) = (self.b.len(), self.w.len() / self.b.len());
        let dot = |x: &[f64], i: usize| -> f64 {
            let row = &self.w[i * k..][..k];
            x.iter().zip(row).map(|(x, w)| x * w).sum::<f64>() + self.b[i]
        };
        let rows = x.chunks(k);
        rows.flat_map(|x| (0..n).map(move |i| dot(x, i))).collect()
    }
}

/// A LayerNorm and its values.
pub struct Gains {
    pub operand: Norm,
    w: Vec<f64>,
    b: Vec<f64>,
}

impl Gains {
    fn random(source: &mut Source) -> Result<Self> {
        let (weight, w) = source.draw(&[CHANNELS], 1., 0.3)?;
        let (bias, b) = source.draw(&[CHANNELS], 0., 0.2)?;
        let operand = Norm::Layer {
            weight,
            bias,
            eps: EPS,
        };
        Ok(Self { operand, w, b })
    }

    fn of(&self, x: &[f64]) -> Vec<f64> {
        let row = |x: &[f64]| -> Vec<f64> {
            let mean = x.iter().sum::<f64>() / CHANNELS as f64;
            let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / CHANNELS as f64;
            let scale = 1. / (variance + EPS).sqrt();
            let normal = |c: usize| (x[c] - mean) * scale * self.w[c] + self.b[c];
            (0..CHANNELS).map(normal).collect()
        };
        x.chunks(CHANNELS).flat_map(row).collect()
    }
}

/// A block of the model.
pub struct Block {
    pub norm1: Gains,
    pub qkv_skip: Layer,
    pub edge: Weight,
    edge64: Vec<f64>,
    pub norm2: Gains,
    pub up: Layer,
    pub down: Layer,
}

impl Block {
    fn random(source: &mut Source) -> Result<Self> {
        let (edge, edge64) = source.draw(&[CHANNELS, FEATURES], 0., 0.5)?;
        Ok(Self {
            norm1: Gains::random(source)?,
            qkv_skip: Layer::random(source, 4 * CHANNELS, CHANNELS)?,
            edge: Weight::new(edge),
            edge64,
            norm2: Gains::random(source)?,
            up: Layer::random(source, HIDDEN, CHANNELS)?,
            down: Layer::random(source, CHANNELS, HIDDEN)?,
        })
    }

    fn borrow(&self) -> GraphBlock<'_> {
        GraphBlock {
            norm1: &self.norm1.operand,
            qkv_skip: &self.qkv_skip.operand,
            edge: &self.edge,
            norm2: &self.norm2.operand,
            up: &self.up.operand,
            down: &self.down.operand,
        }
    }

    /// x of one graph, whose edges have these features.
    fn of(&self, x: &mut [f64], graph: &Graph, features: &[f64]) {
        let y = self.qkv_skip.of(&self.norm1.of(x));
        let part = |node: usize, part: usize| &y[(4 * node + part) * CHANNELS..][..CHANNELS];
        let mut first = 0;
        for (node, sources) in graph.iter().enumerate() {
            let edges: Vec<(usize, Vec<f64>)> = (sources.iter().enumerate())
                .map(|(e, &j)| {
                    let e = &features[(first + e) * FEATURES..][..FEATURES];
                    let row = |w: &[f64]| w.iter().zip(e).map(|(w, e)| w * e).sum();
                    (j, self.edge64.chunks(FEATURES).map(row).collect())
                })
                .collect();
            first += sources.len();
            let d = CHANNELS / HEADS;
            for head in 0..HEADS {
                let channels = head * d..(head + 1) * d;
                let score = |(j, e): &(usize, Vec<f64>)| {
                    let (q, k) = (part(node, 0), part(*j, 1));
                    let products = channels.clone().map(|c| q[c] * (k[c] + e[c]));
                    products.sum::<f64>() / (d as f64).sqrt()
                };
                let scores: Vec<f64> = edges.iter().map(score).collect();
                let most = scores.iter().copied().fold(f64::MIN, f64::max);
                let weights: Vec<f64> = scores.iter().map(|s| (s - most).exp()).collect();
                let total: f64 = weights.iter().sum();
                for c in channels {
                    let value = |((j, e), w): (&(usize, Vec<f64>), &f64)| {
                        w / total * (part(*j, 2)[c] + e[c])
                    };
                    let sum: f64 = edges.iter().zip(&weights).map(value).sum();
                    x[node * CHANNELS + c] += sum + part(node, 3)[c];
                }
            }
        }
        let gelu = |x: f64| x * 0.5 * (1. + erf_f64(x / 2f64.sqrt()));
        let hidden = self.up.of(&self.norm2.of(x)).into_iter().map(gelu);
        let y = self.down.of(&hidden.collect::<Vec<_>>());
        x.iter_mut().zip(y).for_each(|(x, y)| *x += y);
    }
}

/// Weights, graphs and features.
pub struct Case {
    pub graphs: Vec<Graph>,
    pub x: Tensor,
    x64: Vec<f64>,
    pub edges: Tensor,
    edges64: Vec<f64>,
    pub csr: Csr,
    pub segments: Segments,
    pub sizes: GraphSizes,
    pub proj_in: Layer,
    pub blocks: Vec<Block>,
    pub norm: Gains,
    pub head: Layer,
    pub prepared: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl Case {
    pub fn random(
        source: &mut Source,
        graphs: Vec<Graph>,
        layers: usize,
        classes: usize,
    ) -> Result<Self> {
        let (mut pairs, mut batch) = (vec![], vec![]);
        for (g, graph) in (0..).zip(&graphs) {
            let first = batch.len();
            for (i, sources) in graph.iter().enumerate() {
                pairs.extend(
                    sources
                        .iter()
                        .map(|j| [(first + j) as u32, (first + i) as u32]),
                );
            }
            batch.extend(graph.iter().map(|_| g));
        }
        let (csr, _) = Csr::new(batch.len(), &pairs, source.device)?; // in this order already
        let (x, x64) = source.draw(&[batch.len(), INPUTS], 0., 1.)?;
        let (edges, edges64) = source.draw(&[pairs.len(), FEATURES], 0., 1.)?;
        Ok(Self {
            x,
            x64,
            edges,
            edges64,
            csr,
            segments: Segments::new(graphs.len(), &batch, source.device)?,
            sizes: GraphSizes::new(graphs.len(), &batch, &pairs)?,
            proj_in: Layer::random(source, CHANNELS, INPUTS)?,
            blocks: (0..layers)
                .map(|_| Block::random(source))
                .collect::<Result<_>>()?,
            norm: Gains::random(source)?,
            head: Layer::random(source, classes, CHANNELS)?,
            prepared: OnceLock::new(),
            graphs,
        })
    }

    pub fn pass(&self) -> GraphPass<'_> {
        GraphPass {
            x: &self.x,
            edges: &self.edges,
            graph: &self.csr,
            segments: &self.segments,
            sizes: self.sizes,
            proj_in: &self.proj_in.operand,
            blocks: self.blocks.iter().map(Block::borrow).collect(),
            norm: &self.norm.operand,
            head: &self.head.operand,
            num_heads: HEADS,
            prepared: &self.prepared,
        }
    }

    /// Logits of all graphs; the scale of each is the largest of all.
    pub fn oracle(&self) -> Expected {
        let (mut node, mut edge) = (0, 0);
        let mut logits = vec![];
        for graph in &self.graphs {
            let edges: usize = graph.iter().map(Vec::len).sum();
            let mut x = self
                .proj_in
                .of(&self.x64[node * INPUTS..][..graph.len() * INPUTS]);
            let features = &self.edges64[edge * FEATURES..][..edges * FEATURES];
            for block in &self.blocks {
                block.of(&mut x, graph, features);
            }
            let mean = |c: usize| {
                let sum: f64 = x.iter().skip(c).step_by(CHANNELS).sum();
                sum / graph.len().max(1) as f64
            };
            let mean: Vec<f64> = (0..CHANNELS).map(mean).collect();
            logits.extend(self.head.of(&self.norm.of(&mean)));
            (node, edge) = (node + graph.len(), edge + edges);
        }
        let largest = logits.iter().fold(0f64, |most, x| most.max(x.abs()));
        Expected {
            scales: vec![largest; logits.len()],
            values: logits,
        }
    }
}
