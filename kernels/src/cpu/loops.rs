//! Reductions of a row in plain loops that the compiler vectorises.
//!
//! With a single accumulator it could not, because f32 addition is not associative and its order must be
//! kept. So these loops use many partial sums, which are added at the end.

use pulp::Arch;

use crate::element::Element;

/// Number of partial results: two of the widest registers.
const PARTS: usize = 32;

/// Runs `f` compiled for the widest vectors of this CPU.
///
/// `f` and the functions that it calls must be `#[inline(always)]`, because only code inlined here is
/// compiled that way.
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

/// Returns the maximum element, ignoring NaN; −∞ if there is none.
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

/// Returns the larger number in one instruction. `f32::max` needs three, because it ignores NaN on either
/// side.
#[inline(always)]
fn greater(x: f32, than: f32) -> f32 {
    if x > than { x } else { than }
}
