//! gemm on this thread alone. candle's product is gemm on all threads, which small products do not pay for.

use gemm::{Parallelism, gemm as library};

use super::Operand;

/// C = A·B + b, C (batch, M, N): all of it.
pub fn gemm(a: Operand, b: Operand, bias: Option<&[f32]>, c: &mut [f32]) {
    let ((m, k), (_, n)) = (a.view.dims, b.view.dims);
    if c.is_empty() {
        return;
    }
    for (i, c) in c.chunks_mut(m * n).enumerate() {
        if let Some(bias) = bias {
            c.chunks_mut(n).for_each(|row| row.copy_from_slice(bias));
        }
        product(
            a.matrix(i),
            b.matrix(i),
            (a, b),
            c,
            bias.is_some(),
            (m, n, k),
        );
    }
}

/// C = A·B, or C += A·B; the views of A and B say how they lie.
fn product(
    x: &[f32],
    y: &[f32],
    (a, b): (Operand, Operand),
    c: &mut [f32],
    add: bool,
    (m, n, k): (usize, usize, usize),
) {
    assert!(k == 0 || (x.len() >= a.view.extent() && y.len() >= b.view.extent()));
    assert_eq!(c.len(), m * n);
    // SAFETY: x and y hold all elements from the first of a matrix to its last, `extent` of them by their own
    // strides, which the assertion compares; c is a row-major matrix of m·n elements of its own, and is read only
    // where it has been written before. Of k = 0 gemm reads neither x nor y.
    unsafe {
        library(
            m,
            n,
            k,
            c.as_mut_ptr(),
            1,
            n as isize,
            add,
            x.as_ptr(),
            a.view.column as isize,
            a.view.row as isize,
            y.as_ptr(),
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
