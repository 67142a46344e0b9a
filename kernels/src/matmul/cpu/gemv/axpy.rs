//! For contiguous rows of B: c\[m\]\[j\] += Σₖ a\[m\]\[k\]·b\[k\]\[j\] for some columns at a time, whose
//! accumulators stay in registers for all of K.

use pulp::{Simd, WithSimd};

use super::super::tile::{Panel, load, step, write};
use crate::output::as_uninit;

/// Computes c += a·b for M rows.
pub struct Axpy<'a, const M: usize> {
    /// Rows of A with K elements each.
    pub a: [&'a [f32]; M],
    /// Elements of B from its first column on.
    pub b: &'a [f32],
    /// Distance between rows of B.
    pub stride: usize,
    /// Rows of C.
    pub c: [&'a mut [f32]; M],
}

impl<const M: usize> WithSimd for Axpy<'_, M> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self {
            a,
            b,
            stride,
            mut c,
        } = self;
        let (n, mut from) = (c[0].len(), 0);
        while from < n {
            // Enough accumulators for the multiply-adds in flight, but no more than registers; with few
            // columns, several per column.
            let vectors = match (n - from).div_ceil(S::F32_LANES) {
                8.. if M <= 2 => 8,
                4.. => 4,
                2.. => 2,
                _ => 1,
            };
            let to = n.min(from + vectors * S::F32_LANES);
            let c = c.each_mut().map(|c| &mut c[from..to]);
            let b = Panel {
                b: &b[from..],
                stride,
                k: a[0].len(),
                width: to - from,
            };
            match vectors {
                8 => simd.vectorize(Columns::<M, 8, 1> { a, b, c }),
                4 if M <= 2 => simd.vectorize(Columns::<M, 4, 2> { a, b, c }),
                4 => simd.vectorize(Columns::<M, 4, 1> { a, b, c }),
                2 if M <= 2 => simd.vectorize(Columns::<M, 2, 4> { a, b, c }),
                2 => simd.vectorize(Columns::<M, 2, 2> { a, b, c }),
                _ => simd.vectorize(Columns::<M, 1, 4> { a, b, c }),
            }
            from = to;
        }
    }
}

/// V vectors of columns, the last possibly shorter, with U accumulators each: one for every U-th row of B.
struct Columns<'a, const M: usize, const V: usize, const U: usize> {
    a: [&'a [f32]; M],
    b: Panel<'a>,
    c: [&'a mut [f32]; M],
}

impl<const M: usize, const V: usize, const U: usize> WithSimd for Columns<'_, M, V, U> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { a, b, c } = self;
        let a: [&[f32]; M] = std::array::from_fn(|m| &a[m][..b.k]);
        let mut sums = [[[simd.splat_f32s(0.); V]; M]; U];
        let whole = b.whole_rows(V * S::F32_LANES);
        let row = |k: usize| &b.b[k * b.stride..];
        for first in (0..whole - whole % U).step_by(U) {
            for (u, sums) in sums.iter_mut().enumerate() {
                let k = first + u;
                step::<S, V, M>(simd, &a, k, all::<S, V>(row(k)), sums);
            }
        }
        for k in whole - whole % U..whole {
            step::<S, V, M>(simd, &a, k, all::<S, V>(row(k)), &mut sums[0]);
        }
        for k in whole..b.k {
            let row = load::<S, V>(simd, &row(k)[..b.width]);
            step::<S, V, M>(simd, &a, k, row, &mut sums[0]);
        }
        for m in 0..M {
            let mut all = load::<S, V>(simd, c[m]);
            for sums in &sums {
                for v in 0..V {
                    all[v] = simd.add_f32s(all[v], sums[m][v]);
                }
            }
            // SAFETY: `write` writes only elements.
            write(simd, unsafe { as_uninit(c[m]) }, all);
        }
    }
}

/// Loads the first V vectors.
#[inline(always)]
fn all<S: Simd, const V: usize>(x: &[f32]) -> [S::f32s; V] {
    let x = S::as_simd_f32s(&x[..V * S::F32_LANES]).0;
    std::array::from_fn(|v| x[v])
}
