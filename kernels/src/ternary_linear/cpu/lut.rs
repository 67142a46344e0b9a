//! Level 4 on a CPU: tables of sums of four activations, indexed by the bytes of the weights.
//!
//! Compared with a matmul on the dequantised matrix: a sixteenth of the bytes, and one load and one addition
//! per four weights instead of four multiply-adds. The tables of a block of activations are made once and
//! serve all rows of the task; a table takes 16 times 16 vectorised additions. A look-up loads one f32, so
//! loads per cycle are the limit. Wider registers do not change that, so this is not compiled for them. It
//! pays for few rows of x; with many, a matmul reads the matrix once for all of them. To be faster, tables
//! must be in vector registers, where a permutation looks up 16 at a time. That needs weights interleaved by
//! row, or 8-bit activations as in [`super::int8`].

use candle_core::{Result, Tensor};

use super::{WeightRows, product};
use crate::cpu::Slice;
use crate::element::Element;
use crate::ternary_linear::{Sizes, Ternary};

/// Groups of four activations whose tables share the L1 cache: 64 KiB; the cache lines that codes reach are 36 KiB of it.
const GROUPS: usize = 64;

/// All sums ±x₀ ±x₁ ±x₂ ±x₃, with any terms omitted: entry b is the sum for the byte b of four codes. Bytes
/// with a code 3 are meaningless and never looked up.
type Table = [f32; 256];

/// Multiply-adds from which a second thread pays.
const PARALLEL: usize = 1 << 18;

/// Computes y (…, N).
pub fn lut<T: Element>(x: &Tensor, w: &Ternary, sizes: &Sizes) -> Result<Tensor> {
    let x = Slice::<T>::new(x)?;
    let threads = sizes.m * sizes.n * sizes.k >= PARALLEL;
    product::<T>(sizes, w, threads, |rows, y| block(&x, sizes, rows, y))
}

/// Computes yᵀ (rows, M) of some rows.
fn block<T: Element>(x: &[T], sizes: &Sizes, rows: &WeightRows, y: &mut [f32]) {
    let mut tables = [[0.; 256]; GROUPS];
    y.fill(0.);
    for (i, x) in x.chunks_exact(sizes.k).enumerate() {
        for (chunk, x) in x.chunks(4 * GROUPS).enumerate() {
            make_tables(x, &mut tables);
            for (codes, y) in rows.iter().zip(y[i..].iter_mut().step_by(sizes.m)) {
                *y += look_up(&tables, &codes[chunk * GROUPS..][..GROUPS]);
            }
        }
    }
    for (y, scale) in y.chunks_exact_mut(sizes.m).zip(rows.scales) {
        y.iter_mut().for_each(|y| *y *= scale);
    }
}

/// Sums the table entries of all groups' bytes.
#[inline(always)]
fn look_up(tables: &[Table; GROUPS], codes: &[u8]) -> f32 {
    // Four independent accumulators.
    let mut sums = [0.; 4];
    for (tables, codes) in tables.chunks_exact(4).zip(codes.chunks_exact(4)) {
        for ((sum, table), &code) in sums.iter_mut().zip(tables).zip(codes) {
            *sum += table[usize::from(code)];
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

/// Beyond the end of x, activations are 0.
#[inline(always)]
fn make_tables<T: Element>(x: &[T], tables: &mut [Table; GROUPS]) {
    let at = |k: usize| x.get(k).map_or(0., |x| x.widen());
    for (group, table) in tables.iter_mut().enumerate() {
        let low = sums_of_two(at(4 * group), at(4 * group + 1));
        let high = sums_of_two(at(4 * group + 2), at(4 * group + 3));
        for (entries, high) in table.chunks_exact_mut(16).zip(high) {
            for (entry, low) in entries.iter_mut().zip(low) {
                *entry = low + high;
            }
        }
    }
}

/// Returns t₀·a + t₁·b at the index of the codes t₀ + 1 and t₁ + 1, without multiplications, because 0·∞ is
/// NaN.
#[inline(always)]
fn sums_of_two(a: f32, b: f32) -> [f32; 16] {
    let none = 0.;
    let minus = [-a - b, -b, a - b, none];
    let zero = [-a, 0., a, none];
    let plus = [b - a, b, a + b, none];
    let mut sums = [none; 16];
    sums[..4].copy_from_slice(&minus);
    sums[4..8].copy_from_slice(&zero);
    sums[8..12].copy_from_slice(&plus);
    sums
}
