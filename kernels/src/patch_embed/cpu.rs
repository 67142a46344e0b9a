//! Both levels on a CPU: the matmul of `linear::cpu`, with patches as rows and a bias per row.
//!
//! A patch is P lines of each colour, which are apart in the image. Level 2 first splits all images into
//! patches, with 3·H·W elements read and written, and after the matmul joins the class token and adds the
//! positions, each in a pass over y. Here a block's patches are gathered and multiplied while they are in the
//! cache, and the terms are added before y is written, once.

pub mod level3;
pub mod level4;

use std::mem::MaybeUninit;

use candle_core::Result;

use super::{Added, Shape};
use crate::cpu::Slice;
use crate::element::Element;

/// Images and their patches.
#[derive(Clone, Copy)]
struct Patches<'a, T> {
    pixels: &'a [T],
    shape: Shape,
}

impl<T: Element> Patches<'_, T> {
    /// Copies the patch of y's row `row`, K pixels; zeros for a class token.
    fn copy(&self, row: usize, to: &mut [MaybeUninit<f32>]) {
        let (image, token) = (row / self.shape.tokens(), row % self.shape.tokens());
        let Some(patch) = token.checked_sub(1) else {
            return to.fill(MaybeUninit::new(0.));
        };
        let (p, (height, width)) = (self.shape.patch, self.shape.image);
        let (top, left) = (patch / (width / p) * p, patch % (width / p) * p);
        for (i, to) in to.chunks_exact_mut(p).enumerate() {
            let colour = image * self.shape.channels + i / p;
            let line = &self.pixels[(colour * height + top + i % p) * width + left..][..p];
            for (to, pixel) in to.iter_mut().zip(line) {
                to.write(pixel.widen());
            }
        }
    }
}

/// Terms added to the matmul, as slices.
struct Terms<'a, T> {
    b: Slice<'a, T>,
    class: Slice<'a, T>,
    positions: Slice<'a, T>,
}

impl<'a, T: Element> Terms<'a, T> {
    fn new(added: Added<'a>) -> Result<Self> {
        Ok(Self {
            b: Slice::new(added.b)?,
            class: Slice::new(added.class)?,
            positions: Slice::new(added.positions)?,
        })
    }
}
