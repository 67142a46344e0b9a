//! Both levels on a CPU. A row comes from memory once; what is read again is in the first-level cache.
//!
//! - Level 3, against candle's ops: the sum and the norm in one sweep over the rows, where they are two
//!   with the sum going through memory between them; and partial sums side by side (`cpu::loops`).
//! - Level 4: the lanes are explicit (`cpu::lanes`), with fused multiply-adds and four registers of
//!   partial sums, so that the additions need not wait for each other.
//!
//! The bytes are the same at both, and from memory both are near what a copy of as many bytes takes. To
//! be faster, a norm has to stay in the cache between its producer and its consumer.

use std::mem::MaybeUninit;

use candle_core::{Result, Tensor};
use pulp::{Arch, Simd, WithSimd};

use crate::cpu::add_rows::{AddRows, add_norm};
use crate::cpu::{Slice, lanes, loops};
use crate::element::Element;

/// Level 3: plain loops.
pub fn level3<T: Element>(
    x: &Tensor,
    residual: Option<&Tensor>,
    w: &Tensor,
    eps: f64,
) -> Result<(Tensor, Tensor)> {
    let w = &*Slice::<T>::new(w)?;
    add_norm(x, residual, |rows: AddRows<T>| {
        loops::widest(
            #[inline(always)]
            || {
                rows.each(
                    loops::add,
                    #[inline(always)]
                    |s, y| norm(s, w, eps as f32, y),
                )
            },
        )
    })
}

#[inline(always)]
fn norm<T: Element>(s: &[T], w: &[T], eps: f32, y: &mut [MaybeUninit<T>]) {
    let mean = loops::sum(
        s,
        #[inline(always)]
        |s| s * s,
    ) / s.len() as f32;
    let scale = 1. / (mean + eps).sqrt();
    for ((y, s), w) in y.iter_mut().zip(s).zip(w) {
        y.write(T::narrow(s.widen() * scale * w.widen()));
    }
}

/// Level 4: a register as the warp.
pub fn level4<T: Element>(
    x: &Tensor,
    residual: Option<&Tensor>,
    w: &Tensor,
    eps: f64,
) -> Result<(Tensor, Tensor)> {
    let w = &*Slice::<T>::new(w)?;
    add_norm(x, residual, |rows| {
        Arch::new().dispatch(InLanes(rows, w, eps as f32))
    })
}

struct InLanes<'a, T>(AddRows<'a, T>, &'a [T], f32);

impl<T: Element> WithSimd for InLanes<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self(rows, w, eps) = self;
        rows.each(
            #[inline(always)]
            |x, residual, s| lanes::add(simd, x, residual, s),
            #[inline(always)]
            |s, y| norm_in_lanes(simd, s, w, eps, y),
        );
    }
}

#[inline(always)]
fn norm_in_lanes<S: Simd, T: Element>(
    simd: S,
    s: &[T],
    w: &[T],
    eps: f32,
    y: &mut [MaybeUninit<T>],
) {
    let squares = lanes::sum(
        simd,
        s.len(),
        #[inline(always)]
        |sum, i| {
            let s = lanes::load(simd, &s[i]);
            simd.mul_add_e_f32s(s, s, sum)
        },
    );
    let scale = simd.splat_f32s(1. / (squares / s.len() as f32 + eps).sqrt());
    let (s, w) = (&s[..y.len()], &w[..y.len()]);
    lanes::fill(
        simd,
        y,
        #[inline(always)]
        |i| {
            let s = simd.mul_f32s(lanes::load(simd, &s[i.clone()]), scale);
            simd.mul_f32s(s, lanes::load(simd, &w[i]))
        },
    );
}
