//! Common part of the CPU kernels: parallel rows of weights, and y from its transpose.

mod int8;
mod lut;

pub(super) use int8::dp4a;
pub(super) use lut::lut;

use candle_core::{Device, Result, Tensor};

use super::{Sizes, Ternary};
use crate::cpu::{Slice, parallel};
use crate::element::Element;
use crate::output;

/// Some rows of the weights.
struct WeightRows<'a> {
    /// (rows, stride) bytes
    codes: &'a [u8],
    /// (rows)
    scales: &'a [f32],
    stride: usize,
}

impl WeightRows<'_> {
    /// Iterates over the bytes of each row.
    fn iter(&self) -> std::slice::ChunksExact<'_, u8> {
        self.codes.chunks_exact(self.stride)
    }
}

/// Computes y (…, N) by `block`, which fills yᵀ (rows, M) for some rows of the weights.
///
/// With `threads`, several threads divide the rows. Each reads its rows of weights for all M, and its part of
/// yᵀ is contiguous.
fn product<T: Element>(
    sizes: &Sizes,
    w: &Ternary,
    threads: bool,
    block: impl Fn(&WeightRows, &mut [f32]) + Sync,
) -> Result<Tensor> {
    let (m, n) = (sizes.m, sizes.n);
    if m * n == 0 {
        return Tensor::zeros(sizes.y.as_slice(), T::DTYPE, &Device::Cpu);
    }
    let scales = Slice::<f32>::new(w.scales())?;
    let mut transposed = output::scratch(n * m); // yᵀ (N, M)
    w.with_codes(|codes| {
        let rows = rows_per_task(n, threads);
        let task = |(i, y): (usize, &mut [f32])| {
            let range = i * rows..(i * rows + y.len() / m);
            let stride = w.stride();
            let codes = &codes[range.start * stride..range.end * stride];
            let scales = &scales[range];
            let rows = WeightRows {
                codes,
                scales,
                stride,
            };
            block(&rows, y);
        };
        parallel::for_each(transposed.chunks_mut(rows * m).enumerate(), task);
    })?;
    let mut y = output::uninit::<T>(m * n);
    for (i, y) in y.chunks_exact_mut(n).enumerate() {
        for (y, &sum) in y.iter_mut().zip(transposed[i..].iter().step_by(m)) {
            y.write(T::narrow(sum));
        }
    }
    // SAFETY: the loop writes N elements in each of M rows.
    let y = unsafe { y.assume_init() }.into_vec();
    Tensor::from_vec(y, sizes.y.as_slice(), &Device::Cpu)
}

/// Returns the rows per task: four tasks per thread, so that a late one delays little, but enough rows to
/// repay the tables of [`lut`].
fn rows_per_task(n: usize, threads: bool) -> usize {
    if !threads {
        return n;
    }
    (n / (4 * rayon::current_num_threads())).clamp(64, 1024)
}
