//! Matmuls with few rows, or of a matrix and a vector: B is read once, in place.
//!
//! A tile of many rows uses an element of B for all of them, and is compute-bound. Here an element serves one
//! to four rows, and B's bandwidth is the limit: only a B with gaps both ways is copied, and there are more
//! accumulators than a multiply-add has cycles of latency. If B's rows are contiguous, they are added up
//! ([`axpy`]); if its columns are, as in a transposed view, each sum is a dot product ([`dot`]). A vector on the
//! right is handled as one on the left of the transposes: Cᵀ = Bᵀ·Aᵀ.

mod axpy;
mod dot;

use std::mem::MaybeUninit;

use pulp::Arch;

use super::{Operand, View};
use crate::cpu::parallel::Threads;
use axpy::Axpy;
use dot::Dot;

/// Maximum rows of C that share a read of B.
pub const FEW: usize = 4;

/// A thread's columns are a multiple of this, a cache line.
const LINE: usize = 16;

/// Computes C = A·B + b for all of C (batch, M, N).
pub fn gemv(
    a: Operand,
    b: Operand,
    bias: Option<&[f32]>,
    c: &mut [MaybeUninit<f32>],
    threads: Threads,
) {
    let (m, n, k) = (a.view.dims.0, b.view.dims.1, a.view.dims.1);
    if c.is_empty() {
        return;
    }
    match bias {
        Some(bias) => {
            for row in c.chunks_mut(n) {
                row.write_copy_of_slice(bias);
            }
        }
        None => c.fill(MaybeUninit::new(0.)),
    }
    // SAFETY: each row now has b or zeros.
    let c = unsafe { c.assume_init_mut() };
    if k == 0 {
        return;
    }
    let (a, b, m, n) = match n {
        1 => (transposed(b), transposed(a), n, m),
        _ => (a, b, m, n),
    };
    let columns = match threads {
        Threads::One => n,
        Threads::All => {
            let parts = threads.count().div_ceil(c.len() / (m.min(FEW) * n));
            n.div_ceil(parts).next_multiple_of(LINE)
        }
    };
    let add = |strip: Strip| {
        let a = a.of(strip.matrix).below(strip.row, FEW.min(m - strip.row));
        let b = beside(b.of(strip.matrix), strip.column, strip.c[0].len());
        strip.add(a, b);
    };
    threads.for_each(strips(c, (m, n), columns), add);
}

fn transposed(x: Operand) -> Operand {
    let (rows, columns) = x.view.dims;
    Operand {
        x: x.x,
        view: View {
            dims: (columns, rows),
            row: x.view.column,
            column: x.view.row,
            ..x.view
        },
    }
}

/// Returns some columns of the first matrix.
fn beside(x: Operand, column: usize, columns: usize) -> Operand {
    Operand {
        x: x.x.get(column * x.view.column..).unwrap_or_default(),
        view: View {
            dims: (x.view.dims.0, columns),
            ..x.view
        },
    }
}

/// Part of a few rows of C; missing rows are empty.
struct Strip<'a> {
    matrix: usize,
    row: usize,
    column: usize,
    c: [&'a mut [f32]; FEW],
}

/// Splits C (batch, M, N) by columns.
fn strips(
    c: &mut [f32],
    (m, n): (usize, usize),
    columns: usize,
) -> impl Iterator<Item = Strip<'_>> {
    let matrices = c.chunks_mut(m * n).enumerate();
    matrices.flat_map(move |(matrix, c)| {
        let few = c.chunks_mut(FEW * n).enumerate();
        few.flat_map(move |(i, c)| {
            let mut rows = c.chunks_mut(n);
            let mut rows: [_; FEW] = std::array::from_fn(|_| rows.next().unwrap_or_default());
            (0..n).step_by(columns).map(move |column| Strip {
                matrix,
                row: i * FEW,
                column,
                c: rows.each_mut().map(|row| {
                    let part = row.split_off_mut(..columns.min(row.len()));
                    part.unwrap_or_default()
                }),
            })
        })
    })
}

impl Strip<'_> {
    /// Computes c += a·b.
    fn add(self, a: Operand, b: Operand) {
        match a.view.dims.0 {
            1 => self.add_rows::<1>(a, b),
            2 => self.add_rows::<2>(a, b),
            3 => self.add_rows::<3>(a, b),
            _ => self.add_rows::<FEW>(a, b),
        }
    }

    fn add_rows<const M: usize>(self, a: Operand, b: Operand) {
        let (k, lies) = (a.view.dims.1, b.view);
        let (a, stride) = a.rows();
        let a: [&[f32]; M] = std::array::from_fn(|m| &a[m * stride..][..k]);
        let mut c = self.c.into_iter();
        let c: [&mut [f32]; M] = std::array::from_fn(|_| c.next().unwrap_or_default());
        if lies.column != 1 && (lies.row == 1 || k == 1) {
            let stride = lies.column;
            let b = b.x;
            return Arch::new().dispatch(Dot { a, b, stride, c });
        }
        let (b, stride) = b.rows();
        let b = &*b;
        Arch::new().dispatch(Axpy { a, b, stride, c });
    }
}
