//! Level 4 on a CPU: the greatest in lanes; the k greatest by selection, without sorting all V.
//!
//! Against level 2, which sorts V probabilities for a draw: a selection of the k greatest reads them a few
//! times and sorts k. The exponentials of the softmax are in lanes.

use std::cmp::Reverse;

use candle_core::{Result, Tensor};
use pulp::{Arch, Simd, WithSimd};

use super::not_finite;
use crate::cpu::{Slice, lanes, math};
use crate::element::Element;

/// The first index of the greatest logit.
pub fn argmax<T: Element>(logits: &Tensor) -> Result<u32> {
    let x = Slice::<T>::new(logits)?;
    // A maximum in lanes passes over NaN; a difference with itself does not.
    let max = Arch::new().dispatch(Max(&x));
    let first = x
        .iter()
        .position(|x| x.widen() == max || x.widen().is_nan());
    match first {
        Some(i) if !x[i..].iter().any(|x| x.widen().is_nan()) => Ok(i as u32),
        _ => Err(not_finite("argmax_level4")),
    }
}

/// The k most probable tokens, of equals the lower first; NaN where the logits have no softmax.
pub fn top_k<T: Element>(logits: &Tensor, k: usize, temperature: f64) -> Result<Vec<(u32, f32)>> {
    let x = Slice::<T>::new(logits)?;
    let max = Arch::new().dispatch(Max(&x));
    let scale = (1. / temperature) as f32;
    let sum = Arch::new().dispatch(ExpSum { x: &x, max, scale });
    let descending = |&(i, x): &(u32, f32)| (Reverse(Ordered(x)), i);
    let mut kept: Vec<(u32, f32)> = (0..).zip(x.iter().map(|x| x.widen())).collect();
    if k < kept.len() {
        kept.select_nth_unstable_by_key(k - 1, descending);
        kept.truncate(k);
    }
    kept.sort_unstable_by_key(descending);
    for (_, x) in &mut kept {
        *x = math::exp((*x - max) * scale) / sum;
    }
    Ok(kept)
}

/// Floats in their total order, −0 and 0 the same.
#[derive(PartialEq)]
struct Ordered(f32);

impl Eq for Ordered {}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.0 + 0.).total_cmp(&(other.0 + 0.))
    }
}

struct Max<'a, T>(&'a [T]);

impl<T: Element> WithSimd for Max<'_, T> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        let x = self.0;
        lanes::max(simd, x.len(), |max, i| {
            // Lanes without an element repeat the first.
            simd.max_f32s(max, lanes::load_or(simd, &x[i.clone()], x[i.start].widen()))
        })
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
        lanes::sum(simd, self.x.len(), |sum, i| {
            let x = lanes::load_or(simd, &self.x[i], f32::NEG_INFINITY);
            let e = math::exp_f32s(simd, simd.mul_f32s(simd.sub_f32s(x, max), scale));
            simd.add_f32s(sum, e)
        })
    }
}
