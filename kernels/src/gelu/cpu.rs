//! Both levels on a CPU.
//!
//! - Level 3, against candle's `gelu_erf`: an erf that the compiler can put in vector registers
//!   (`cpu::math`), where candle's takes one element at a time and a table of cases.
//! - Level 4: the lanes are explicit, with fused multiply-adds: the fifteen terms of erf are fifteen
//!   instructions, where they are thirty without.
//!
//! From memory the bound is the bytes, and a copy of as many takes about as long. To be faster, apply it
//! where the elements are made, as `linear` does.

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

/// Level 4: a register as the warp.
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
    // SAFETY: y has chunks as long as those of x, and `task` writes all of its own.
    let y = unsafe { y.assume_init() }.into_vec();
    Tensor::from_vec(y, x.shape(), x.device())
}
