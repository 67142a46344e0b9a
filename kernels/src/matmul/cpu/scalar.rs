//! Scalar matmul of a few elements; detecting the CPU's vectors and writing partial ones would take longer.

use std::mem::MaybeUninit;

use super::Operand;

/// Computes C = A·B + b for all of C (batch, M, N).
pub fn scalar(a: Operand, b: Operand, bias: Option<&[f32]>, c: &mut [MaybeUninit<f32>]) {
    let ((m, k), (_, n)) = (a.view.dims, b.view.dims);
    if c.is_empty() {
        return;
    }
    for (matrix, c) in c.chunks_mut(m * n).enumerate() {
        let (a, b) = (a.of(matrix), b.of(matrix));
        for (i, c) in c.chunks_mut(n).enumerate() {
            for (j, c) in c.iter_mut().enumerate() {
                let mut sum = bias.map_or(0., |bias| bias[j]);
                for k in 0..k {
                    sum += at(a, i, k) * at(b, k, j);
                }
                c.write(sum);
            }
        }
    }
}

/// Returns an element of the first matrix.
fn at(x: Operand, row: usize, column: usize) -> f32 {
    x.x[row * x.view.row + column * x.view.column]
}
