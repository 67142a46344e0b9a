//! Level 4 on a CPU: explicit lanes.
//!
//! Compared with level 3: a register holds neighbouring channels of both halves of a head, and a rotation
//! takes two products and two fused multiply-adds. It is no faster, because traffic and stores are the same,
//! the key's channels go to their blocks one by one at both levels, and the compiler vectorises level 3's
//! loop equally. To be faster, rotate in the attention, which reads q anyway, and 16 keys at a time.

use std::mem::MaybeUninit;

use candle_core::{Result, Tensor};
use pulp::{Arch, Simd, WithSimd};

use super::{Inputs, Task};
use crate::attention::Cache;
use crate::cpu::lanes;
use crate::element::Element;
use crate::output;
use crate::rope::Params;

/// Rotates q and k, and writes k and v to the cache.
pub fn rope_append<T: Element>(x: &Params, cache: &mut Cache, position: usize) -> Result<Tensor> {
    super::rope_append::<T>(x, cache, position, |inputs, task| {
        Arch::new().dispatch(Lanes { inputs, task })
    })
}

struct Lanes<'a, T> {
    inputs: Inputs<'a, T>,
    task: Task<'a, T>,
}

impl<T: Element> WithSimd for Lanes<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let x = self.inputs;
        let d = x.head_dim;
        match self.task {
            Task::Rotate { first, y } => {
                for (i, y) in y.chunks_exact_mut(d).enumerate() {
                    let (q, angles) = x.query(first + i);
                    rotate(simd, q, angles, y);
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
                    let key = rotate(simd, x.k.get(batch, t, head), x.angles(t), &mut key);
                    keys.write(x.position + t, key);
                    value.copy_from_slice(x.v.get(batch, t, head));
                }
            }
        }
    }
}

/// (x₁, x₂) → (x₁·cos − x₂·sin, x₂·cos + x₁·sin), a register of each half at a time. Returns y, initialised.
#[inline(always)]
fn rotate<'y, S: Simd, T: Element>(
    simd: S,
    x: &[T],
    (cos, sin): (&[T], &[T]),
    y: &'y mut [MaybeUninit<T>],
) -> &'y [T] {
    let (half, width) = (cos.len(), S::F32_LANES);
    assert_eq!(y.len(), 2 * half);
    let ((x1, x2), (y1, y2)) = (x.split_at(half), y.split_at_mut(half));
    let mut i = 0;
    while i < half {
        // A separate branch gives the compiler a constant length.
        if i + width <= half {
            let at = i..i + width;
            let x = [x1, x2, cos, sin].map(|x| &x[at.clone()]);
            let (first, second) = pair(simd, x);
            lanes::write(simd, &mut y1[at.clone()], first);
            lanes::write(simd, &mut y2[at], second);
        } else {
            let (first, second) = pair(simd, [x1, x2, cos, sin].map(|x| &x[i..half]));
            lanes::write(simd, &mut y1[i..], first);
            lanes::write(simd, &mut y2[i..], second);
        }
        i += width;
    }
    // SAFETY: the loop writes both halves.
    unsafe { y.assume_init_ref() }
}

/// Loads, rotates and returns a register of each half.
#[inline(always)]
fn pair<S: Simd, T: Element>(simd: S, [x1, x2, cos, sin]: [&[T]; 4]) -> (S::f32s, S::f32s) {
    let (x1, x2) = (lanes::load(simd, x1), lanes::load(simd, x2));
    let (cos, sin) = (lanes::load(simd, cos), lanes::load(simd, sin));
    let first = simd.negate_mul_add_e_f32s(x2, sin, simd.mul_f32s(x1, cos));
    let second = simd.mul_add_e_f32s(x2, cos, simd.mul_f32s(x1, sin));
    (first, second)
}
