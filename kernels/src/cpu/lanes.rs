//! A vector register as a warp: its lanes read neighbouring elements and apply the same operation.
//!
//! A closure on lanes must be `#[inline(always)]`, because it may use a CPU's instructions only inside the
//! function compiled for it, `WithSimd::with_simd`.

use std::mem::MaybeUninit;
use std::ops::Range;

use half::bf16;
use pulp::Simd;
use pulp::bytemuck::{self, Pod};

use crate::element::Element;
use crate::output;

/// Independent registers of a reduction: an addition takes four cycles.
const TILE: usize = 4;

/// Elements that lanes can read and write; every [`Element`] is one.
///
/// # Safety
/// `write_all` initialises as many elements of y as there are lanes.
pub unsafe trait Lanes: Copy {
    /// Reads as many elements as there are lanes.
    fn load_all<S: Simd>(simd: S, x: &[Self]) -> S::f32s;
    /// Writes as many elements as there are lanes, rounded to nearest even.
    fn write_all<S: Simd>(simd: S, y: &mut [MaybeUninit<Self>], lanes: S::f32s);
}

// SAFETY: a register is written to y, or the index is out of bounds.
unsafe impl Lanes for f32 {
    #[inline(always)]
    fn load_all<S: Simd>(_simd: S, x: &[f32]) -> S::f32s {
        S::as_simd_f32s(x).0[0]
    }

    #[inline(always)]
    fn write_all<S: Simd>(_simd: S, y: &mut [MaybeUninit<f32>], lanes: S::f32s) {
        S::as_uninit_mut_simd_f32s(y).0[0].write(lanes);
    }
}

// SAFETY: the loop writes one element per lane, or the range is out of bounds.
unsafe impl Lanes for bf16 {
    #[inline(always)]
    fn load_all<S: Simd>(simd: S, x: &[bf16]) -> S::f32s {
        let mut bits = simd.splat_u32s(0);
        let each: &mut [u32] = bytemuck::cast_slice_mut(std::slice::from_mut(&mut bits));
        for (bits, x) in each.iter_mut().zip(&x[..S::F32_LANES]) {
            *bits = u32::from(x.to_bits());
        }
        let bits = simd.wrapping_dyn_shl_u32s(bits, simd.splat_u32s(16));
        simd.transmute_f32s_u32s(bits)
    }

    #[inline(always)]
    fn write_all<S: Simd>(simd: S, y: &mut [MaybeUninit<bf16>], lanes: S::f32s) {
        let splat = |x| simd.splat_u32s(x);
        let bits = simd.transmute_u32s_f32s(lanes);
        let upper = simd.wrapping_dyn_shr_u32s(bits, splat(16));
        let half = simd.add_u32s(splat(0x7fff), simd.and_u32s(upper, splat(1)));
        let rounded = simd.add_u32s(bits, half);
        let number = simd.equal_f32s(lanes, lanes);
        let rounded = simd.select_u32s(number, rounded, splat(0x7fc0_0000));
        // The upper halves of the lanes.
        let halves: &[[u16; 2]] = bytemuck::cast_slice(std::slice::from_ref(&rounded));
        let upper = if cfg!(target_endian = "little") { 1 } else { 0 };
        for (y, half) in y[..S::F32_LANES].iter_mut().zip(halves) {
            y.write(bf16::from_bits(half[upper]));
        }
    }
}

/// Reads one element per lane. If there are fewer elements than lanes, the last lanes are 0.
#[inline(always)]
pub fn load<S: Simd, T: Element>(simd: S, x: &[T]) -> S::f32s {
    load_or(simd, x, 0.)
}

/// Reads one element per lane. If there are fewer elements than lanes, the last lanes are `missing`.
#[inline(always)]
pub fn load_or<S: Simd, T: Element>(simd: S, x: &[T], missing: f32) -> S::f32s {
    if x.len() < S::F32_LANES {
        return load_some(simd, x, missing);
    }
    T::load_all(simd, x)
}

/// Loads the end of a row through memory, lane by lane; a separate function, because it is rare.
#[inline(never)]
fn load_some<S: Simd, T: Element>(simd: S, x: &[T], missing: f32) -> S::f32s {
    let mut lanes = simd.splat_f32s(missing);
    let each: &mut [f32] = bytemuck::cast_slice_mut(std::slice::from_mut(&mut lanes));
    for (lane, x) in each.iter_mut().zip(x) {
        *lane = x.widen();
    }
    lanes
}

/// Writes one element per lane, rounded to nearest even, to memory that may be uninitialised. If there are
/// fewer elements than lanes, the last lanes are dropped.
#[inline(always)]
pub fn write<S: Simd, T: Element>(simd: S, y: &mut [MaybeUninit<T>], lanes: S::f32s) {
    if y.len() < S::F32_LANES {
        return write_some(y, lanes);
    }
    T::write_all(simd, y, lanes);
}

/// Writes the end of a row.
#[inline(never)]
fn write_some<T: Element, L: Pod>(y: &mut [MaybeUninit<T>], lanes: L) {
    let each: &[f32] = bytemuck::cast_slice(std::slice::from_ref(&lanes));
    for (y, &lane) in y.iter_mut().zip(each) {
        y.write(T::narrow(lane));
    }
}

/// Same as [`write()`] for initialised elements.
#[inline(always)]
pub fn store<S: Simd, T: Element>(simd: S, y: &mut [T], lanes: S::f32s) {
    // SAFETY: `write` writes only elements.
    write(simd, unsafe { output::as_uninit(y) }, lanes);
}

/// Computes y\[i\] = f(i), one register of elements `i` at a time. Returns y, initialised.
///
/// Four registers are computed before the first is written, so that they do not wait for each other. The end
/// has separate calls, so that in the loop the compiler knows the length of every `i`.
#[inline(always)]
pub fn fill<S: Simd, T: Element>(
    simd: S,
    y: &mut [MaybeUninit<T>],
    f: impl Fn(Range<usize>) -> S::f32s,
) {
    let (len, width) = (y.len(), S::F32_LANES);
    let mut at = 0;
    while at + TILE * width <= len {
        let mut tile = [simd.splat_f32s(0.); TILE];
        for (t, lanes) in tile.iter_mut().enumerate() {
            *lanes = f(at + t * width..at + (t + 1) * width);
        }
        for lanes in tile {
            T::write_all(simd, &mut y[at..at + width], lanes);
            at += width;
        }
    }
    while at + width <= len {
        T::write_all(simd, &mut y[at..at + width], f(at..at + width));
        at += width;
    }
    if at < len {
        write(simd, &mut y[at..], f(at..len));
    }
}

/// Sums over `0..len`: `add(sum, i)` adds the elements `i`, one register of them, to `sum`.
#[inline(always)]
pub fn sum<S: Simd>(simd: S, len: usize, add: impl FnMut(S::f32s, Range<usize>) -> S::f32s) -> f32 {
    let [a, b, c, d] = tile(simd, len, simd.splat_f32s(0.), add);
    simd.reduce_sum_f32s(simd.add_f32s(simd.add_f32s(a, b), simd.add_f32s(c, d)))
}

/// Maximum over `0..len`: `max(maximum, i)` includes the elements `i`, one register of them.
#[inline(always)]
pub fn max<S: Simd>(simd: S, len: usize, max: impl FnMut(S::f32s, Range<usize>) -> S::f32s) -> f32 {
    let [a, b, c, d] = tile(simd, len, simd.splat_f32s(f32::NEG_INFINITY), max);
    simd.reduce_max_f32s(simd.max_f32s(simd.max_f32s(a, b), simd.max_f32s(c, d)))
}

/// Reduces into independent registers, each over a part of the elements.
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
    while at + S::F32_LANES <= len {
        parts[0] = step(parts[0], at..at + S::F32_LANES);
        at += S::F32_LANES;
    }
    if at < len {
        parts[0] = step(parts[0], at..len);
    }
    parts
}
