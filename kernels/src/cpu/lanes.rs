//! A vector register as a warp: its lanes read neighbouring elements and do the same with each.

use pulp::{Simd, bytemuck};

use crate::element::Element;

/// Reads one element a lane. With fewer elements than lanes the last lanes are 0.
#[inline(always)]
pub fn load<S: Simd, T: Element>(simd: S, x: &[T]) -> S::f32s {
    let mut lanes = simd.splat_f32s(0.);
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
