//! Memory for the outputs of kernels.

use std::cell::Cell;
use std::mem::MaybeUninit;

use candle_core::{DType, Device, Result, Shape, Tensor};

use crate::cuda_graph;
use crate::element::Element;

thread_local! {
    static POISON: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f` with every output of this thread's kernels filled with NaN before the kernel runs, so that
/// missing writes are visible.
pub fn poisoned<T>(f: impl FnOnce() -> T) -> T {
    let before = POISON.replace(true);
    scopeguard::defer! { POISON.set(before) }
    f()
}

/// Returns a tensor on `device`, whose every element a kernel has to write. In a recording it is the tensor that
/// the same launch of the previous pass [wrote](cuda_graph::Buffers).
///
/// # Errors
/// If there is no memory, or if a recording differs from the previous pass.
pub fn tensor(shape: impl Into<Shape>, dtype: DType, device: &Device) -> Result<Tensor> {
    let shape = shape.into();
    if let Some(x) = cuda_graph::next(&shape, dtype)? {
        return Ok(x);
    }
    let x = fresh(shape, dtype, device)?;
    cuda_graph::keep(&x);
    Ok(x)
}

fn fresh(shape: Shape, dtype: DType, device: &Device) -> Result<Tensor> {
    // On a GPU, filling a tensor without elements is an error.
    if POISON.get() && dtype.is_float() && shape.elem_count() > 0 {
        return Tensor::full(f32::NAN, shape, device)?.to_dtype(dtype);
    }
    if device.is_cpu() {
        // The simulator copies whole tensors, including those that a kernel only writes.
        return Tensor::zeros(shape, dtype, device);
    }
    // SAFETY: the memory is a GPU's, where Rust has no uninitialised bits: elements that a kernel misses have
    // arbitrary earlier contents. The tests run each kernel on poisoned memory and look for NaN.
    unsafe { Tensor::empty(shape, dtype, device) }
}

/// Returns uninitialised memory for `len` elements that a kernel on the CPU writes.
///
/// Zeroing it first would cost a second pass over memory: zeroing 4 MiB takes longer than a softmax
/// takes to fill them. The type prevents reads before a write. A kernel writes elements with
/// [`MaybeUninit::write`] or with the functions of [`lanes`](crate::cpu::lanes). Once all are written,
/// `assume_init` turns the memory into elements.
pub(crate) fn uninit<T: Element>(len: usize) -> Box<[MaybeUninit<T>]> {
    if POISON.get() {
        return vec![MaybeUninit::new(T::NAN); len].into_boxed_slice();
    }
    Box::new_uninit_slice(len)
}

/// Returns `x` as memory to write, for functions that also accept uninitialised memory.
///
/// # Safety
/// Only initialised elements may be written, never `MaybeUninit::uninit()`.
pub(crate) unsafe fn as_uninit<T: Element>(x: &mut [T]) -> &mut [MaybeUninit<T>] {
    // SAFETY: `MaybeUninit<T>` has the layout of T, and the caller writes only initialised elements.
    unsafe { &mut *(std::ptr::from_mut(x) as *mut [MaybeUninit<T>]) }
}

/// Returns `len` zeros that a kernel on the CPU overwrites with intermediate results before it reads them.
///
/// For small buffers that are read and written many times, so that zeroing takes a small share of the time.
pub(crate) fn scratch(len: usize) -> Vec<f32> {
    let x = if POISON.get() { f32::NAN } else { 0. };
    // Not `vec![0.; len]`, which calls `calloc`: before glibc 2.41 that bypasses the thread's cache of freed memory, and
    // a decode step over 16 keys takes 10% longer.
    std::iter::repeat_n(x, len).collect()
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn a_panic_ends_the_poison() {
        let panics = AssertUnwindSafe(|| poisoned(|| panic!("of the test")));
        assert!(catch_unwind(panics).is_err());
        assert!(!POISON.get());
    }

    #[test]
    fn poison_fills_memory_with_nan() {
        let x = poisoned(|| uninit::<f32>(3));
        // SAFETY: poisoned memory is initialised.
        assert!(unsafe { x.assume_init() }.iter().all(|x| x.is_nan()));
        assert!(poisoned(|| scratch(3)).iter().all(|x| x.is_nan()));
        assert_eq!(scratch(3), [0.; 3]);
    }

    #[test]
    fn poison_ends_with_the_outermost_call() {
        poisoned(|| {
            poisoned(|| ());
            assert!(POISON.get());
        });
        assert!(!POISON.get());
    }
}
