//! The micro-kernel for weights packed in panels: the accumulators of a tile of y stay in registers for all of K.
//!
//! One step along K uses a step of a panel of w, two vectors, and a broadcast element of each row of x: for
//! 14 rows, 16 loads and 28 multiply-adds. A core starts two of either per cycle, so multiply-adds and not
//! loads are the bottleneck, and 28 independent accumulators keep both units busy. 28 + 2 + 1 registers are
//! all but one of AVX-512's; AVX2 has half as many, and tiles of 6 rows.
//!
//! To be faster: nothing in f32; in bf16, CPU instructions that multiply pairs or tiles of bf16.

use pulp::{Simd, WithSimd};

use super::panels::Stored;

/// Maximum rows of a tile on any CPU.
pub const MAX_ROWS: usize = 14;

/// Maximum rows of a tile on this CPU.
pub const fn max_rows<S: Simd>() -> usize {
    if S::REGISTER_COUNT >= 32 { MAX_ROWS } else { 6 }
}

/// Accumulators of a tile.
pub type Accumulators<S> = [[<S as Simd>::f32s; 2]; MAX_ROWS];

/// Rows of x for a tile.
#[derive(Clone, Copy)]
pub struct Strip<'a> {
    /// Elements from the first row on.
    pub x: &'a [f32],
    /// Distance between rows.
    pub stride: usize,
    /// Number of rows.
    pub rows: usize,
}

/// Computes sums\[m\] = Σₖ x\[m\]\[k\]·w\[k\] for all k of a panel.
#[inline(always)]
pub fn tile<S: Simd, T: Stored>(simd: S, x: Strip, w: &[T::Step<S>], sums: &mut Accumulators<S>) {
    // With few rows, several accumulators per row keep additions independent.
    match x.rows {
        1 => simd.vectorize(PanelTile::<S, T, 1, 4> { simd, x, w, sums }),
        2 => simd.vectorize(PanelTile::<S, T, 2, 2> { simd, x, w, sums }),
        3 | 4 => simd.vectorize(PanelTile::<S, T, 4, 1> { simd, x, w, sums }),
        5 | 6 => simd.vectorize(PanelTile::<S, T, 6, 1> { simd, x, w, sums }),
        7 | 8 => simd.vectorize(PanelTile::<S, T, 8, 1> { simd, x, w, sums }),
        9 | 10 => simd.vectorize(PanelTile::<S, T, 10, 1> { simd, x, w, sums }),
        11 | 12 => simd.vectorize(PanelTile::<S, T, 12, 1> { simd, x, w, sums }),
        _ => simd.vectorize(PanelTile::<S, T, 14, 1> { simd, x, w, sums }),
    }
}

/// MR rows with SPLIT accumulators each: one for every SPLIT-th step.
struct PanelTile<'a, S: Simd, T: Stored, const MR: usize, const SPLIT: usize> {
    simd: S,
    x: Strip<'a>,
    w: &'a [T::Step<S>],
    sums: &'a mut Accumulators<S>,
}

impl<S: Simd, T: Stored, const MR: usize, const SPLIT: usize> WithSimd
    for PanelTile<'_, S, T, MR, SPLIT>
{
    type Output = ();

    #[inline(always)]
    fn with_simd<Same: Simd>(self, _: Same) {
        let (simd, w, Strip { x, stride, rows }) = (self.simd, self.w, self.x);
        // Slices as long as w remove bounds checks. The last row stands in for missing ones.
        let x: [&[f32]; MR] = std::array::from_fn(|m| &x[m.min(rows - 1) * stride..][..w.len()]);
        let mut sums = [[[simd.splat_f32s(0.); 2]; MR]; SPLIT];
        let whole = w.len() - w.len() % SPLIT;
        for k in (0..whole).step_by(SPLIT) {
            for s in 0..SPLIT {
                step::<S, T, MR>(simd, &x, k + s, w[k + s], &mut sums[s]);
            }
        }
        for (k, &w) in w.iter().enumerate().skip(whole) {
            step::<S, T, MR>(simd, &x, k, w, &mut sums[0]);
        }
        for m in 0..MR {
            for v in 0..2 {
                let mut sum = sums[0][m][v];
                for other in &sums[1..] {
                    sum = simd.add_f32s(sum, other[m][v]);
                }
                self.sums[m][v] = sum;
            }
        }
    }
}

/// Computes sums\[m\] += x\[m\]\[k\]·w.
#[inline(always)]
fn step<S: Simd, T: Stored, const MR: usize>(
    simd: S,
    x: &[&[f32]; MR],
    k: usize,
    w: T::Step<S>,
    sums: &mut [[S::f32s; 2]; MR],
) {
    let w = T::lanes(simd, w);
    for m in 0..MR {
        let x = simd.splat_f32s(x[m][k]);
        sums[m][0] = simd.mul_add_e_f32s(x, w[0], sums[m][0]);
        sums[m][1] = simd.mul_add_e_f32s(x, w[1], sums[m][1]);
    }
}
