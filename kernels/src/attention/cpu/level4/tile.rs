//! The register tile, which is the inner loop of q·kᵀ and p·v for many queries and for one.

use pulp::{Simd, WithSimd};

use super::panel::Stored;

/// A matrix read element by element: (i, s) is `data[i·row + s·step]`.
#[derive(Clone, Copy)]
pub struct Elements<'a> {
    pub data: &'a [f32],
    pub row: usize,
    pub step: usize,
}

/// Computes y[i] = Σₛ a(i, s)·b[s] for `rows` rows i, or adds to y. Rows of b and y are N registers wide, and
/// `b_step` and `y_step` apart.
pub struct Product<'a, T, const N: usize> {
    pub rows: usize,
    pub steps: usize,
    pub a: Elements<'a>,
    pub b: &'a [T],
    pub b_step: usize,
    pub y: &'a mut [f32],
    pub y_step: usize,
    pub add: bool,
}

impl<T: Stored, const N: usize> WithSimd for Product<'_, T, N> {
    type Output = ();

    /// Uses tiles of 8 rows if the CPU has enough registers, then of 4, 2 and 1.
    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let mut i = 0;
        while i < self.rows {
            let fits = |m: usize| i + m <= self.rows && m * N + N < S::REGISTER_COUNT;
            i += if fits(8) {
                self.tile::<S, 8>(simd, i)
            } else if fits(4) {
                self.tile::<S, 4>(simd, i)
            } else if fits(2) {
                self.tile::<S, 2>(simd, i)
            } else {
                self.tile::<S, 1>(simd, i)
            }
        }
    }
}

impl<T: Stored, const N: usize> Product<'_, T, N> {
    /// Computes rows i..i + M with M·N accumulators in registers; a step loads N registers of b, and
    /// broadcasts M elements of a, for M·N multiply-adds.
    #[inline(always)]
    fn tile<S: Simd, const M: usize>(&mut self, simd: S, i: usize) -> usize {
        let mut sums = [[simd.splat_f32s(0.); N]; M];
        if self.add {
            for (m, sums) in sums.iter_mut().enumerate() {
                sums.copy_from_slice(&S::as_simd_f32s(&self.y[(i + m) * self.y_step..]).0[..N]);
            }
        }
        let a = &self.a.data[i * self.a.row..];
        for s in 0..self.steps {
            let b = T::load::<S, N>(simd, &self.b[s * self.b_step..]);
            for (m, sums) in sums.iter_mut().enumerate() {
                let a = simd.splat_f32s(a[m * self.a.row + s * self.a.step]);
                for (sum, b) in sums.iter_mut().zip(b) {
                    *sum = simd.mul_add_e_f32s(a, b, *sum);
                }
            }
        }
        for (m, sums) in sums.into_iter().enumerate() {
            T::store(simd, sums, &mut self.y[(i + m) * self.y_step..]);
        }
        M
    }
}
