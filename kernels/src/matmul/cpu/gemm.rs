//! gemm on this thread alone, or on each thread for rows of its own.
//!
//! candle's product is gemm on all threads: small products do not pay for waking them, and large ones wait for each
//! other, because gemm's threads share a copy of one operand. Here a thread copies what it needs, and waits for none.

use gemm::{Parallelism, gemm as library};

use super::{Operand, Strip, each_strip};
use crate::cpu::parallel::Threads;

/// C = A·B + b, C (batch, M, N): all of it.
pub fn gemm(a: Operand, b: Operand, bias: Option<&[f32]>, c: &mut [f32], threads: Threads) {
    let (m, n) = (a.view.dims.0, b.view.dims.1);
    each_strip(c, (m, n), threads, |strip| {
        let Strip { matrix, row, m, c } = strip;
        if let Some(bias) = bias {
            c.chunks_mut(n).for_each(|row| row.copy_from_slice(bias));
        }
        let a = a.of(matrix).below(row, m);
        product(a, b.of(matrix), c, bias.is_some());
    });
}

/// C = A·B, or C += A·B, of one matrix each.
fn product(a: Operand, b: Operand, c: &mut [f32], add: bool) {
    let ((m, k), (_, n)) = (a.view.dims, b.view.dims);
    assert!(k == 0 || (a.x.len() >= a.view.extent() && b.x.len() >= b.view.extent()));
    assert_eq!(c.len(), m * n);
    // SAFETY: A and B hold all elements from the first of a matrix to its last, `extent` of them by their own
    // strides, which the assertion compares; c is a row-major matrix of m·n elements of its own, and is read only
    // where it has been written before. Of k = 0 gemm reads neither A nor B.
    unsafe {
        library(
            m,
            n,
            k,
            c.as_mut_ptr(),
            1,
            n as isize,
            add,
            a.x.as_ptr(),
            a.view.column as isize,
            a.view.row as isize,
            b.x.as_ptr(),
            b.view.column as isize,
            b.view.row as isize,
            1.,
            1.,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}
