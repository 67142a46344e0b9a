//! Reductions of a row in plain loops that the compiler turns into vector instructions.
//!
//! It may not do so with one running sum: f32 addition is not associative, and it keeps the order that
//! is written. So the order is written that it needs: many partial sums side by side, added at the end.

use pulp::Arch;

use crate::element::Element;

/// Partial results side by side: two of the widest registers.
const PARTS: usize = 32;

/// Runs `f` compiled for the widest vectors that this CPU has.
///
/// `f` has to be `#[inline(always)]`, and so has what it calls: only what is inlined here is compiled so.
#[inline(always)]
pub fn widest<R>(f: impl FnOnce() -> R) -> R {
    Arch::new().dispatch(f)
}

/// Σ f(x).
#[inline(always)]
pub fn sum<T: Element>(x: &[T], f: impl Fn(f32) -> f32) -> f32 {
    let (chunks, rest) = x.as_chunks::<PARTS>();
    let mut parts = [0.; PARTS];
    for chunk in chunks {
        for (part, x) in parts.iter_mut().zip(chunk) {
            *part += f(x.widen());
        }
    }
    for (part, x) in parts.iter_mut().zip(rest) {
        *part += f(x.widen());
    }
    parts.iter().sum()
}

/// The greatest element, NaN left out; −∞ of none.
#[inline(always)]
pub fn max<T: Element>(x: &[T]) -> f32 {
    let (chunks, rest) = x.as_chunks::<PARTS>();
    let mut parts = [f32::NEG_INFINITY; PARTS];
    for chunk in chunks {
        for (part, x) in parts.iter_mut().zip(chunk) {
            *part = greater(x.widen(), *part);
        }
    }
    for (part, x) in parts.iter_mut().zip(rest) {
        *part = greater(x.widen(), *part);
    }
    parts.into_iter().fold(f32::NEG_INFINITY, greater)
}

/// One instruction, where `f32::max` takes three: it has to choose the number whichever side is NaN.
#[inline(always)]
fn greater(x: f32, than: f32) -> f32 {
    if x > than { x } else { than }
}
