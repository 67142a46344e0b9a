//! Level 4 on a CPU: tables of sums of four activations, indexed by the bytes of the weights.
//!
//! Against the product with the dequantised matrix: a sixteenth of the bytes, and one load and one
//! addition for four weights in place of four multiplications and additions. The tables of a block of
//! activations are made once and serve all rows of the task; a table is 16 times 16 additions side by
//! side. A look-up is a load of one f32: the loads a cycle of the CPU are the limit, and wider registers
//! do not move it, so this is not compiled for them. It pays for few rows of x; with many, a product
//! reads the matrix once for all of them. To be faster, tables have to live in vector registers, where a
//! permutation looks up 16 at a time; that takes weights interleaved by row, or 8-bit activations, as in
//! [`super::int8`].

use candle_core::{Result, Tensor};

use super::{Rows, product};
use crate::cpu::Slice;
use crate::element::Element;
use crate::ternary_linear::{Sizes, Ternary};

/// Groups of four activations whose tables are in the first-level cache at a time: 64 KiB of which the
/// codes reach 36.
const GROUPS: usize = 64;

/// All sums ±x₀ ±x₁ ±x₂ ±x₃ and those with some left out: entry b is the sum that the byte b of four
/// codes stands for. Bytes with a code 3 have no meaning and are never looked up.
type Table = [f32; 256];

/// Multiply-adds from which a second thread pays for its waking.
const PARALLEL: usize = 1 << 18;

/// y (…, N).
pub fn lut<T: Element>(x: &Tensor, w: &Ternary, sizes: &Sizes) -> Result<Tensor> {
    let x = Slice::<T>::new(x)?;
    let threads = sizes.m * sizes.n * sizes.k >= PARALLEL;
    product::<T>(sizes, w, threads, |rows, y| block(&x, sizes, rows, y))
}

/// yᵀ (rows, M) of some rows.
fn block<T: Element>(x: &[T], sizes: &Sizes, rows: &Rows, y: &mut [f32]) {
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

/// Σ over the groups of what their tables hold for their bytes.
#[inline(always)]
fn look_up(tables: &[Table; GROUPS], codes: &[u8]) -> f32 {
    // Four sums, so that an addition does not wait for the one before.
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

/// t₀·a + t₁·b at the index of the codes t₀ + 1 and t₁ + 1, without a product: 0·∞ is NaN.
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
