//! Level 4 on a CPU: a vectorised argmax, and a top-k in one pass with a rising threshold.
//!
//! Compared with level 2, which sorts V probabilities for a draw: a register of logits is compared with the
//! minimum of the k best so far, and mostly none is larger: V/16 comparisons. Larger ones are kept; when
//! there are 2k, the k largest are selected and the threshold rises. The exponentials of the softmax are
//! vectorised; those of the result are only k.

use candle_core::{Result, Tensor};
use pulp::{Arch, Simd, WithSimd};

use super::not_finite;
use crate::cpu::{Slice, lanes, math};
use crate::element::Element;

/// Returns the first index of the maximum logit.
pub fn argmax<T: Element>(logits: &Tensor) -> Result<u32> {
    let x = Slice::<T>::new(logits)?;
    let Some(max) = Arch::new().dispatch(Max(&x)) else {
        return Err(not_finite("argmax_level4"));
    };
    let first = x.iter().position(|x| x.widen() == max);
    first
        .map(|i| i as u32)
        .ok_or_else(|| not_finite("argmax_level4"))
}

/// Returns the k most probable tokens, lower ones first among equals; NaN if the logits have no softmax.
pub fn top_k<T: Element>(logits: &Tensor, k: usize, temperature: f64) -> Result<Vec<(u32, f32)>> {
    let x = Slice::<T>::new(logits)?;
    let Some(max) = Arch::new().dispatch(Max(&x)) else {
        return Err(not_finite("top_k_level4"));
    };
    let scale = (1. / temperature) as f32;
    let sum = Arch::new().dispatch(ExpSum { x: &x, max, scale });
    let mut candidates = Arch::new().dispatch(Greatest { x: &x, k });
    for (_, x) in &mut candidates {
        *x = math::exp((*x - max) * scale) / sum;
    }
    Ok(candidates)
}

/// The maximum, if no logit is NaN.
struct Max<'a, T>(&'a [T]);

impl<T: Element> WithSimd for Max<'_, T> {
    type Output = Option<f32>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Option<f32> {
        let x = self.0;
        // A vector maximum may ignore NaN, so NaNs are counted.
        let (zero, one) = (simd.splat_f32s(0.), simd.splat_f32s(1.));
        let nan = lanes::sum(
            simd,
            x.len(),
            #[inline(always)]
            |nan, i| {
                let x = lanes::load(simd, &x[i]);
                let number = simd.equal_f32s(x, x);
                simd.add_f32s(nan, simd.select_f32s(number, zero, one))
            },
        );
        let max = lanes::max(
            simd,
            x.len(),
            #[inline(always)]
            |max, i| {
                // Lanes without an element repeat the first.
                let first = x[i.start].widen();
                simd.max_f32s(max, lanes::load_or(simd, &x[i], first))
            },
        );
        (nan == 0.).then_some(max)
    }
}

/// Σ e^((x − max)·scale)
struct ExpSum<'a, T> {
    x: &'a [T],
    max: f32,
    scale: f32,
}

impl<T: Element> WithSimd for ExpSum<'_, T> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        let (max, scale) = (simd.splat_f32s(self.max), simd.splat_f32s(self.scale));
        lanes::sum(
            simd,
            self.x.len(),
            #[inline(always)]
            |sum, i| {
                let x = lanes::load_or(simd, &self.x[i], f32::NEG_INFINITY);
                let e = math::exp_f32s(simd, simd.mul_f32s(simd.sub_f32s(x, max), scale));
                simd.add_f32s(sum, e)
            },
        )
    }
}

/// The k largest with their indices, in descending order; among equals the lower index comes first. None is
/// NaN.
struct Greatest<'a, T> {
    x: &'a [T],
    k: usize,
}

impl<T: Element> WithSimd for Greatest<'_, T> {
    type Output = Vec<(u32, f32)>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
        let Self { x, k } = self;
        let (first, rest) = x.split_at(k.min(x.len()));
        let mut candidates: Vec<(u32, f32)> = (0..).zip(first.iter().map(|x| x.widen())).collect();
        let mut least = least_of(&mut candidates, k);
        for (n, register) in rest.chunks(S::F32_LANES).enumerate() {
            let lanes = lanes::load_or(simd, register, f32::NEG_INFINITY);
            let greater = simd.greater_than_f32s(lanes, simd.splat_f32s(least));
            if simd.first_true_m32s(greater) == S::F32_LANES {
                continue;
            }
            let start = k + n * S::F32_LANES;
            let indexed = (start as u32..).zip(register.iter().map(|x| x.widen()));
            // An equal logit comes later than the kept ones: it is dropped.
            candidates.extend(indexed.filter(|&(_, x)| x > least));
            if candidates.len() >= 2 * k {
                least = least_of(&mut candidates, k);
            }
        }
        least_of(&mut candidates, k);
        candidates.sort_unstable_by(descending);
        candidates
    }
}

/// Keeps the k largest, in any order, and returns their minimum.
fn least_of(candidates: &mut Vec<(u32, f32)>, k: usize) -> f32 {
    let (_, &mut (_, least), _) = candidates.select_nth_unstable_by(k - 1, descending);
    candidates.truncate(k);
    least
}

/// Orders descending; −0 and 0 are equal.
fn descending(a: &(u32, f32), b: &(u32, f32)) -> std::cmp::Ordering {
    let by_value = (b.1 + 0.).total_cmp(&(a.1 + 0.));
    by_value.then(a.0.cmp(&b.0))
}
