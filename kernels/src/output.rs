//! Room for what a kernel writes.

use std::cell::Cell;

use candle_core::{DType, Device, Result, Shape, Tensor};

use crate::element::Element;
use crate::graph;

thread_local! {
    static POISON: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f` with every output of this thread's kernels filled with NaN before the kernel runs: an
/// element that a kernel forgets shows.
pub fn poisoned<T>(f: impl FnOnce() -> T) -> T {
    let before = POISON.replace(true);
    let value = f();
    POISON.set(before);
    value
}

/// A tensor for a kernel on `device` to write, all of it; in a recording, where the pass before it
/// [wrote](graph::Buffers).
///
/// # Errors
/// When there is no memory, or a recording does otherwise than the pass before it.
pub fn tensor(shape: impl Into<Shape>, dtype: DType, device: &Device) -> Result<Tensor> {
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
    // SAFETY: the callers are the launches of this crate, which hand it to a kernel that writes every
    // element before anything reads it; the tests run each on poisoned memory and look for NaN.
    unsafe { Tensor::empty(shape, dtype, device) }
}

/// `len` elements for a kernel on the CPU to write, all of them.
///
/// Zeroing them first would be a second pass over memory: 4 MiB take longer to zero than a softmax
/// takes to fill them.
pub fn vec<T: Element>(len: usize) -> Vec<T> {
    if POISON.get() {
        return vec![T::NAN; len];
    }
    let mut v = Vec::with_capacity(len);
    // SAFETY: the capacity is `len`, T is f32 or bf16, of which every bit pattern is a value, and the
    // callers are the loops of this crate, which write every element before any is read; the tests
    // run each on poisoned memory and look for NaN.
    #[allow(clippy::uninit_vec)]
    unsafe {
        v.set_len(len)
    };
    v
}
