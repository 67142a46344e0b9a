//! Level 3 on a CPU: gemm multiplies a block of patches, and the terms are added while the sums are in the
//! cache.
//!
//! To be faster, as for `linear`: pack w once and keep accumulators in registers: level 4.

use std::mem::MaybeUninit;

use candle_core::{Device, Result, Tensor};
use pulp::{Simd, WithSimd};

use super::{Patches, Terms};
use crate::cpu::{Slice, parallel};
use crate::element::Element;
use crate::linear::cpu::level3::{multiply, widened};
use crate::linear::cpu::{Rectangle, rectangles, threads};
use crate::output;
use crate::patch_embed::{Added, Shape};

/// w·patch + b + position, the class token first.
pub fn patch_embed<T: Element>(
    pixels: &Tensor,
    w: &Tensor,
    added: Added,
    shape: Shape,
) -> Result<Tensor> {
    let (c, k, tokens) = (shape.c, shape.k(), shape.tokens());
    let (pixels, w, terms) = (
        Slice::<T>::new(pixels)?,
        Slice::<T>::new(w)?,
        Terms::<T>::new(added)?,
    );
    let (w, pixels) = (&*w, &*pixels);
    let patches = Patches { pixels, shape };
    let [b, class, positions] = [&*terms.b, &*terms.class, &*terms.positions];
    let mut y = output::uninit::<T>(shape.rows() * c);
    if !y.is_empty() {
        parallel::for_each(rectangles(&mut y, c, block(shape)), |y| {
            let (rows, columns) = (y.rows.len(), y.rows[0].len());
            let mut x = output::uninit::<f32>(rows * k);
            for (i, x) in x.chunks_mut(k.max(1)).enumerate() {
                patches.copy(y.row + i, x);
            }
            // SAFETY: a patch is K elements, and `copy` writes each of them.
            let x = unsafe { x.assume_init() };
            let w = &w[y.column * k..][..columns * k];
            let sums = multiply(&x, &widened(w), (rows, columns, k));
            pulp::Arch::new().dispatch(Finish {
                y,
                sums: &sums,
                added: [b, class, positions],
                tokens,
            });
        });
    }
    // SAFETY: the rectangles are all of y, and `Finish` writes each of its rows.
    let y = unsafe { y.assume_init() }.into_vec();
    Tensor::from_vec(y, (shape.batch, tokens, c), &Device::Cpu)
}

/// Returns rows and columns per block.
///
/// Each block gathers its patches and packs its part of w: it has as many rows as fit the cache, and columns
/// are split only if there are too few rows for all threads.
fn block(shape: Shape) -> (usize, usize) {
    let (m, c) = (shape.rows(), shape.c);
    let blocks = m.div_ceil(512);
    let columns = (blocks * c).div_ceil(threads(m * c * shape.k())).min(c);
    (m.div_ceil(blocks), columns)
}

/// Writes a rectangle of y from its sums.
struct Finish<'a, T> {
    y: Rectangle<'a, MaybeUninit<T>>,
    sums: &'a [f32],
    /// b (C), class (C), positions (1 + n, C)
    added: [&'a [T]; 3],
    tokens: usize,
}

impl<T: Element> WithSimd for Finish<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Rectangle { row, column, rows } = self.y;
        let [b, class, positions] = self.added;
        let columns = column..column + rows[0].len();
        for (i, y) in rows.into_iter().enumerate() {
            let token = (row + i) % self.tokens;
            let first = if token == 0 { class } else { b };
            let position = &positions[token * b.len()..][columns.clone()];
            let sums = &self.sums[i * columns.len()..];
            for (((y, sum), first), position) in y
                .iter_mut()
                .zip(sums)
                .zip(&first[columns.clone()])
                .zip(position)
            {
                y.write(T::narrow(sum + first.widen() + position.widen()));
            }
        }
    }
}
