//! Cuts pictures into patches, projects each, puts the class token first and adds positions:
//! y₀ = class + positions₀, and for patch p, yₚ₊₁ = w·patchₚ + b + positionsₚ₊₁.
//!
//! "An image is worth 16×16 words", Dosovitskiy et al. 2021, equation 1. pixels (B, 3, H, W), w (C,
//! 3, P, P), b (C), class (1, 1, C), positions (1, 1 + n, C), y (B, 1 + n, C) with n = H·W/P², all
//! f32 or all bf16 and contiguous; sums are in f32. It is the product of [`crate::linear`] with
//! rows that are gathered from the picture, K = 3·P², and the class token's row is a row of zeros
//! whose bias is the class token.
//!
//! Tolerance: 1e-4 of Σ|pixel||w| + |b| + |position| in f32, 2e-2 of it in bf16.

mod cpu;
pub mod level3;
pub mod level4;

use candle_core::{DType, Result, Tensor};

use crate::cost::Cost;
use crate::element::same_dtype;
use crate::error::mismatch;
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

/// What is added to the products, and where.
#[derive(Debug, Clone, Copy)]
struct Added<'a> {
    /// (C)
    b: &'a Tensor,
    /// (1, 1, C)
    class: &'a Tensor,
    /// (1, 1 + n, C)
    positions: &'a Tensor,
}

/// The sizes of a picture's cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    /// B: pictures.
    batch: usize,
    /// Colours of a pixel: 3, or any other number.
    channels: usize,
    /// H and W, in pixels.
    picture: (usize, usize),
    /// P, in pixels.
    patch: usize,
    /// C: channels of a token.
    c: usize,
}

impl Shape {
    /// 1 + n: rows of a picture in y.
    fn tokens(&self) -> usize {
        let (h, w) = self.picture;
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

/// pixels fit w (C, K) and the patch's size, and what is added fits both.
fn check(
    kernel: &str,
    pixels: &Tensor,
    (c, k): (usize, usize),
    patch: usize,
    dtype: DType,
    added: Added,
) -> Result<Shape> {
    let (batch, channels, height, width) = pixels.dims4()?;
    let shape = Shape {
        batch,
        channels,
        picture: (height, width),
        patch,
        c,
    };
    if patch == 0 || height % patch != 0 || width % patch != 0 {
        let expected = format!("an image of whole {patch}×{patch} patches");
        return Err(mismatch(kernel, expected, format!("{height}×{width}")));
    }
    if shape.k() != k {
        let expected = format!("w of {channels}·{patch}·{patch} columns");
        return Err(mismatch(kernel, expected, k));
    }
    let Added {
        b,
        class,
        positions,
    } = added;
    let tokens = shape.tokens();
    let fits = |name, x: &Tensor, dims: &[usize]| match x.dims() == dims {
        true => Ok(()),
        false => Err(mismatch(
            kernel,
            format!("{name} {dims:?}"),
            format!("{:?}", x.dims()),
        )),
    };
    fits("b", b, &[c])?;
    fits("class", class, &[1, 1, c])?;
    fits("positions", positions, &[1, tokens, c])?;
    let found = same_dtype(kernel, &[pixels, b, class, positions])?;
    match found == dtype {
        true => Ok(shape),
        false => Err(mismatch(kernel, dtype.as_str(), found.as_str())),
    }
}

#[cfg(test)]
mod tests;
