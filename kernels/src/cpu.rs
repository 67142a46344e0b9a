//! Helpers of CPU kernels: slices of tensors, SIMD lanes, lane functions, parallel rows.

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

/// The elements of a CPU tensor, from its first to its last.
///
/// For a contiguous tensor these are its elements in order. For a view by `narrow` or `transpose` they
/// include the elements in between: index them with the view's strides.
pub struct Slice<'a, T> {
    storage: StorageRef<'a>,
    start: usize,
    len: usize,
    element: PhantomData<T>,
}

impl<'a, T: WithDType> Slice<'a, T> {
    /// Returns the elements of a contiguous tensor, in order.
    ///
    /// # Errors
    /// If it is not contiguous, of another dtype or on another device.
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

    /// Returns the elements from the view's first to its last.
    ///
    /// # Errors
    /// If it is of another dtype or on another device.
    pub fn strided(x: &'a Tensor) -> Result<Self> {
        let (storage, layout) = x.storage_and_layout();
        let span = |(&dim, &stride): (&usize, &usize)| dim.saturating_sub(1) * stride;
        let last: usize = layout.dims().iter().zip(layout.stride()).map(span).sum();
        // An empty view may start past the end.
        let (start, len) = match x.elem_count() {
            0 => (0, 0),
            _ => (layout.start_offset(), last + 1),
        };
        match &*storage {
            // Checks the dtype.
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

/// `new` has checked the dtype, so the empty slice is never used.
fn elements<T: WithDType>(cpu: &CpuStorage) -> &[T] {
    cpu.as_slice().unwrap_or_default()
}

/// Returns (rows, C): the last dimension, and the product of all others.
pub fn rows(x: &Tensor) -> Result<(usize, usize)> {
    let c = x.dim(candle_core::D::Minus1)?;
    Ok((x.elem_count() / c.max(1), c))
}
