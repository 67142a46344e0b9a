//! Problems: the properties of an operation that the choice of a kernel depends on.

use std::fmt;
use std::str::FromStr;

use candle_core::{DType, Tensor};
use serde::de::IntoDeserializer;
use serde::{Deserialize, Serialize};

use crate::cpu::rows;

/// Operations with several kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// A·B with any strides.
    Matmul,
    /// x·wᵀ + b
    Linear,
    /// x·wᵀ + b + residual
    LinearResidual,
    /// gelu(x·wᵀ + b)
    LinearGelu,
    /// silu(x·Wgᵀ) ⊙ (x·Wuᵀ)
    LinearSwiglu,
    /// softmax(q·kᵀ/√D)·v over all keys: `batch` heads, m queries, n keys, k = D.
    Attention,
    /// A decode step over a cache: `batch` key heads, m queries that read the same keys, n keys of the bucket, k = D.
    AttentionStep,
    /// RMS norm: m rows of n columns.
    RmsNorm,
    /// Layer norm: m rows of n columns.
    LayerNorm,
}

impl fmt::Display for Op {
    /// Formats the name as in a table's file: `linear_gelu`.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.serialize(f)
    }
}

impl FromStr for Op {
    type Err = serde::de::value::Error;

    /// Parses the name in a table's file.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::deserialize(name.into_deserializer())
    }
}

/// Memory layout of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// Contiguous rows.
    Rows,
    /// Contiguous columns: a transposed view.
    Columns,
    /// Part of a larger matrix, or with gaps.
    Strided,
}

impl Layout {
    /// Returns the layout of the last two dimensions.
    pub fn of(x: &Tensor) -> Self {
        let [.., row, column] = x.stride() else {
            return Self::Rows;
        };
        let [.., rows, columns] = x.dims() else {
            return Self::Rows;
        };
        let after = |stride: &usize, count: usize, other: usize| count <= 1 || *stride == other;
        if after(column, *columns, 1) && after(row, *rows, *columns) {
            Self::Rows
        } else if after(row, *rows, 1) && after(column, *columns, *rows) {
            Self::Columns
        } else {
            Self::Strided
        }
    }
}

/// `batch` matmuls of A (m, k) and B (k, n).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Problem {
    /// The operation.
    pub op: Op,
    /// Number of matrices.
    pub batch: usize,
    /// Rows of A.
    pub m: usize,
    /// Columns of B.
    pub n: usize,
    /// Columns of A.
    pub k: usize,
    /// dtype of A, B and the result.
    pub dtype: DType,
    /// Layouts of A and B.
    pub layout: [Layout; 2],
}

impl Problem {
    /// An operation on each row of x (…, N).
    ///
    /// # Errors
    /// If x has no dimensions.
    pub fn of_rows(op: Op, x: &Tensor) -> candle_core::Result<Self> {
        let (m, n) = rows(x)?;
        Ok(Self {
            op,
            batch: 1,
            m,
            n,
            k: 1,
            dtype: x.dtype(),
            layout: [Layout::Rows; 2],
        })
    }
}

impl fmt::Display for Problem {
    /// `matmul f32 8 × (64×32·32×16)`
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { batch, m, n, k, .. } = self;
        let (op, dtype) = (self.op, self.dtype.as_str());
        write!(f, "{op} {dtype} {batch} × ({m}×{k}·{k}×{n})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::Device;

    #[test]
    fn a_problem_is_named_as_in_a_file() {
        let problem = Problem {
            op: Op::LinearGelu,
            batch: 1,
            m: 4,
            n: 8,
            k: 2,
            dtype: DType::BF16,
            layout: [Layout::Rows; 2],
        };
        assert_eq!(problem.to_string(), "linear_gelu bf16 1 × (4×2·2×8)");
    }

    #[test]
    fn layouts_are_distinguished() -> candle_core::Result<()> {
        let x = Tensor::zeros((2, 4, 6), DType::F32, &Device::Cpu)?;
        assert_eq!(Layout::of(&x), Layout::Rows);
        assert_eq!(Layout::of(&x.t()?), Layout::Columns);
        assert_eq!(Layout::of(&x.narrow(2, 1, 3)?), Layout::Strided);
        assert_eq!(Layout::of(&x.narrow(1, 1, 2)?), Layout::Rows);
        assert_eq!(
            Layout::of(&x.narrow(1, 1, 1)?.narrow(2, 1, 3)?),
            Layout::Rows
        );
        assert_eq!(Layout::of(&x.permute((2, 1, 0))?), Layout::Strided);
        assert_eq!(Layout::of(&x.narrow(2, 0, 1)?), Layout::Strided);
        Ok(())
    }
}
