//! What the kernels on a CPU share: slices of tensors, lanes, functions of lanes, rows in parallel.

pub mod lanes;
pub mod loops;
pub mod math;
pub(crate) mod norm_rows;
pub mod parallel;
mod spin_pool;

use std::marker::PhantomData;
use std::ops::Deref;

use candle_core::{CpuStorage, Result, Storage, StorageRef, Tensor, WithDType};

use crate::error::mismatch;

/// The elements of a tensor on the CPU, from its first to its last.
///
/// Of a contiguous tensor those are its elements in order. Of a view, `narrow` or `transpose`, they
/// are what lies between: index them with the view's own strides.
pub struct Slice<'a, T> {
    storage: StorageRef<'a>,
    start: usize,
    len: usize,
    element: PhantomData<T>,
}

impl<'a, T: WithDType> Slice<'a, T> {
    /// The elements of a contiguous tensor, in order.
    ///
    /// # Errors
    /// When it is not contiguous, of another format or on another device.
    pub fn new(x: &'a Tensor) -> Result<Self> {
        if !x.is_contiguous() {
            return Err(mismatch(
                "CPU kernel",
                "a contiguous tensor",
                format!("strides {:?}", x.stride()),
            ));
        }
        Self::strided(x)
    }

    /// The elements from the view's first to its last.
    ///
    /// # Errors
    /// When it is of another format or on another device.
    pub fn strided(x: &'a Tensor) -> Result<Self> {
        let (storage, layout) = x.storage_and_layout();
        let span = |(&dim, &stride): (&usize, &usize)| dim.saturating_sub(1) * stride;
        let last: usize = layout.dims().iter().zip(layout.stride()).map(span).sum();
        // A view of nothing may begin behind the end.
        let (start, len) = match x.elem_count() {
            0 => (0, 0),
            _ => (layout.start_offset(), last + 1),
        };
        match &*storage {
            // Checks the format.
            Storage::Cpu(cpu) => cpu.as_slice::<T>()?,
            _ => {
                return Err(mismatch(
                    "CPU kernel",
                    "a tensor on the CPU",
                    "another device",
                ));
            }
        };
        Ok(Self {
            storage,
            start,
            len,
            element: PhantomData,
        })
    }
}

impl<T: WithDType> Deref for Slice<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        let all = match &*self.storage {
            Storage::Cpu(cpu) => elements(cpu),
            _ => &[],
        };
        &all[self.start..self.start + self.len]
    }
}

/// `new` has checked the format: the empty slice is never seen.
fn elements<T: WithDType>(cpu: &CpuStorage) -> &[T] {
    cpu.as_slice().unwrap_or_default()
}

/// (rows, C): the last dimension, and all the others together.
pub fn rows(x: &Tensor) -> Result<(usize, usize)> {
    let c = x.dim(candle_core::D::Minus1)?;
    Ok((x.elem_count() / c.max(1), c))
}
