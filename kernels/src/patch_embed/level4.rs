//! Level 4: register tiles and tensor cores, their rows gathered from the picture.

use candle_core::{Result, Tensor};

use super::{Added, cpu};
use crate::element::dispatch;
use crate::linear::level4::{Form, Packed};

/// pixels (B, 3, H, W), w of (C, 3·P·P), b (C), class (1, 1, C), positions (1, 1 + n, C), P = `patch`
/// → (B, 1 + n, C)
///
/// # Errors
/// When shapes, formats or devices do not agree.
pub fn patch_embed(
    pixels: &Tensor,
    w: &Packed,
    b: &Tensor,
    class: &Tensor,
    positions: &Tensor,
    patch: usize,
) -> Result<Tensor> {
    let added = Added {
        b,
        class,
        positions,
    };
    let shape = super::check("patch_embed_level4", pixels, w.dims, patch, w.dtype, added)?;
    match &w.form {
        Form::Panels(w) => dispatch!(
            "patch_embed_level4",
            pixels.dtype(),
            cpu::level4::patch_embed(pixels, w, added, shape)
        ),
        Form::Tensor(_) => shape.output(pixels),
    }
}
