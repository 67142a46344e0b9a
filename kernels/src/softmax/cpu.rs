//! Both levels on a CPU. A row is read from memory once; later reads hit the L1 cache.
//!
//! - Level 3, against candle's fused op: an exponential that the compiler can put in vector registers
//!   (`cpu::math`), where candle calls the C library's for one element at a time; and the scale in the
//!   same sweep.
//! - Level 4: the lanes are explicit (`cpu::lanes`), with fused multiply-adds in the exponential and four
//!   registers of partial sums.
//!
//! The exponentials are kept in a row of f32 per task, for any dtype, so probabilities are rounded once. The
//! exponential, about 16 instructions per register, is the bottleneck, and after it memory. To be faster, do
//! not write probabilities at all, as in attention.

use std::mem::MaybeUninit;

use candle_core::{Result, Tensor};
use pulp::{Arch, Simd, WithSimd};

use crate::cpu::{Slice, lanes, loops, math, parallel, rows};
use crate::element::Element;
use crate::output;

/// Level 3: plain loops.
pub fn level3<T: Element>(x: &Tensor, scale: f64) -> Result<Tensor> {
    each_row(x, |task: SoftmaxRows<T>| {
        loops::widest(
            #[inline(always)]
            || {
                task.each(
                    #[inline(always)]
                    |x, e, y| row(x, scale as f32, e, y),
                )
            },
        )
    })
}

#[inline(always)]
fn row<T: Element>(x: &[T], scale: f32, e: &mut [MaybeUninit<f32>], y: &mut [MaybeUninit<T>]) {
    let e = &mut e[..x.len()];
    for (e, x) in e.iter_mut().zip(x) {
        e.write(x.widen() * scale);
    }
    // SAFETY: e is as long as x.
    let e = unsafe { e.assume_init_mut() };
    let max = loops::max(e);
    for e in e.iter_mut() {
        *e = math::exp(*e - max);
    }
    let share = 1. / loops::sum(e, |e| e);
    for (y, e) in y.iter_mut().zip(e) {
        y.write(T::narrow(*e * share));
    }
}

/// Level 4: explicit SIMD lanes.
pub fn level4<T: Element>(x: &Tensor, scale: f64) -> Result<Tensor> {
    each_row(x, |task: SoftmaxRows<T>| {
        Arch::new().dispatch(InLanes(task, scale as f32))
    })
}

struct InLanes<'a, T>(SoftmaxRows<'a, T>, f32);

impl<T: Element> WithSimd for InLanes<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self(rows, scale) = self;
        rows.each(
            #[inline(always)]
            |x, e, y| row_in_lanes(simd, x, scale, e, y),
        );
    }
}

#[inline(always)]
fn row_in_lanes<S: Simd, T: Element>(
    simd: S,
    x: &[T],
    scale: f32,
    e: &mut [MaybeUninit<f32>],
    y: &mut [MaybeUninit<T>],
) {
    let (e, y) = (&mut e[..x.len()], &mut y[..x.len()]);
    let scale = simd.splat_f32s(scale);
    let max = lanes::max(
        simd,
        x.len(),
        #[inline(always)]
        |max, i| {
            // Lanes without an element repeat the first.
            let v = lanes::load_or(simd, &x[i.clone()], x[i.start].widen());
            let v = simd.mul_f32s(v, scale);
            lanes::write(simd, &mut e[i], v);
            simd.max_f32s(v, max)
        },
    );
    // SAFETY: `max` goes over all elements.
    let e = unsafe { e.assume_init_mut() };
    let max = simd.splat_f32s(max);
    let sum = lanes::sum(
        simd,
        x.len(),
        #[inline(always)]
        |sum, i| {
            let v = lanes::load_or(simd, &e[i.clone()], f32::NEG_INFINITY);
            let v = math::exp_f32s(simd, simd.sub_f32s(v, max));
            lanes::store(simd, &mut e[i], v);
            simd.add_f32s(sum, v)
        },
    );
    let share = simd.splat_f32s(1. / sum);
    lanes::fill(
        simd,
        y,
        #[inline(always)]
        |i| simd.mul_f32s(lanes::load(simd, &e[i]), share),
    );
}

/// Some rows of x and y.
struct SoftmaxRows<'a, T> {
    x: &'a [T],
    y: &'a mut [MaybeUninit<T>],
    c: usize,
}

impl<T: Element> SoftmaxRows<'_, T> {
    /// Calls `f(x, e, y)` for each row; e is the buffer of its exponentials.
    #[inline(always)]
    fn each(self, mut f: impl FnMut(&[T], &mut [MaybeUninit<f32>], &mut [MaybeUninit<T>])) {
        let mut e = output::uninit::<f32>(self.c);
        for (x, y) in self.x.chunks(self.c).zip(self.y.chunks_mut(self.c)) {
            f(x, &mut e, y);
        }
    }
}

fn each_row<T: Element>(x: &Tensor, task: impl Fn(SoftmaxRows<T>) + Send + Sync) -> Result<Tensor> {
    let (rows, c) = rows(x)?;
    let n = parallel::rows_per_task(rows, c) * c.max(1);
    let mut y = output::uninit::<T>(rows * c);
    let from = Slice::<T>::new(x)?;
    let pieces = from.chunks(n).zip(y.chunks_mut(n));
    parallel::for_each(pieces.map(|(x, y)| SoftmaxRows { x, y, c }), task);
    // SAFETY: the tasks cover all rows, and write each.
    let y = unsafe { y.assume_init() }.into_vec();
    Tensor::from_vec(y, x.shape(), x.device())
}
