//! For contiguous columns of B: c\[m\]\[j\] += Σₖ a\[m\]\[k\]·b\[j\]\[k\], with one vector of several columns
//! per step along K.

use pulp::{Simd, WithSimd};

/// Computes c += a·bᵀ for M rows.
pub struct Dot<'a, const M: usize> {
    /// Rows of A with K elements each.
    pub a: [&'a [f32]; M],
    /// Elements of B from its first column on.
    pub b: &'a [f32],
    /// Distance between columns of B.
    pub stride: usize,
    /// Rows of C.
    pub c: [&'a mut [f32]; M],
}

impl<const M: usize> WithSimd for Dot<'_, M> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // Enough accumulators for the multiply-adds in flight.
        match M {
            1 => simd.vectorize(Columns::<M, 8>(self)),
            _ => simd.vectorize(Columns::<M, 4>(self)),
        }
    }
}

/// N columns at a time.
struct Columns<'a, const M: usize, const N: usize>(Dot<'a, M>);

impl<const M: usize, const N: usize> WithSimd for Columns<'_, M, N> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Dot { a, b, stride, c } = self.0;
        let (k, n) = (a[0].len(), c[0].len());
        let a: [&[f32]; M] = std::array::from_fn(|m| &a[m][..k]);
        let whole = k - k % S::F32_LANES;
        for first in (0..n).step_by(N) {
            // The last column stands in for missing ones.
            let column = |j: usize| &b[(first + j).min(n - 1) * stride..][..k];
            let b: [&[f32]; N] = std::array::from_fn(column);
            let mut sums = [[simd.splat_f32s(0.); N]; M];
            for k in (0..whole).step_by(S::F32_LANES) {
                add(
                    simd,
                    vectors::<S, M>(&a, k),
                    vectors::<S, N>(&b, k),
                    &mut sums,
                );
            }
            for m in 0..M {
                for j in 0..N {
                    if let Some(c) = c[m].get_mut(first + j) {
                        let ends = a[m][whole..].iter().zip(&b[j][whole..]);
                        let end: f32 = ends.map(|(a, b)| a * b).sum();
                        *c += simd.reduce_sum_f32s(sums[m][j]) + end;
                    }
                }
            }
        }
    }
}

/// Loads one vector of each from `k` on.
#[inline(always)]
fn vectors<S: Simd, const N: usize>(x: &[&[f32]; N], k: usize) -> [S::f32s; N] {
    std::array::from_fn(|i| S::as_simd_f32s(&x[i][k..][..S::F32_LANES]).0[0])
}

/// Computes sums\[m\]\[j\] += a\[m\]·b\[j\], lane by lane.
#[inline(always)]
fn add<S: Simd, const M: usize, const N: usize>(
    simd: S,
    a: [S::f32s; M],
    b: [S::f32s; N],
    sums: &mut [[S::f32s; N]; M],
) {
    for m in 0..M {
        for j in 0..N {
            sums[m][j] = simd.mul_add_e_f32s(a[m], b[j], sums[m][j]);
        }
    }
}
