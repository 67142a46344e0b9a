//! What is to be computed, as far as kernels are chosen by it.

use std::fmt;

use candle_core::{DType, Tensor};
use serde::{Deserialize, Serialize};

/// Operations of which there is more than one kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// A·B of any strides.
    Matmul,
    /// x·wᵀ + b
    Linear,
    /// gelu(x·wᵀ + b)
    LinearGelu,
    /// silu(x·Wgᵀ) ⊙ (x·Wuᵀ)
    LinearSwiglu,
}

/// How a matrix lies in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// Elements of a row are neighbours.
    Rows,
    /// Elements of a column are neighbours: a transposed view.
    Columns,
    /// Neither.
    Strided,
}

impl Layout {
    /// Of the last two dimensions.
    pub fn of(x: &Tensor) -> Self {
        let [.., row, column] = x.stride() else {
            return Self::Rows;
        };
        let [.., rows, columns] = x.dims() else {
            return Self::Rows;
        };
        match (row, column) {
            (_, 1) => Self::Rows,
            _ if *columns <= 1 => Self::Rows,
            (1, _) => Self::Columns,
            _ if *rows <= 1 => Self::Columns,
            _ => Self::Strided,
        }
    }
}

/// `batch` products of A (m, k) and B (k, n).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Problem {
    /// Which operation.
    pub op: Op,
    /// Matrices.
    pub batch: usize,
    /// Rows of A.
    pub m: usize,
    /// Columns of B.
    pub n: usize,
    /// Columns of A.
    pub k: usize,
    /// Of A, B and the result.
    pub dtype: DType,
    /// Of A and of B.
    pub layout: [Layout; 2],
}

impl fmt::Display for Problem {
    /// `matmul f32 8 × (64×32·32×16)`
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { batch, m, n, k, .. } = self;
        let op = format!("{:?}", self.op).to_lowercase();
        write!(
            f,
            "{op} {} {batch} × ({m}×{k}·{k}×{n})",
            self.dtype.as_str()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::{Device, Result};

    #[test]
    fn layouts_are_told_apart() -> Result<()> {
        let x = Tensor::zeros((2, 4, 6), DType::F32, &Device::Cpu)?;
        assert_eq!(Layout::of(&x), Layout::Rows);
        assert_eq!(Layout::of(&x.t()?), Layout::Columns);
        assert_eq!(Layout::of(&x.narrow(2, 1, 3)?), Layout::Rows);
        assert_eq!(Layout::of(&x.permute((2, 1, 0))?), Layout::Strided);
        assert_eq!(Layout::of(&x.narrow(2, 0, 1)?.t()?), Layout::Columns);
        Ok(())
    }
}
