//! A product of a few elements, one after the other: to ask which vectors a CPU has, and to write a part of one, takes
//! longer.

use std::mem::MaybeUninit;

use super::Operand;

/// C = A·B + b, C (batch, M, N): all of it.
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

/// An element of the first matrix.
fn at(x: Operand, row: usize, column: usize) -> f32 {
    x.x[row * x.view.row + column * x.view.column]
}
