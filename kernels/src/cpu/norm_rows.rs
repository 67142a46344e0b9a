//! The parallel loop over rows that both norms share.

use std::mem::MaybeUninit;

use candle_core::{Result, Tensor};

use super::{Slice, parallel, rows};
use crate::element::{Element, same_dtype};
use crate::error::mismatch;
use crate::output;

/// Some rows of x and y.
pub struct NormRows<'a, T> {
    x: &'a [T],
    y: &'a mut [MaybeUninit<T>],
    c: usize,
}

impl<T: Element> NormRows<'_, T> {
    /// Calls `norm(x, y)` for each row.
    #[inline(always)]
    pub fn each(self, norm: impl Fn(&[T], &mut [MaybeUninit<T>])) {
        // A `for` loop, because closures in `for_each` would not be inlined here.
        for (x, y) in self.x.chunks(self.c).zip(self.y.chunks_mut(self.c)) {
            norm(x, y);
        }
    }
}

/// Returns y, shaped like x: `task` gets rows, in parallel if there are many, and must write all of y.
pub fn norm_rows<T: Element>(
    x: &Tensor,
    task: impl Fn(NormRows<T>) + Send + Sync,
) -> Result<Tensor> {
    let (rows, c) = rows(x)?;
    let n = parallel::rows_per_task(rows, c) * c.max(1);
    let from = Slice::<T>::new(x)?;
    let mut y = output::uninit::<T>(rows * c);
    let chunks = from.chunks(n).zip(y.chunks_mut(n));
    parallel::for_each(chunks.map(|(x, y)| NormRows { x, y, c }), task);
    // SAFETY: the tasks cover all rows, and `task` writes each.
    let y = unsafe { y.assume_init() }.into_vec();
    Tensor::from_vec(y, x.shape(), x.device())
}

/// Checks the operands of a norm; returns (rows, C).
///
/// # Errors
/// If one of `parameters` is not (C), or has another dtype than x.
pub fn check(kernel: &str, x: &Tensor, parameters: &[(&str, &Tensor)]) -> Result<(usize, usize)> {
    let (rows, c) = rows(x)?;
    for (name, parameter) in parameters {
        same_dtype(kernel, &[x, parameter])?;
        if parameter.dims() != [c] {
            let found = format!("{:?}", parameter.dims());
            return Err(mismatch(kernel, format!("{name} ({c})"), found));
        }
    }
    Ok((rows, c))
}
