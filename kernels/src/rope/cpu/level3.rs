//! Level 3 on a CPU: one pass, plain loops.
//!
//! Compared with level 2: q, k and v are views of one tensor, with any order of heads and tokens. Level 2
//! copies each to put heads first, rotates q and k into new tensors, and copies k and v again into the cache.
//! Here each element is read once and written once to its final place. To be faster, rotate in the attention,
//! which reads q anyway.

use std::mem::MaybeUninit;

use candle_core::{Result, Tensor};
use pulp::{Arch, Simd, WithSimd};

use super::{Inputs, Task};
use crate::attention::Cache;
use crate::element::Element;
use crate::output;
use crate::rope::Params;

/// Rotates q and k, and writes k and v to the cache.
pub fn rope_append<T: Element>(x: &Params, cache: &mut Cache, position: usize) -> Result<Tensor> {
    super::rope_append::<T>(x, cache, position, |inputs, task| {
        Arch::new().dispatch(Loops { inputs, task })
    })
}

/// One task, compiled for the widest vectors of this CPU.
struct Loops<'a, T> {
    inputs: Inputs<'a, T>,
    task: Task<'a, T>,
}

impl<T: Element> WithSimd for Loops<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let x = self.inputs;
        let d = x.head_dim;
        match self.task {
            Task::Rotate { first, y } => {
                for (i, y) in y.chunks_exact_mut(d).enumerate() {
                    let (q, angles) = x.query(first + i);
                    rotate(q, angles, y);
                }
            }
            Task::Append {
                batch,
                head,
                mut keys,
                values,
            } => {
                let mut key = output::uninit::<T>(d);
                let values = values[x.position * d..].chunks_exact_mut(d);
                for (t, value) in (0..x.tokens).zip(values) {
                    let key = rotate(x.k.get(batch, t, head), x.angles(t), &mut key);
                    keys.write(x.position + t, key);
                    value.copy_from_slice(x.v.get(batch, t, head));
                }
            }
        }
    }
}

/// (x₁, x₂) → (x₁·cos − x₂·sin, x₂·cos + x₁·sin), the halves of a head. Returns y, initialised.
#[inline(always)]
fn rotate<'y, T: Element>(
    x: &[T],
    (cos, sin): (&[T], &[T]),
    y: &'y mut [MaybeUninit<T>],
) -> &'y [T] {
    let half = cos.len();
    assert_eq!(y.len(), 2 * half);
    let ((x1, x2), (y1, y2)) = (x.split_at(half), y.split_at_mut(half));
    let (x2, y1, y2, sin) = (&x2[..half], &mut y1[..half], &mut y2[..half], &sin[..half]);
    for i in 0..half {
        let (a, b) = (x1[i].widen(), x2[i].widen());
        let (cos, sin) = (cos[i].widen(), sin[i].widen());
        y1[i].write(T::narrow(a * cos - b * sin));
        y2[i].write(T::narrow(b * cos + a * sin));
    }
    // SAFETY: the loop writes both halves.
    unsafe { y.assume_init_ref() }
}
