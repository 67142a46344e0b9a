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

/// w, b and eps.
#[derive(Clone, Copy)]
struct Parameters<'a, T> {
    w: &'a [T],
    b: &'a [T],
    eps: f32,
}

/// Level 3: plain loops.
pub fn level3<T: Element>(
    x: &Tensor,
    residual: Option<&Tensor>,
    w: &Tensor,
    b: &Tensor,
    eps: f64,
) -> Result<(Tensor, Tensor)> {
    let (w, b, eps) = (&*Slice::<T>::new(w)?, &*Slice::<T>::new(b)?, eps as f32);
    add_norm(x, residual, |rows: AddRows<T>| {
        loops::widest(
            #[inline(always)]
            || {
                rows.each(
                    loops::add,
                    #[inline(always)]
                    |s, y| norm(s, Parameters { w, b, eps }, y),
                )
            },
        )
    })
}

#[inline(always)]
fn norm<T: Element>(s: &[T], Parameters { w, b, eps }: Parameters<T>, y: &mut [MaybeUninit<T>]) {
    let c = s.len() as f32;
    let mean = loops::sum(s, |s| s) / c;
    let variance = loops::sum(s, |s| (s - mean) * (s - mean)) / c;
    let scale = 1. / (variance + eps).sqrt();
    for ((y, s), (w, b)) in y.iter_mut().zip(s).zip(w.iter().zip(b)) {
        let normal = (s.widen() - mean) * scale;
        y.write(T::narrow(normal * w.widen() + b.widen()));
    }
}

/// Level 4: a register as the warp.
pub fn level4<T: Element>(
    x: &Tensor,
    residual: Option<&Tensor>,
    w: &Tensor,
    b: &Tensor,
    eps: f64,
) -> Result<(Tensor, Tensor)> {
    let (w, b, eps) = (&*Slice::<T>::new(w)?, &*Slice::<T>::new(b)?, eps as f32);
    add_norm(x, residual, |rows| {
        Arch::new().dispatch(InLanes(rows, Parameters { w, b, eps }))
    })
}

struct InLanes<'a, T>(AddRows<'a, T>, Parameters<'a, T>);

impl<T: Element> WithSimd for InLanes<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self(rows, parameters) = self;
        rows.each(
            #[inline(always)]
            |x, residual, s| lanes::add(simd, x, residual, s),
            #[inline(always)]
            |s, y| norm_in_lanes(simd, s, parameters, y),
        );
    }
}

#[inline(always)]
fn norm_in_lanes<S: Simd, T: Element>(
    simd: S,
    s: &[T],
    Parameters { w, b, eps }: Parameters<T>,
    y: &mut [MaybeUninit<T>],
) {
    let c = s.len() as f32;
    let mean = lanes::sum(
        simd,
        s.len(),
        #[inline(always)]
        |sum, i| simd.add_f32s(sum, lanes::load(simd, &s[i])),
    ) / c;
    let means = simd.splat_f32s(mean);
    let variance = lanes::sum(
        simd,
        s.len(),
        #[inline(always)]
        |sum, i| {
            // A lane without an element deviates by nothing.
            let deviation = simd.sub_f32s(lanes::load_or(simd, &s[i], mean), means);
            simd.mul_add_e_f32s(deviation, deviation, sum)
        },
    ) / c;
    let scale = simd.splat_f32s(1. / (variance + eps).sqrt());
    let (s, w, b) = (&s[..y.len()], &w[..y.len()], &b[..y.len()]);
    lanes::fill(
        simd,
        y,
        #[inline(always)]
        |i| {
            let s = simd.sub_f32s(lanes::load(simd, &s[i.clone()]), means);
            let w = simd.mul_f32s(scale, lanes::load(simd, &w[i.clone()]));
            simd.mul_add_e_f32s(s, w, lanes::load(simd, &b[i]))
        },
    );
}
