//! Levels 3 and 4 on a CPU. A row is read from memory once; later reads hit the L1 cache.
//!
//! - Level 3: plain loops with partial sums side by side (`cpu::loops`), which the compiler puts in vector registers.
//! - Level 4: the lanes are explicit (`cpu::lanes`), with fused multiply-adds and four registers of
//!   partial sums, so that the additions need not wait for each other.
//!
//! Both levels have the same traffic. In f32 both take about as long as a copy of as many bytes; in bf16 level 3 takes
//! twice as long (`kernels/src/dispatch/tables/cpu.json`). To be faster, a norm must stay in the cache between its
//! producer and its consumer.

use std::mem::MaybeUninit;

use candle_core::{Result, Tensor};
use pulp::{Arch, Simd, WithSimd};

use crate::cpu::norm_rows::{NormRows, norm_rows};
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
pub fn level3<T: Element>(x: &Tensor, w: &Tensor, b: &Tensor, eps: f64) -> Result<Tensor> {
    let (w, b, eps) = (&*Slice::<T>::new(w)?, &*Slice::<T>::new(b)?, eps as f32);
    norm_rows(x, |rows: NormRows<T>| {
        loops::widest(
            #[inline(always)]
            || {
                rows.each(
                    #[inline(always)]
                    |x, y| norm(x, Parameters { w, b, eps }, y),
                )
            },
        )
    })
}

#[inline(always)]
fn norm<T: Element>(x: &[T], Parameters { w, b, eps }: Parameters<T>, y: &mut [MaybeUninit<T>]) {
    let c = x.len() as f32;
    let mean = loops::sum(x, |x| x) / c;
    let variance = loops::sum(x, |x| (x - mean) * (x - mean)) / c;
    let scale = 1. / (variance + eps).sqrt();
    for ((y, x), (w, b)) in y.iter_mut().zip(x).zip(w.iter().zip(b)) {
        let normal = (x.widen() - mean) * scale;
        y.write(T::narrow(normal * w.widen() + b.widen()));
    }
}

/// Level 4: explicit SIMD lanes.
pub fn level4<T: Element>(x: &Tensor, w: &Tensor, b: &Tensor, eps: f64) -> Result<Tensor> {
    let (w, b, eps) = (&*Slice::<T>::new(w)?, &*Slice::<T>::new(b)?, eps as f32);
    norm_rows(x, |rows| {
        Arch::new().dispatch(InLanes(rows, Parameters { w, b, eps }))
    })
}

struct InLanes<'a, T>(NormRows<'a, T>, Parameters<'a, T>);

impl<T: Element> WithSimd for InLanes<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self(rows, parameters) = self;
        rows.each(
            #[inline(always)]
            |x, y| norm_in_lanes(simd, x, parameters, y),
        );
    }
}

#[inline(always)]
fn norm_in_lanes<S: Simd, T: Element>(
    simd: S,
    x: &[T],
    Parameters { w, b, eps }: Parameters<T>,
    y: &mut [MaybeUninit<T>],
) {
    let c = x.len() as f32;
    let mean = lanes::sum(
        simd,
        x.len(),
        #[inline(always)]
        |sum, i| simd.add_f32s(sum, lanes::load(simd, &x[i])),
    ) / c;
    let means = simd.splat_f32s(mean);
    let variance = lanes::sum(
        simd,
        x.len(),
        #[inline(always)]
        |sum, i| {
            // A lane without an element must have deviation 0.
            let deviation = simd.sub_f32s(lanes::load_or(simd, &x[i], mean), means);
            simd.mul_add_e_f32s(deviation, deviation, sum)
        },
    ) / c;
    let scale = simd.splat_f32s(1. / (variance + eps).sqrt());
    let (x, w, b) = (&x[..y.len()], &w[..y.len()], &b[..y.len()]);
    lanes::fill(
        simd,
        y,
        #[inline(always)]
        |i| {
            let x = simd.sub_f32s(lanes::load(simd, &x[i.clone()]), means);
            let w = simd.mul_f32s(scale, lanes::load(simd, &w[i.clone()]));
            simd.mul_add_e_f32s(x, w, lanes::load(simd, &b[i]))
        },
    );
}
