//! Matmuls on a CPU whose operands fit the caches.
//!
//! A library's matmul packs both operands, which pays for large ones, and wakes all threads, which takes
//! longer than a small matmul. Here B is read in place if its rows are contiguous, only other layouts are
//! copied, and the caller chooses the number of threads.
//!
//! To be faster: for more than a few hundred rows and columns, the panels and blocks of level 4's `linear`.

mod gemm;
mod gemv;
mod scalar;
mod tile;

use std::borrow::Cow;
use std::mem::MaybeUninit;

use pulp::{Arch, Simd, WithSimd};

use super::View;
use crate::cpu::parallel::{self, Threads};
pub use gemm::gemm;
pub use gemv::{FEW, gemv};
pub use scalar::scalar;
use tile::{MAX_ROWS, Panel, RowsOfA, max_rows, tile};

/// A batch of matrices: elements and layout.
#[derive(Clone, Copy)]
pub struct Operand<'a> {
    /// Elements from the first matrix on.
    pub x: &'a [f32],
    /// Their layout.
    pub view: View,
}

impl<'a> Operand<'a> {
    /// Returns a matrix of the batch.
    fn of(self, matrix: usize) -> Self {
        let x = self.x.get(matrix * self.view.batch..);
        Self {
            x: x.unwrap_or_default(),
            view: self.view,
        }
    }

    /// Returns some rows of the first matrix.
    fn below(self, row: usize, rows: usize) -> Self {
        let x = self.x.get(row * self.view.row..);
        Self {
            x: x.unwrap_or_default(),
            view: View {
                dims: (rows, self.view.dims.1),
                ..self.view
            },
        }
    }

    /// Returns the first matrix with contiguous rows, and their distance: in place, or a copy.
    fn rows(self) -> (Cow<'a, [f32]>, usize) {
        let View {
            dims, row, column, ..
        } = self.view;
        let x = self.x;
        if column == 1 || dims.1 <= 1 {
            return (Cow::Borrowed(x), row);
        }
        let mut copy = Vec::with_capacity(dims.0 * dims.1);
        for r in 0..dims.0 {
            let x = x.get(r * row..).unwrap_or_default();
            copy.extend((0..dims.1).map(|c| x[c * column]));
        }
        (Cow::Owned(copy), dims.1)
    }
}

/// Computes C = A·B + b for all of C (batch, M, N).
pub fn matmul(
    a: Operand,
    b: Operand,
    bias: Option<&[f32]>,
    c: &mut [MaybeUninit<f32>],
    threads: Threads,
) {
    let ((m, k), (_, n)) = (a.view.dims, b.view.dims);
    each_strip(c, (m, n), threads, |strip| {
        let Strip { matrix, row, m, c } = strip;
        let (a, stride_a) = a.of(matrix).below(row, m).rows();
        let (b, stride_b) = b.of(matrix).rows();
        let product = Product {
            a: &a,
            stride_a,
            b: &b,
            stride_b,
            bias,
            c,
            m,
            n,
            k,
        };
        Arch::new().dispatch(product);
    });
}

/// Some rows of a matrix of C, from `row` on.
struct Strip<'a> {
    matrix: usize,
    row: usize,
    m: usize,
    c: &'a mut [MaybeUninit<f32>],
}

/// Calls `f` with all of C (batch, M, N): whole matrices, or parts of their rows if there are fewer matrices
/// than threads.
fn each_strip(
    c: &mut [MaybeUninit<f32>],
    (m, n): (usize, usize),
    threads: Threads,
    f: impl Fn(Strip) + Send + Sync,
) {
    if c.is_empty() {
        return;
    }
    let matrices = c.chunks_mut(m * n).enumerate();
    if threads == Threads::One {
        // Without a division, which would take as long as a matmul of four rows and columns.
        return matrices.for_each(|(matrix, c)| {
            let row = 0;
            f(Strip { matrix, row, m, c });
        });
    }
    let parts = threads.count().div_ceil(matrices.len()).min(m);
    let rows = m.div_ceil(parts);
    let strips = matrices.flat_map(|(matrix, c)| {
        let strips = c.chunks_mut(rows * n).enumerate();
        strips.map(move |(s, c)| Strip {
            matrix,
            row: s * rows,
            m: rows.min(m - s * rows),
            c,
        })
    });
    parallel::for_each(strips, f);
}

/// A matmul for some rows of C.
struct Product<'a> {
    a: &'a [f32],
    stride_a: usize,
    b: &'a [f32],
    stride_b: usize,
    bias: Option<&'a [f32]>,
    c: &'a mut [MaybeUninit<f32>],
    m: usize,
    n: usize,
    k: usize,
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { m, n, k, .. } = self;
        // Tiles of equal height, because a low last tile would wait for its own accumulators.
        let height = match max_rows::<S>() {
            most if m <= most => m,
            most => m.div_ceil(m.div_ceil(most)),
        };
        let mut from = 0;
        while from < n {
            let vectors = if n - from > S::F32_LANES { 2 } else { 1 };
            let width = (vectors * S::F32_LANES).min(n - from);
            let panel = Panel {
                b: self.b.get(from..).unwrap_or_default(),
                stride: self.stride_b,
                k,
                width,
            };
            let bias = self.bias.map(|b| &b[from..from + width]);
            for row in (0..m).step_by(height) {
                let rows = height.min(m - row);
                let a = RowsOfA {
                    a: self.a.get(row * self.stride_a..).unwrap_or_default(),
                    stride: self.stride_a,
                    rows,
                };
                let c = &mut self.c[row * n..][..rows * n];
                match vectors {
                    1 => tile::<S, 1>(simd, a, panel, bias, c, (n, from)),
                    _ => tile::<S, 2>(simd, a, panel, bias, c, (n, from)),
                }
            }
            from += width;
        }
        debug_assert!(MAX_ROWS >= max_rows::<S>());
    }
}
