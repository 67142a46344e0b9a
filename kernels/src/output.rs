//! Room for what a kernel writes.

use std::cell::Cell;

use candle_core::{DType, Device, Result, Shape, Tensor};

use crate::element::Element;
use crate::finally::Finally;
use crate::graph;

thread_local! {
    static POISON: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f` with every output of this thread's kernels filled with NaN before the kernel runs: an
/// element that a kernel forgets shows.
pub fn poisoned<T>(f: impl FnOnce() -> T) -> T {
    let before = POISON.replace(true);
    let _as_before = Finally(|| POISON.set(before));
    f()
}

/// A tensor for a kernel on `device` to write, all of it; in a recording, where the pass before it
/// [wrote](graph::Buffers).
///
/// # Errors
/// When there is no memory, or a recording does otherwise than the pass before it.
pub(crate) fn tensor(shape: impl Into<Shape>, dtype: DType, device: &Device) -> Result<Tensor> {
    let shape = shape.into();
    if let Some(x) = graph::next(&shape, dtype)? {
        return Ok(x);
    }
    let x = fresh(shape, dtype, device)?;
    graph::keep(&x);
    Ok(x)
}

fn fresh(shape: Shape, dtype: DType, device: &Device) -> Result<Tensor> {
    // A GPU refuses to fill nothing.
    if POISON.get() && dtype.is_float() && shape.elem_count() > 0 {
        return Tensor::full(f32::NAN, shape, device)?.to_dtype(dtype);
    }
    if device.is_cpu() {
        // For the simulator, which copies all of a tensor, also one that a kernel only writes.
        return Tensor::zeros(shape, dtype, device);
    }
    // SAFETY: the memory is a GPU's, where no bits are uninitialised to Rust: a host's copy of what a kernel forgot
    // has whatever was there before. The tests run each kernel on poisoned memory and look for NaN.
    unsafe { Tensor::empty(shape, dtype, device) }
}

/// `len` elements for a kernel on the CPU to write, uninitialised.
///
/// Zeroing them first would be a second pass over memory: 4 MiB take longer to zero than a softmax
/// takes to fill them.
///
/// # Safety
/// No element is read before it was written, and all are before the vector becomes a tensor.
pub(crate) unsafe fn vec<T: Element>(len: usize) -> Vec<T> {
    if POISON.get() {
        return vec![T::NAN; len];
    }
    let mut v = Vec::with_capacity(len);
    // SAFETY: the capacity is `len`. That the elements are written before anything reads them, which `set_len` asks
    // for now, the caller has promised; T is Copy, so that nothing is dropped when one is written over.
    #[allow(clippy::uninit_vec)]
    unsafe {
        v.set_len(len)
    };
    v
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
    fn poison_ends_with_the_outermost() {
        poisoned(|| {
            poisoned(|| ());
            assert!(POISON.get());
        });
        assert!(!POISON.get());
    }
}
