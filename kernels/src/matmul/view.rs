//! A batch of matrices as they lie in memory.

use candle_core::{Result, Tensor};

use crate::error::mismatch;

/// Element (i, j) of matrix b lies `batch`·b + `row`·i + `column`·j after the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// Matrices.
    pub len: usize,
    /// Rows and columns of each.
    pub dims: (usize, usize),
    /// From a matrix to the next; 0 for one that all share.
    pub batch: usize,
    /// From a row to the next.
    pub row: usize,
    /// From a column to the next.
    pub column: usize,
}

impl View {
    /// Returns the view of a tensor with two dimensions or more.
    ///
    /// # Errors
    /// When it has fewer, or its batch dimensions are not at one distance from each other.
    #[inline(always)]
    pub fn of(kernel: &str, x: &Tensor) -> Result<Self> {
        let ([batches @ .., rows, columns], [strides @ .., row, column]) = (x.dims(), x.stride())
        else {
            return Err(mismatch(
                kernel,
                "two dimensions or more",
                format!("{:?}", x.dims()),
            ));
        };
        let Some(batch) = distance(batches, strides) else {
            let found = format!("{:?} with strides {:?}", x.dims(), x.stride());
            return Err(mismatch(kernel, "batch dimensions at one distance", found));
        };
        Ok(Self {
            len: batches.iter().product(),
            dims: (*rows, *columns),
            batch,
            row: *row,
            column: *column,
        })
    }

    /// Elements that a matrix spans, from its first to its last.
    pub fn extent(&self) -> usize {
        let (rows, columns) = self.dims;
        rows.saturating_sub(1) * self.row + columns.saturating_sub(1) * self.column + 1
    }
}

/// From one matrix to the next, in the order of `dims`, whichever dimension that is in. None where it is not the
/// same everywhere.
fn distance(dims: &[usize], strides: &[usize]) -> Option<usize> {
    let several = dims.iter().zip(strides).filter(|(dim, _)| **dim != 1);
    let mut several = several.rev();
    let Some((&dim, &first)) = several.next() else {
        return Some(0);
    };
    let mut next = dim * first;
    for (&dim, &stride) in several {
        if stride != next {
            return None;
        }
        next *= dim;
    }
    Some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::{DType, Device};

    #[test]
    fn distances_of_a_batch() -> Result<()> {
        let x = Tensor::zeros((2, 3, 4, 5), DType::F32, &Device::Cpu)?;
        let view = View::of("test", &x)?;
        assert_eq!((view.len, view.batch, view.row, view.column), (6, 20, 5, 1));
        let view = View::of("test", &x.t()?)?;
        assert_eq!(
            (view.dims, view.batch, view.row, view.column),
            ((5, 4), 20, 1, 5)
        );
        let shared = Tensor::zeros((4, 5), DType::F32, &Device::Cpu)?.broadcast_as((7, 4, 5))?;
        assert_eq!(View::of("test", &shared)?.batch, 0);
        assert!(View::of("test", &x.transpose(0, 1)?).is_err());
        assert!(View::of("test", &x.flatten_all()?).is_err());
        Ok(())
    }
}
