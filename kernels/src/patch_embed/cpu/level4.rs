//! Level 4 on a CPU: patches are gathered into the rows of the micro-kernel, and the terms are added in
//! registers.

use std::mem::MaybeUninit;

use candle_core::{Device, Result, Tensor};
use pulp::Simd;

use super::{Patches, Terms};
use crate::cpu::Slice;
use crate::element::Element;
use crate::linear::cpu::block::{Epilogue, InputRows, product};
use crate::linear::cpu::level4::{add_two, load_two, write_two};
use crate::linear::cpu::panels::{Order, Stored};
use crate::linear::level4::Panels;
use crate::output;
use crate::patch_embed::{Added, Shape};

/// w·patch + b + position, the class token first.
pub fn patch_embed<T: Stored>(
    pixels: &Tensor,
    w: &Panels,
    added: Added,
    shape: Shape,
) -> Result<Tensor> {
    w.check("patch_embed_level4", Order::Plain)?;
    let (c, k, tokens) = (shape.c, shape.k(), shape.tokens());
    let (pixels, terms) = (Slice::<T>::new(pixels)?, Terms::<T>::new(added)?);
    let pixels = &*pixels;
    let patches = Patches { pixels, shape };
    let rows = |rows: std::ops::Range<usize>| {
        InputRows::copy(rows.len(), k, |i, to| patches.copy(rows.start + i, to))
    };
    let epilogue = Add {
        b: &terms.b,
        class: &terms.class,
        positions: &terms.positions,
        tokens,
    };
    let mut y = output::uninit::<T>(shape.rows() * c);
    product(rows, w, &epilogue, &mut y, None);
    // SAFETY: the blocks of `product` are all of y, and the epilogue writes each row of each panel.
    let y = unsafe { y.assume_init() }.into_vec();
    Tensor::from_vec(y, (shape.batch, tokens, c), &Device::Cpu)
}

struct Add<'a, T> {
    b: &'a [T],
    class: &'a [T],
    positions: &'a [T],
    tokens: usize,
}

impl<T: Element> Epilogue<T> for Add<'_, T> {
    /// The first column, and b there.
    type Columns<S: Simd> = (usize, [S::f32s; 2]);

    #[inline(always)]
    fn columns<S: Simd>(&self, simd: S, column: usize) -> Self::Columns<S> {
        (column, load_two(simd, &self.b[column..]))
    }

    #[inline(always)]
    fn finish<S: Simd>(
        &self,
        simd: S,
        row: usize,
        (column, b): Self::Columns<S>,
        sums: [S::f32s; 2],
        y: &mut [MaybeUninit<T>],
    ) {
        let token = row % self.tokens;
        let first = match token {
            0 => load_two(simd, &self.class[column..]),
            _ => b,
        };
        let position = load_two(simd, &self.positions[token * self.b.len() + column..]);
        let sums = add_two(simd, add_two(simd, sums, first), position);
        write_two(simd, y, sums);
    }
}
