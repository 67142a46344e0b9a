//! The micro-kernel for a B that is read in place: the accumulators of a few rows and one or two vectors of
//! columns stay in registers for all of K. `linear/cpu/tile.rs` does the same with packed operands.

use std::mem::MaybeUninit;

use pulp::{Simd, WithSimd};

/// Maximum rows of a tile on any CPU.
pub const MAX_ROWS: usize = 11;

/// Maximum rows of a tile on this CPU, whose registers hold its accumulators, two vectors of B and one of A.
pub const fn max_rows<S: Simd>() -> usize {
    if S::REGISTER_COUNT >= 32 { MAX_ROWS } else { 6 }
}

/// Up to two vectors of B's columns, for all of K.
#[derive(Clone, Copy)]
pub struct Panel<'a> {
    /// Elements from the first of these columns on.
    pub b: &'a [f32],
    /// Distance between rows of B.
    pub stride: usize,
    /// Rows of B.
    pub k: usize,
    /// Number of columns.
    pub width: usize,
}

/// Rows of A with all their columns.
#[derive(Clone, Copy)]
pub struct RowsOfA<'a> {
    /// Elements from the first row on.
    pub a: &'a [f32],
    /// Distance between rows.
    pub stride: usize,
    /// Number of rows.
    pub rows: usize,
}

/// Computes rows of C, V vectors wide: a·b + bias, written from column `from` on.
#[inline(always)]
pub fn tile<S: Simd, const V: usize>(
    simd: S,
    a: RowsOfA,
    b: Panel,
    bias: Option<&[f32]>,
    c: &mut [MaybeUninit<f32>],
    (n, from): (usize, usize),
) {
    let run = RegisterTile::<S, V> {
        simd,
        a,
        b,
        bias,
        c,
        n,
        from,
    };
    match a.rows {
        1 => simd.vectorize(FixedRows::<S, V, 1>(run)),
        2 => simd.vectorize(FixedRows::<S, V, 2>(run)),
        3 | 4 => simd.vectorize(FixedRows::<S, V, 4>(run)),
        5 | 6 => simd.vectorize(FixedRows::<S, V, 6>(run)),
        7 | 8 => simd.vectorize(FixedRows::<S, V, 8>(run)),
        _ => simd.vectorize(FixedRows::<S, V, MAX_ROWS>(run)),
    }
}

struct RegisterTile<'a, S: Simd, const V: usize> {
    simd: S,
    a: RowsOfA<'a>,
    b: Panel<'a>,
    bias: Option<&'a [f32]>,
    c: &'a mut [MaybeUninit<f32>],
    n: usize,
    from: usize,
}

/// A tile of MR rows, or fewer.
struct FixedRows<'a, S: Simd, const V: usize, const MR: usize>(RegisterTile<'a, S, V>);

impl<S: Simd, const V: usize, const MR: usize> WithSimd for FixedRows<'_, S, V, MR> {
    type Output = ();

    #[inline(always)]
    fn with_simd<Same: Simd>(self, _: Same) {
        let RegisterTile {
            simd,
            a: RowsOfA { a, stride, rows },
            b,
            bias,
            c,
            n,
            from,
        } = self.0;
        // Slices of K elements remove bounds checks. The last row stands in for missing ones.
        let row = |m: usize| a.get(m.min(rows - 1) * stride..).unwrap_or_default();
        let a: [&[f32]; MR] = std::array::from_fn(|m| &row(m)[..b.k]);
        let mut sums = [[simd.splat_f32s(0.); V]; MR];
        if let Some(bias) = bias {
            sums = [load::<S, V>(simd, bias); MR];
        }
        let whole = b.whole_rows(V * S::F32_LANES);
        for k in 0..whole {
            let row = S::as_simd_f32s(&b.b[k * b.stride..][..V * S::F32_LANES]).0;
            step::<S, V, MR>(simd, &a, k, std::array::from_fn(|v| row[v]), &mut sums);
        }
        for k in whole..b.k {
            let row = &b.b[k * b.stride..][..b.width];
            step::<S, V, MR>(simd, &a, k, load::<S, V>(simd, row), &mut sums);
        }
        // Constant indices, because the compiler would keep dynamically indexed accumulators in memory.
        for m in 0..MR {
            if m == rows {
                return;
            }
            write(simd, &mut c[m * n + from..][..b.width], sums[m]);
        }
    }
}

impl Panel<'_> {
    /// Rows from which this many elements can be read. Elements after a row's end are read, too, and their
    /// sums are dropped; only after the last row there may be none.
    #[inline(always)]
    pub fn whole_rows(&self, elements: usize) -> usize {
        match self.b.len().checked_sub(elements) {
            _ if self.width >= elements => self.k,
            Some(last) => self.k.min(last / self.stride.max(1) + 1),
            None => 0,
        }
    }
}

/// Loads V vectors; missing elements are zeros.
#[inline(always)]
pub fn load<S: Simd, const V: usize>(simd: S, x: &[f32]) -> [S::f32s; V] {
    std::array::from_fn(|v| {
        let x = x.get(v * S::F32_LANES..).unwrap_or_default();
        match S::as_simd_f32s(x).0 {
            [whole, ..] => *whole,
            [] => simd.partial_load_f32s(x),
        }
    })
}

/// Writes V vectors; the last may be partial. A partial write is a call, and takes as long as many whole
/// ones.
#[inline(always)]
pub fn write<S: Simd, const V: usize>(simd: S, c: &mut [MaybeUninit<f32>], vectors: [S::f32s; V]) {
    for (v, vector) in vectors.into_iter().enumerate() {
        let c = c.get_mut(v * S::F32_LANES..).unwrap_or_default();
        match S::as_uninit_mut_simd_f32s(c).0 {
            [whole, ..] => {
                whole.write(vector);
            }
            [] => {
                let part = simd.mask_between_m32s(0, c.len() as u32);
                // SAFETY: the mask has the lanes for which c has elements.
                unsafe { simd.mask_store_ptr_f32s(part, c.as_mut_ptr().cast(), vector) };
            }
        }
    }
}

/// Computes sums\[m\] += a\[m\]\[k\]·b.
#[inline(always)]
pub fn step<S: Simd, const V: usize, const MR: usize>(
    simd: S,
    a: &[&[f32]; MR],
    k: usize,
    b: [S::f32s; V],
    sums: &mut [[S::f32s; V]; MR],
) {
    for m in 0..MR {
        let a = simd.splat_f32s(a[m][k]);
        for v in 0..V {
            sums[m][v] = simd.mul_add_e_f32s(a, b[v], sums[m][v]);
        }
    }
}
