//! On a CPU: a product whose operands fit the caches.
//!
//! A library's product copies both operands into panels, for the sake of large ones, and wakes all threads,
//! which takes longer than a small product. Here B is read as it lies where its rows are contiguous, a copy
//! is made only of what is not, and who picks the product picks the number of threads.
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
use tile::{MAX_ROWS, Panel, Rows, max_rows, tile};

/// A batch of operands: elements from the first to the last, and how they lie.
#[derive(Clone, Copy)]
pub struct Operand<'a> {
    /// From the first element of the first matrix on.
    pub x: &'a [f32],
    /// How they lie there.
    pub view: View,
}

impl<'a> Operand<'a> {
    /// A matrix of the batch.
    fn of(self, matrix: usize) -> Self {
        let x = self.x.get(matrix * self.view.batch..);
        Self {
            x: x.unwrap_or_default(),
            view: self.view,
        }
    }

    /// Some rows of the first matrix.
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

    /// The first matrix with its rows contiguous, and the distance between them: as it lies, or a copy.
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

/// C = A·B + b, C (batch, M, N): all of it.
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

/// Rows of a matrix of C, m of them from `row` on.
struct Strip<'a> {
    matrix: usize,
    row: usize,
    m: usize,
    c: &'a mut [MaybeUninit<f32>],
}

/// Calls `f` with all of C (batch, M, N): whole matrices, or where there are fewer of them than threads, rows of each.
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
        // Without a division: it would take as long as a product of four rows and columns.
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

/// Some rows of C.
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
        // As many as the next, or the last would be low: each waits for its own sums.
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
                let a = Rows {
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
