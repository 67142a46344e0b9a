//! What the two norms share: a row of x + residual, written and then normalised.

use std::mem::MaybeUninit;

use candle_core::{Result, Tensor};

use super::{Slice, parallel, rows};
use crate::element::{Element, same_dtype};
use crate::error::mismatch;
use crate::output;

/// Some rows of x and y, and with a residual of it and of the sum.
pub struct AddRows<'a, T> {
    x: &'a [T],
    y: &'a mut [MaybeUninit<T>],
    added: Option<(&'a [T], &'a mut [MaybeUninit<T>])>,
    c: usize,
}

impl<T: Element> AddRows<'_, T> {
    /// One row after the other: `add(x, residual, s)` where there is a residual, which returns s, then
    /// `norm(s, y)`, while s is in the cache; without one s is x.
    #[inline(always)]
    pub fn each(
        self,
        add: impl for<'s> Fn(&[T], &[T], &'s mut [MaybeUninit<T>]) -> &'s mut [T],
        norm: impl Fn(&[T], &mut [MaybeUninit<T>]),
    ) {
        let c = self.c;
        let (x, y) = (self.x.chunks(c), self.y.chunks_mut(c));
        let Some((residual, sum)) = self.added else {
            // A loop, not `for_each`: what is called from there would not be inlined here.
            for (x, y) in x.zip(y) {
                norm(x, y);
            }
            return;
        };
        let added = residual.chunks(c).zip(sum.chunks_mut(c));
        for ((x, y), (residual, sum)) in x.zip(y).zip(added) {
            norm(add(x, residual, sum), y);
        }
    }
}

/// (s, y): `task` is called with rows, in parallel where there are many. Without a residual s is x itself.
pub fn add_norm<T: Element>(
    x: &Tensor,
    residual: Option<&Tensor>,
    task: impl Fn(AddRows<T>) + Send + Sync,
) -> Result<(Tensor, Tensor)> {
    let (rows, c) = rows(x)?;
    let n = parallel::rows_per_task(rows, c) * c.max(1);
    let from = (
        Slice::<T>::new(x)?,
        residual.map(Slice::<T>::new).transpose()?,
    );
    let mut y = output::uninit::<T>(rows * c);
    let mut sum = output::uninit::<T>(if residual.is_some() { rows * c } else { 0 });
    // Without a residual there are no chunks of it.
    let mut added = from
        .1
        .as_deref()
        .unwrap_or_default()
        .chunks(n)
        .zip(sum.chunks_mut(n));
    let tasks = from.0.chunks(n).zip(y.chunks_mut(n)).map(|(x, y)| AddRows {
        x,
        y,
        added: added.next(),
        c,
    });
    parallel::for_each(tasks, task);
    // SAFETY: the tasks have all rows among them, and `task` writes each of y, and of the sum where there is one.
    let (y, sum) = unsafe { (y.assume_init().into_vec(), sum.assume_init().into_vec()) };
    let y = Tensor::from_vec(y, x.shape(), x.device())?;
    match residual {
        Some(_) => Ok((Tensor::from_vec(sum, x.shape(), x.device())?, y)),
        None => Ok((x.clone(), y)),
    }
}

/// The operands of a norm agree: (rows, C).
///
/// # Errors
/// When the residual is not like x, or one of `parameters` not (C).
pub fn check(
    kernel: &str,
    x: &Tensor,
    residual: Option<&Tensor>,
    parameters: &[(&str, &Tensor)],
) -> Result<(usize, usize)> {
    let (rows, c) = rows(x)?;
    for (name, parameter) in parameters {
        if parameter.dims() != [c] {
            let found = format!("{:?}", parameter.dims());
            return Err(mismatch(kernel, format!("{name} ({c})"), found));
        }
    }
    let Some(residual) = residual else {
        return Ok((rows, c));
    };
    same_dtype(kernel, &[x, residual])?;
    if residual.dims() != x.dims() {
        let found = format!("{:?}", residual.dims());
        return Err(mismatch(kernel, format!("residual {:?}", x.dims()), found));
    }
    Ok((rows, c))
}
