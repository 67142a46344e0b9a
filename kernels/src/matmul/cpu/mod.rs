//! On a CPU: a product whose operands fit the caches.
//!
//! A library's product copies both operands into panels, for the sake of large ones, and wakes all threads,
//! which takes longer than a small product. Here B is read as it lies where its rows are contiguous, a copy
//! is made only of what is not, and who picks the product picks the number of threads.
//!
//! To be faster: for more than a few hundred rows and columns, the panels and blocks of level 4's `linear`.

mod gemm;
mod tile;

use std::borrow::Cow;

use pulp::{Arch, Simd, WithSimd};

use super::View;
use crate::cpu::parallel::{self, Threads};
pub use gemm::gemm;
use tile::{MAX_ROWS, Panel, max_rows, tile};

/// A batch of operands: elements from the first to the last, and how they lie.
#[derive(Clone, Copy)]
pub struct Operand<'a> {
    /// From the first element of the first matrix on.
    pub x: &'a [f32],
    /// How they lie there.
    pub view: View,
}

impl<'a> Operand<'a> {
    fn matrix(&self, i: usize) -> &'a [f32] {
        self.x.get(i * self.view.batch..).unwrap_or_default()
    }

    /// A matrix with its rows contiguous, and the distance between them: as it lies, or a copy.
    fn rows(&self, i: usize) -> (Cow<'a, [f32]>, usize) {
        let View {
            dims, row, column, ..
        } = self.view;
        let x = self.matrix(i);
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
pub fn matmul(a: Operand, b: Operand, bias: Option<&[f32]>, c: &mut [f32], threads: Threads) {
    let ((m, k), (_, n)) = (a.view.dims, b.view.dims);
    if c.is_empty() {
        return;
    }
    let threads = threads.count();
    // Whole matrices, or where there are fewer of them than threads, rows of each.
    let parts = threads.div_ceil(c.len() / (m * n)).min(m);
    let rows = m.div_ceil(parts);
    let tasks = c.chunks_mut(m * n).enumerate().flat_map(|(i, c)| {
        let strips = c.chunks_mut(rows * n).enumerate();
        strips.map(move |(s, c)| (i, s * rows, c))
    });
    let run = |(i, first, c): (usize, usize, &mut [f32])| {
        let (a, stride_a) = a.rows(i);
        let (b, stride_b) = b.rows(i);
        let product = Product {
            a: a.get(first * stride_a..).unwrap_or_default(),
            stride_a,
            b: &b,
            stride_b,
            bias,
            c,
            n,
            k,
        };
        Arch::new().dispatch(product);
    };
    match threads {
        1 => tasks.for_each(run),
        _ => parallel::for_each(tasks, run),
    }
}

/// Some rows of C.
struct Product<'a> {
    a: &'a [f32],
    stride_a: usize,
    b: &'a [f32],
    stride_b: usize,
    bias: Option<&'a [f32]>,
    c: &'a mut [f32],
    n: usize,
    k: usize,
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { n, k, .. } = self;
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
            for (t, c) in self.c.chunks_mut(max_rows::<S>() * n).enumerate() {
                let a = self
                    .a
                    .get(t * max_rows::<S>() * self.stride_a..)
                    .unwrap_or_default();
                match vectors {
                    1 => tile::<S, 1>(simd, a, self.stride_a, panel, bias, c, (n, from)),
                    _ => tile::<S, 2>(simd, a, self.stride_a, panel, bias, c, (n, from)),
                }
            }
            from += width;
        }
        debug_assert!(MAX_ROWS >= max_rows::<S>());
    }
}
