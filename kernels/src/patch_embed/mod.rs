//! Cuts images into patches, projects each, puts the class token first and adds positions:
//! y₀ = class + positions₀, and for patch p, yₚ₊₁ = w·patchₚ + b + positionsₚ₊₁.
//!
//! "An image is worth 16×16 words", Dosovitskiy et al. 2021, equation 1. pixels (B, 3, H, W), w (C,
//! 3, P, P), b (C), class (1, 1, C), positions (1, 1 + n, C), y (B, 1 + n, C) with n = H·W/P², all
//! f32 or all bf16 and contiguous; sums are in f32. It is the product of [`crate::linear`] with
//! rows that are gathered from the image, K = 3·P², and the class token's row is a row of zeros
//! whose bias is the class token.
//!
//! Tolerance: 1e-4 of Σ|pixel||w| + |b| + |position| in f32, 2e-2 of it in bf16.

pub(crate) mod calls;
mod cpu;
#[path = "level3.rs"]
mod level3_launch;
pub mod level4;

use candle_core::{DType, Result, Tensor};
use operands::{Linear, Weight};
use trace::span;

use crate::cost::Cost;
use crate::element::{by_element, same_dtype};
use crate::error::mismatch;
use crate::launch::on_cpu;
use crate::output;

/// Pixels, w, b, class and positions in, y out; a product and an addition each step of B·n·C sums
/// of 3·P², two additions each element of y.
pub fn cost(batch: usize, patches: usize, c: usize, k: usize, dtype: DType) -> Cost {
    let tokens = batch * (1 + patches);
    let elements = batch * patches * k + c * k + 2 * c + (1 + patches) * c + tokens * c;
    Cost::new(
        elements,
        dtype,
        2 * batch * patches * c * k + 2 * tokens * c,
    )
}

/// The tensors that are added to the products.
#[derive(Debug, Clone, Copy)]
struct Added<'a> {
    /// (C)
    b: &'a Tensor,
    /// (1, 1, C)
    class: &'a Tensor,
    /// (1, 1 + n, C)
    positions: &'a Tensor,
}

/// The sizes of an image and of its patches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    /// B: images.
    batch: usize,
    /// Colours of a pixel: 3, or any other number.
    channels: usize,
    /// H and W, in pixels.
    image: (usize, usize),
    /// P, in pixels.
    patch: usize,
    /// C: channels of a token.
    c: usize,
}

impl Shape {
    /// 1 + n: rows of an image in y.
    fn tokens(&self) -> usize {
        let (h, w) = self.image;
        1 + (h / self.patch) * (w / self.patch)
    }

    /// B·(1 + n): rows of y.
    fn rows(&self) -> usize {
        self.batch * self.tokens()
    }

    /// K: pixels of a patch, all colours.
    fn k(&self) -> usize {
        self.channels * self.patch * self.patch
    }

    /// Room for y (B, 1 + n, C).
    fn output(&self, pixels: &Tensor) -> Result<Tensor> {
        let dims = (self.batch, self.tokens(), self.c);
        output::tensor(dims, pixels.dtype(), pixels.device())
    }
}

/// The projection's weight and bias, and what else is added.
fn operands<'a>(
    kernel: &str,
    patch: &'a Linear,
    class: &'a Tensor,
    positions: &'a Tensor,
) -> Result<(&'a Weight, Added<'a>)> {
    let Some(b) = &patch.bias else {
        return Err(mismatch(kernel, "a projection with a bias", "none"));
    };
    let added = Added {
        b,
        class,
        positions,
    };
    Ok((&patch.weight, added))
}

/// pixels fit w (C, 3, P, P), and what is added fits both.
fn check(kernel: &str, pixels: &Tensor, w: &Tensor, added: Added) -> Result<Shape> {
    let (batch, channels, height, width) = pixels.dims4()?;
    let shape = match *w.dims() {
        [c, colours, patch, columns] if (colours, patch) == (channels, columns) && patch > 0 => {
            Shape {
                batch,
                channels,
                image: (height, width),
                patch,
                c,
            }
        }
        _ => {
            let expected = format!("w (C, {channels}, P, P)");
            return Err(mismatch(kernel, expected, format!("{:?}", w.dims())));
        }
    };
    let (c, patch) = (shape.c, shape.patch);
    if height % patch != 0 || width % patch != 0 {
        let expected = format!("an image of whole {patch}×{patch} patches");
        return Err(mismatch(kernel, expected, format!("{height}×{width}")));
    }
    let Added {
        b,
        class,
        positions,
    } = added;
    let tokens = shape.tokens();
    let fits = |name, x: &Tensor, dims: &[usize]| {
        if x.dims() == dims {
            return Ok(());
        }
        let found = format!("{:?}", x.dims());
        Err(mismatch(kernel, format!("{name} {dims:?}"), found))
    };
    fits("b", b, &[c])?;
    fits("class", class, &[1, 1, c])?;
    fits("positions", positions, &[1, tokens, c])?;
    same_dtype(kernel, &[pixels, w, b, class, positions])?;
    Ok(shape)
}

/// Level 3: hand-written PTX on a GPU, and plain loops on a CPU.
pub mod level3 {
    use super::*;

    /// Projects the patches of images, puts the class token first and adds positions: pixels (B, 3, H, W), patch with
    /// weight (C, 3, P, P) and bias (C), class (1, 1, C), positions (1, 1 + n, C) with n = H·W/P² → (B, 1 + n, C)
    ///
    /// # Errors
    /// When shapes or devices do not agree, H or W is no multiple of P, operands are not all f32 or all bf16, one is
    /// not contiguous, or the projection has no bias.
    pub fn patch_embed(
        pixels: &Tensor,
        patch: &Linear,
        class: &Tensor,
        positions: &Tensor,
    ) -> Result<Tensor> {
        const KERNEL: &str = "patch_embed_level3";
        let _span = span(KERNEL);
        let (w, added) = operands(KERNEL, patch, class, positions)?;
        let w = w.tensor();
        let shape = check(KERNEL, pixels, w, added)?;
        if on_cpu(pixels.device()) {
            return by_element!(
                "patch_embed_level3",
                pixels.dtype(),
                cpu::level3::patch_embed(pixels, w, added, shape)
            );
        }
        level3_launch::launch(pixels, w, added, shape)
    }
}

#[cfg(test)]
mod tests;
