//! Levels 3 and 4 on a CPU. A row is read from memory once; later reads hit the L1 cache.
//!
//! - Level 3: plain loops with partial sums side by side (`cpu::loops`), which the compiler puts in vector registers.
//! - Level 4: the lanes are explicit (`cpu::lanes`), with fused multiply-adds and four registers of
//!   partial sums, so that the additions need not wait for each other.
//!
//! Both levels have the same traffic. In f32 both take about as long as a copy of as many bytes; in bf16 level 3 takes
//! twice as long (`kernels/src/dispatch/tables/cpu.json`). To be faster, a norm must stay in the cache between its producer and its consumer.

use std::mem::MaybeUninit;

use candle_core::{Result, Tensor};
use pulp::{Arch, Simd, WithSimd};

use crate::cpu::norm_rows::{NormRows, norm_rows};
use crate::cpu::{Slice, lanes, loops};
use crate::element::Element;

/// Level 3: plain loops.
pub fn level3<T: Element>(x: &Tensor, w: &Tensor, eps: f64) -> Result<Tensor> {
    let w = &*Slice::<T>::new(w)?;
    norm_rows(x, |rows: NormRows<T>| {
        loops::widest(
            #[inline(always)]
            || {
                rows.each(
                    #[inline(always)]
                    |x, y| norm(x, w, eps as f32, y),
                )
            },
        )
    })
}

#[inline(always)]
fn norm<T: Element>(x: &[T], w: &[T], eps: f32, y: &mut [MaybeUninit<T>]) {
    let mean = loops::sum(
        x,
        #[inline(always)]
        |x| x * x,
    ) / x.len() as f32;
    let scale = 1. / (mean + eps).sqrt();
    for ((y, x), w) in y.iter_mut().zip(x).zip(w) {
        y.write(T::narrow(x.widen() * scale * w.widen()));
    }
}

/// Level 4: explicit SIMD lanes.
pub fn level4<T: Element>(x: &Tensor, w: &Tensor, eps: f64) -> Result<Tensor> {
    let w = &*Slice::<T>::new(w)?;
    norm_rows(x, |rows| Arch::new().dispatch(InLanes(rows, w, eps as f32)))
}

struct InLanes<'a, T>(NormRows<'a, T>, &'a [T], f32);

impl<T: Element> WithSimd for InLanes<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self(rows, w, eps) = self;
        rows.each(
            #[inline(always)]
            |x, y| norm_in_lanes(simd, x, w, eps, y),
        );
    }
}

#[inline(always)]
fn norm_in_lanes<S: Simd, T: Element>(
    simd: S,
    x: &[T],
    w: &[T],
    eps: f32,
    y: &mut [MaybeUninit<T>],
) {
    let squares = lanes::sum(
        simd,
        x.len(),
        #[inline(always)]
        |sum, i| {
            let x = lanes::load(simd, &x[i]);
            simd.mul_add_e_f32s(x, x, sum)
        },
    );
    let scale = simd.splat_f32s(1. / (squares / x.len() as f32 + eps).sqrt());
    let (x, w) = (&x[..y.len()], &w[..y.len()]);
    lanes::fill(
        simd,
        y,
        #[inline(always)]
        |i| {
            let x = simd.mul_f32s(lanes::load(simd, &x[i.clone()]), scale);
            simd.mul_f32s(x, lanes::load(simd, &w[i]))
        },
    );
}
