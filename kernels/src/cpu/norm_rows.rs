//! The loop over rows that both norms share: rows of x in, rows of y out, in parallel.

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
    /// Calls `norm(x, y)` for one row after the other.
    #[inline(always)]
    pub fn each(self, norm: impl Fn(&[T], &mut [MaybeUninit<T>])) {
        // A loop, not `for_each`: what is called from there would not be inlined here.
        for (x, y) in self.x.chunks(self.c).zip(self.y.chunks_mut(self.c)) {
            norm(x, y);
        }
    }
}

/// y, like x: `task` is called with rows, in parallel where there are many, and has to write each of y.
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
    // SAFETY: the tasks have all rows among them, and `task` writes each.
    let y = unsafe { y.assume_init() }.into_vec();
    Tensor::from_vec(y, x.shape(), x.device())
}

/// The operands of a norm agree: (rows, C).
///
/// # Errors
/// When one of `parameters` is not (C), or not of the dtype of x.
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
