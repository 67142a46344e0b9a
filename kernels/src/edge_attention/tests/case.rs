//! Inputs, the oracle in f64, and the comparison with it.

use candle_core::{DType, Device, Result, Tensor};
use operands::{Csr, Weight};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::edge_attention::{level3, level4, level5};
use crate::output::poisoned;
use crate::testing::{Expected, assert_close, tolerance, uniform};

pub type Kernel =
    fn(&Tensor, &Tensor, &Tensor, &Tensor, &Tensor, &Tensor, &Weight, &Csr) -> Result<Tensor>;

pub const KERNELS: [(&str, Kernel); 3] = [
    ("level 3", level3::edge_attention),
    ("level 4", level4::edge_attention),
    ("level 5", level5::edge_attention),
];

pub const DTYPES: [DType; 2] = [DType::F32, DType::BF16];

/// Sizes of a case, without its edges.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub heads: usize,
    pub head_dim: usize,
    pub features: usize,
    pub dtype: DType,
}

impl Shape {
    pub fn channels(self) -> usize {
        self.heads * self.head_dim
    }
}

/// Sources of each node's incoming edges.
pub type Incoming = Vec<Vec<usize>>;

/// Random edges into each node, as many as `degrees` says; some are repeated.
pub fn incoming(rng: &mut ChaCha8Rng, degrees: &[usize]) -> Incoming {
    let nodes = degrees.len();
    let mut row = |&degree: &usize| (0..degree).map(|_| rng.random_range(0..nodes)).collect();
    degrees.iter().map(&mut row).collect()
}

/// q, k, v, skip and residual: rows of H·D for each node.
pub const PARTS: usize = 5;

/// Inputs on a device, and their values in f64.
pub struct Case {
    pub shape: Shape,
    pub incoming: Incoming,
    pub qkvs: [Tensor; 4],
    pub residual: Tensor,
    pub edges: Tensor,
    pub w: Tensor,
    pub graph: Csr,
    pub rows64: Vec<f64>, // (N, PARTS, H·D)
    pub edges64: Vec<f64>,
    pub w64: Vec<f64>,
}

impl Case {
    pub fn random(
        rng: &mut ChaCha8Rng,
        shape: Shape,
        incoming: Incoming,
        device: &Device,
    ) -> Result<Self> {
        let rows = uniform(
            rng,
            &[incoming.len(), PARTS * shape.channels()],
            shape.dtype,
            device,
        )?;
        let edges: usize = incoming.iter().map(Vec::len).sum();
        let edges = uniform(rng, &[edges, shape.features], shape.dtype, device)?;
        let w = uniform(
            rng,
            &[shape.channels(), shape.features],
            shape.dtype,
            device,
        )?;
        Self::new(shape, incoming, rows, edges, w)
    }

    /// q, k, v and skip are views of one tensor, as in the model. The residual is contiguous.
    pub fn new(
        shape: Shape,
        incoming: Incoming,
        (product, rows64): (Tensor, Vec<f64>),
        (edges, edges64): (Tensor, Vec<f64>),
        (w, w64): (Tensor, Vec<f64>),
    ) -> Result<Self> {
        let (n, c, device) = (incoming.len(), shape.channels(), product.device());
        let part = |i: usize| product.narrow(1, i * c, c);
        let heads = |i: usize| {
            product
                .reshape((n, PARTS * shape.heads, shape.head_dim))?
                .narrow(1, i * shape.heads, shape.heads)
        };
        let into = |(i, row): (usize, &Vec<usize>)| -> Vec<[u32; 2]> {
            row.iter().map(|&j| [j as u32, i as u32]).collect()
        };
        let pairs: Vec<[u32; 2]> = incoming.iter().enumerate().flat_map(into).collect();
        let (graph, _) = Csr::new(n, &pairs, device)?; // in this order already
        Ok(Self {
            shape,
            qkvs: [heads(0)?, heads(1)?, heads(2)?, part(3)?],
            residual: part(4)?.contiguous()?,
            graph,
            incoming,
            edges,
            w,
            rows64,
            edges64,
            w64,
        })
    }

    /// Makes q, k, v and skip contiguous.
    pub fn contiguous(mut self) -> Result<Self> {
        for x in &mut self.qkvs {
            *x = x.contiguous()?;
        }
        Ok(self)
    }

    /// Moves the residual to one element after a multiple of 16 bytes.
    pub fn shifted_residual(mut self) -> Result<Self> {
        let all = self.residual.flatten_all()?;
        let (len, shape) = (all.elem_count(), self.residual.shape());
        let all = Tensor::cat(&[&all.narrow(0, 0, 1)?, &all], 0)?;
        self.residual = all.narrow(0, 1, len)?.reshape(shape)?;
        Ok(self)
    }

    pub fn run(&self, kernel: Kernel) -> Result<Tensor> {
        let [q, k, v, skip] = &self.qkvs;
        let w = Weight::new(self.w.clone());
        poisoned(|| kernel(q, k, v, skip, &self.residual, &self.edges, &w, &self.graph))
    }

    /// Returns part 0 (q), 1 (k), 2 (v), 3 (skip) or 4 (residual) of a node's head.
    fn part(&self, node: usize, part: usize, head: usize) -> &[f64] {
        let d = self.shape.head_dim;
        &self.rows64[(PARTS * node + part) * self.shape.channels() + head * d..][..d]
    }

    /// Returns Wₑe of an edge and head, and Σ|Wₑ||e|.
    fn projected(&self, edge: usize, head: usize) -> (Vec<f64>, Vec<f64>) {
        let (d, fe) = (self.shape.head_dim, self.shape.features);
        let e = &self.edges64[edge * fe..][..fe];
        let row = |c: usize| self.w64[(head * d + c) * fe..][..fe].iter().zip(e);
        let sums = |c: usize| row(c).map(|(w, e)| w * e).sum();
        let sizes = |c: usize| row(c).map(|(w, e)| (w * e).abs()).sum();
        ((0..d).map(sums).collect(), (0..d).map(sizes).collect())
    }

    /// Returns y, and Σα(|v| + Σ|Wₑ||e|) + |skip| + |residual|.
    pub fn oracle(&self) -> Expected {
        let mut all = Expected {
            values: vec![],
            scales: vec![],
        };
        let mut first = 0;
        for (node, sources) in self.incoming.iter().enumerate() {
            for head in 0..self.shape.heads {
                let head = self.head(node, head, first);
                all.values.extend(head.values);
                all.scales.extend(head.scales);
            }
            first += sources.len();
        }
        all
    }

    /// Returns one node and head; its edges begin at `first`.
    fn head(&self, node: usize, head: usize, first: usize) -> Expected {
        let (d, sources) = (self.shape.head_dim, &self.incoming[node]);
        let projected: Vec<_> = (first..first + sources.len())
            .map(|edge| self.projected(edge, head))
            .collect();
        let q = self.part(node, 0, head);
        let score = |(&j, (e, _)): (&usize, &(Vec<f64>, _))| {
            let k = self.part(j, 1, head);
            (0..d).map(|c| q[c] * (k[c] + e[c])).sum::<f64>() / (d as f64).sqrt()
        };
        let scores: Vec<f64> = sources.iter().zip(&projected).map(score).collect();
        let max = scores.iter().copied().fold(f64::MIN, f64::max);
        let exp: Vec<f64> = scores.iter().map(|s| (s - max).exp()).collect();
        let total: f64 = exp.iter().sum();
        let added = (self.part(node, 3, head).iter()).zip(self.part(node, 4, head));
        let mut out = Expected {
            values: added.clone().map(|(a, b)| a + b).collect(),
            scales: added.map(|(a, b)| a.abs() + b.abs()).collect(),
        };
        for ((&j, (e, size)), exp) in sources.iter().zip(&projected).zip(exp) {
            let (v, alpha) = (self.part(j, 2, head), exp / total);
            for c in 0..d {
                out.values[c] += alpha * (v[c] + e[c]);
                out.scales[c] += alpha * (v[c].abs() + size[c]);
            }
        }
        out
    }

    pub fn check(&self) -> Result<()> {
        let expected = self.oracle();
        let device = self.w.device();
        for (level, kernel) in KERNELS {
            let nodes = self.incoming.len();
            let what = format!("{level} {device:?} N {nodes} {:?}", self.shape);
            let y = self.run(kernel)?;
            assert_eq!(y.dims(), [nodes, self.shape.channels()]);
            assert_close(&what, &y, &expected, tolerance(self.shape.dtype, 1e-4))?;
        }
        Ok(())
    }
}
