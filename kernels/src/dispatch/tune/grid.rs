//! Which problems are measured, and what each of them stands for.

use candle_core::DType;

use crate::dispatch::{Facts, Layout, Op, Problem, Range};

/// Sizes along one dimension, ascending: each stands for those down to the one before.
#[derive(Debug, Clone)]
pub struct Axis {
    sizes: Vec<usize>,
    exact: bool,
    above: bool,
}

impl Axis {
    /// Up to the largest.
    pub fn up_to(sizes: &[usize]) -> Self {
        Self {
            sizes: sizes.to_vec(),
            exact: false,
            above: false,
        }
    }

    /// This size and no other.
    pub fn only(size: usize) -> Self {
        Self {
            sizes: vec![size],
            exact: true,
            above: false,
        }
    }

    /// The largest that is measured stands for all above it too.
    pub fn and_above(mut self) -> Self {
        self.above = true;
        self
    }

    /// Of each size, its place and what it stands for.
    fn cells(&self) -> impl Iterator<Item = (Range, usize)> + '_ {
        self.sizes.iter().enumerate().map(|(i, &size)| {
            let below = if i == 0 { 0 } else { self.sizes[i - 1] + 1 };
            let from = if self.exact { size } else { below };
            (Range(from, size), size)
        })
    }
}

/// All combinations of some sizes.
#[derive(Debug, Clone)]
pub struct Grid {
    /// Which operation.
    pub op: Op,
    /// Of the operands.
    pub dtype: DType,
    /// Matrices.
    pub batch: Axis,
    /// Rows of A.
    pub m: Axis,
    /// Columns of B.
    pub n: Axis,
    /// Columns of A.
    pub k: Axis,
}

/// Multiply-adds beyond which a problem is left out: a millisecond or two of a large GPU, some of a CPU.
const MOST_GPU: usize = 1 << 35;
const MOST_CPU: usize = 1 << 29;

impl Grid {
    /// Problems, and the ranges of batch, m, n and k that each stands for. Without those that would take too
    /// long on the device.
    pub fn problems(&self, facts: &Facts) -> impl Iterator<Item = ([Range; 4], Problem)> + '_ {
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
    }

    /// Which of batch, m, n and k end in a size that stands for all above.
    pub(super) fn above(&self) -> [bool; 4] {
        [&self.batch, &self.m, &self.n, &self.k].map(|axis| axis.above)
    }
}
