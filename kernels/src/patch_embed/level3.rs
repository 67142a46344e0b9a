//! Level 3: the product's tile, its rows gathered from the image.

use candle_core::{Result, Tensor};
use operands::Linear;

use super::{Added, Shape, cpu};
use crate::element::{by_dtype, dispatch};
use crate::launch::{Launch, Module, module, on_cpu};

static MODULE: Module = module!("patch_embed/level3");
static MODULE_BF16: Module = module!("patch_embed/level3_bf16");

/// Rows and columns of y that a block computes.
const TILE: usize = 32;

/// pixels (B, 3, H, W), patch with weight (C, 3, P, P) and bias (C), class (1, 1, C), positions (1, 1 + n, C)
/// → (B, 1 + n, C)
///
/// # Errors
/// When shapes, dtypes or devices do not agree, or the projection has no bias.
pub fn patch_embed(
    pixels: &Tensor,
    patch: &Linear,
    class: &Tensor,
    positions: &Tensor,
) -> Result<Tensor> {
    const KERNEL: &str = "patch_embed_level3";
    let _span = trace::span(KERNEL);
    let (w, added) = super::operands(KERNEL, patch, class, positions)?;
    let w = w.tensor();
    let shape = super::check(KERNEL, pixels, w, added)?;
    if on_cpu(pixels.device()) {
        return dispatch!(
            "patch_embed_level3",
            pixels.dtype(),
            cpu::level3::patch_embed(pixels, w, added, shape)
        );
    }
    launch(pixels, w, added, shape)
}

/// On a GPU.
fn launch(pixels: &Tensor, w: &Tensor, added: Added, shape: Shape) -> Result<Tensor> {
    let y = shape.output(pixels)?;
    let (rows, bytes) = (shape.rows(), y.dtype().size_in_bytes());
    let (height, width) = shape.image;
    let (module, entry) = by_dtype(
        "patch_embed_level3",
        y.dtype(),
        (&MODULE, "patch_embed_f32_level3"),
        (&MODULE_BF16, "patch_embed_bf16_level3"),
    )?;
    Launch::new(module, entry)
        .grid(rows.div_ceil(TILE) * shape.c.div_ceil(TILE), 1, 1)
        .block(TILE, TILE / 4, 1)
        .read(pixels)
        .read(w)
        .read(added.b)
        .read(added.class)
        .read(added.positions)
        .write(&y)
        .u32(rows)
        .u32(shape.c)
        .u32(shape.k())
        .u32(shape.k() * bytes)
        .u32(shape.tokens())
        .u32(shape.patch)
        .u32(height)
        .u32(width)
        .u32(shape.channels * height * width * bytes)
        .launch()?;
    Ok(y)
}
