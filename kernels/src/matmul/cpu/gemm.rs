//! gemm on this thread only, or on each thread for separate rows.
//!
//! candle's matmul is gemm on all threads: small matmuls do not repay waking them, and large ones wait for
//! each other, because gemm's threads share a packed operand. Here each thread packs what it needs and waits
//! for none.

use std::mem::MaybeUninit;

use gemm::{Parallelism, gemm as library};

use super::{Operand, Strip, each_strip};
use crate::cpu::parallel::Threads;

/// Computes C = A·B + b for all of C (batch, M, N).
pub fn gemm(
    a: Operand,
    b: Operand,
    bias: Option<&[f32]>,
    c: &mut [MaybeUninit<f32>],
    threads: Threads,
) {
    let (m, n) = (a.view.dims.0, b.view.dims.1);
    each_strip(c, (m, n), threads, |strip| {
        let Strip { matrix, row, m, c } = strip;
        let a = a.of(matrix).below(row, m);
        product(a, b.of(matrix), bias, c);
    });
}

/// Computes C = A·B + b for one matrix.
fn product(a: Operand, b: Operand, bias: Option<&[f32]>, c: &mut [MaybeUninit<f32>]) {
    let ((m, k), (_, n)) = (a.view.dims, b.view.dims);
    assert!(k == 0 || (a.x.len() >= a.view.extent() && b.x.len() >= b.view.extent()));
    assert_eq!(c.len(), m * n);
    if let Some(bias) = bias {
        for row in c.chunks_mut(n) {
            row.write_copy_of_slice(bias);
        }
    }
    // SAFETY: A and B hold all elements from the first of a matrix to its last, `extent` of them by their own
    // strides, which the assertion compares; c is a row-major matrix of m·n elements of its own, and is read only
    // where it holds the bias. Of k = 0 gemm reads neither A nor B.
    unsafe {
        library(
            m,
            n,
            k,
            c.as_mut_ptr().cast::<f32>(),
            1,
            n as isize,
            bias.is_some(),
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
