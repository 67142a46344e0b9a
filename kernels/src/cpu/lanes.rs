//! A vector register as a warp: its lanes read neighbouring elements and do the same with each.

use std::ops::Range;

use pulp::{Simd, bytemuck};

use crate::element::Element;

/// Registers that a reduction keeps at work: an addition takes four cycles, and two start in each.
const TILE: usize = 4;

/// Reads one element a lane. With fewer elements than lanes the last lanes are 0.
#[inline(always)]
pub fn load<S: Simd, T: Element>(simd: S, x: &[T]) -> S::f32s {
    load_or(simd, x, 0.)
}

/// Reads one element a lane. With fewer elements than lanes the last lanes are `missing`.
#[inline(always)]
pub fn load_or<S: Simd, T: Element>(simd: S, x: &[T], missing: f32) -> S::f32s {
    let mut lanes = simd.splat_f32s(missing);
    let each = bytemuck::cast_slice_mut(std::slice::from_mut(&mut lanes));
    // Told apart so that the compiler sees a constant length, and makes a vector load of the loop.
    if x.len() >= S::F32_LANES {
        widen(&x[..S::F32_LANES], each);
    } else {
        widen(x, each);
    }
    lanes
}

/// Writes one lane an element, rounded to nearest even. With fewer elements than lanes the last lanes
/// are dropped.
#[inline(always)]
pub fn store<S: Simd, T: Element>(_simd: S, y: &mut [T], lanes: S::f32s) {
    let each = bytemuck::cast_slice(std::slice::from_ref(&lanes));
    if y.len() >= S::F32_LANES {
        narrow(each, &mut y[..S::F32_LANES]);
    } else {
        narrow(each, y);
    }
}

#[inline(always)]
fn widen<T: Element>(x: &[T], lanes: &mut [f32]) {
    for (lane, x) in lanes.iter_mut().zip(x) {
        *lane = x.widen();
    }
}

#[inline(always)]
fn narrow<T: Element>(lanes: &[f32], y: &mut [T]) {
    for (y, &lane) in y.iter_mut().zip(lanes) {
        *y = T::narrow(lane);
    }
}

/// The sum over `0..len` of what `add(sum, i)` adds to `sum` for the elements `i`, a register of them.
#[inline(always)]
pub fn sum<S: Simd>(simd: S, len: usize, add: impl FnMut(S::f32s, Range<usize>) -> S::f32s) -> f32 {
    let [a, b, c, d] = tile(simd, len, simd.splat_f32s(0.), add);
    simd.reduce_sum_f32s(simd.add_f32s(simd.add_f32s(a, b), simd.add_f32s(c, d)))
}

/// The greatest over `0..len` of what `max(greatest, i)` makes of `greatest` and the elements `i`.
#[inline(always)]
pub fn max<S: Simd>(simd: S, len: usize, max: impl FnMut(S::f32s, Range<usize>) -> S::f32s) -> f32 {
    let [a, b, c, d] = tile(simd, len, simd.splat_f32s(f32::NEG_INFINITY), max);
    simd.reduce_max_f32s(simd.max_f32s(simd.max_f32s(a, b), simd.max_f32s(c, d)))
}

/// Registers that do not wait for each other, each a part of the reduction.
#[inline(always)]
fn tile<S: Simd>(
    _simd: S,
    len: usize,
    start: S::f32s,
    mut step: impl FnMut(S::f32s, Range<usize>) -> S::f32s,
) -> [S::f32s; TILE] {
    let mut parts = [start; TILE];
    let mut at = 0;
    while at + TILE * S::F32_LANES <= len {
        for part in &mut parts {
            *part = step(*part, at..at + S::F32_LANES);
            at += S::F32_LANES;
        }
    }
    while at < len {
        let end = len.min(at + S::F32_LANES);
        parts[0] = step(parts[0], at..end);
        at = end;
    }
    parts
}

/// s = x + residual.
#[inline(always)]
pub fn add<S: Simd, T: Element>(simd: S, x: &[T], residual: &[T], s: &mut [T]) {
    let width = S::F32_LANES;
    let operands = x.chunks(width).zip(residual.chunks(width));
    for (s, (x, residual)) in s.chunks_mut(width).zip(operands) {
        store(simd, s, simd.add_f32s(load(simd, x), load(simd, residual)));
    }
}
