//! Level 4 on a CPU.

use candle_core::{Result, Tensor};

use super::level3;
use crate::element::Element;
use crate::linear::level4::Panels;
use crate::patch_embed::{Added, Shape};

/// w·patch + b + position, the class token first.
pub fn patch_embed<T: Element>(
    pixels: &Tensor,
    w: &Panels,
    added: Added,
    shape: Shape,
) -> Result<Tensor> {
    level3::patch_embed::<T>(pixels, w.tensor(), added, shape)
}
