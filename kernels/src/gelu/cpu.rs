//! Both levels on a CPU.
//!
//! - Level 3, compared with candle's `gelu_erf`: an erf that the compiler vectorises (`cpu::math`), where
//!   candle's takes one element at a time and a table of cases.
//! - Level 4: explicit lanes with fused multiply-adds, so the fifteen terms of erf take fifteen instructions
//!   instead of thirty.
//!
//! Outside the caches it is memory-bound: a copy of as many bytes takes about as long. To be faster, apply
//! GELU where the elements are made, as `linear` does.

use std::mem::MaybeUninit;

use candle_core::{Result, Tensor};
use pulp::{Arch, Simd, WithSimd};

use crate::cpu::{Slice, lanes, loops, math, parallel};
use crate::element::Element;
use crate::output;

/// Level 3: a plain loop.
pub fn level3<T: Element>(x: &Tensor) -> Result<Tensor> {
    in_pieces(x, |x: &[T], y| {
        loops::widest(
            #[inline(always)]
            || {
                for (y, x) in y.iter_mut().zip(x) {
                    y.write(T::narrow(math::gelu(x.widen())));
                }
            },
        )
    })
}

/// Level 4: explicit SIMD lanes.
pub fn level4<T: Element>(x: &Tensor) -> Result<Tensor> {
    in_pieces(x, |x: &[T], y| Arch::new().dispatch(InLanes(x, y)))
}

struct InLanes<'a, T>(&'a [T], &'a mut [MaybeUninit<T>]);

impl<T: Element> WithSimd for InLanes<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self(x, y) = self;
        let x = &x[..y.len()];
        lanes::fill(
            simd,
            y,
            #[inline(always)]
            |i| math::gelu_f32s(simd, lanes::load(simd, &x[i])),
        );
    }
}

fn in_pieces<T: Element>(
    x: &Tensor,
    task: impl Fn(&[T], &mut [MaybeUninit<T>]) + Send + Sync,
) -> Result<Tensor> {
    let from = Slice::<T>::new(x)?;
    let n = parallel::rows_per_task(from.len(), 1);
    let mut y = output::uninit::<T>(from.len());
    parallel::for_each(from.chunks(n).zip(y.chunks_mut(n)), |(x, y)| task(x, y));
    // SAFETY: y has chunks as long as those of x, and `task` writes each of its chunk's elements.
    let y = unsafe { y.assume_init() }.into_vec();
    Tensor::from_vec(y, x.shape(), x.device())
}
