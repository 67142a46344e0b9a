//! Grids of measured problems, and the range that each represents.

use candle_core::DType;

use crate::dispatch::{Facts, Layout, Op, Problem, Range};

/// Ascending sizes along one dimension; each represents the range down to the previous one.
#[derive(Debug, Clone)]
pub struct Axis {
    sizes: Vec<usize>,
    exact: bool,
    above: bool,
}

impl Axis {
    /// Sizes up to the largest.
    pub fn up_to(sizes: &[usize]) -> Self {
        Self {
            sizes: sizes.to_vec(),
            exact: false,
            above: false,
        }
    }

    /// A single size.
    pub fn only(size: usize) -> Self {
        Self {
            sizes: vec![size],
            exact: true,
            above: false,
        }
    }

    /// The largest size also represents all above.
    pub fn and_above(mut self) -> Self {
        self.above = true;
        self
    }

    /// Iterates over the sizes with their ranges.
    fn cells(&self) -> impl Iterator<Item = (Range, usize)> + '_ {
        self.sizes.iter().enumerate().map(|(i, &size)| {
            let below = if i == 0 { 0 } else { self.sizes[i - 1] + 1 };
            let from = if self.exact { size } else { below };
            (Range(from, size), size)
        })
    }
}

/// All combinations of sizes.
#[derive(Debug, Clone)]
pub struct Grid {
    /// The operation.
    pub op: Op,
    /// dtype of the operands.
    pub dtype: DType,
    /// Number of matrices.
    pub batch: Axis,
    /// Rows of A.
    pub m: Axis,
    /// Columns of B.
    pub n: Axis,
    /// Columns of A.
    pub k: Axis,
}

/// Maximum multiply-adds of a problem: a millisecond or two on a large GPU, several on a CPU.
const MOST_GPU: usize = 1 << 35;
const MOST_CPU: usize = 1 << 29;

impl Grid {
    /// Iterates over problems and the ranges of batch, m, n and k that each represents, without those too
    /// slow for the device, and without decode steps on a CPU, which has one implementation.
    pub fn problems<'a>(
        &'a self,
        facts: &'a Facts,
    ) -> impl Iterator<Item = ([Range; 4], Problem)> + 'a {
        let most = if facts.is_gpu() { MOST_GPU } else { MOST_CPU };
        let all = self.batch.cells().flat_map(move |batch| {
            let m = self.m.cells();
            m.flat_map(move |m| {
                let n = self.n.cells();
                n.flat_map(move |n| self.k.cells().map(move |k| [batch, m, n, k]))
            })
        });
        all.map(|cells| {
            let [batch, m, n, k] = cells.map(|(_, size)| size);
            let problem = Problem {
                op: self.op,
                batch,
                m,
                n,
                k,
                dtype: self.dtype,
                layout: [Layout::Rows; 2],
            };
            (cells.map(|(range, _)| range), problem)
        })
        .filter(move |(_, p)| p.batch * p.m * p.n * p.k <= most)
        .filter(move |(_, p)| p.op != Op::AttentionStep || facts.is_gpu())
    }

    /// Which of batch, m, n and k have a largest size that represents all above.
    pub(super) fn above(&self) -> [bool; 4] {
        [&self.batch, &self.m, &self.n, &self.k].map(|axis| axis.above)
    }
}
