//! Level 3: the product's tile, its rows gathered from the image.

use candle_core::{Result, Tensor};

use super::{Added, Shape};
use crate::element::by_dtype;
use crate::launch::{Launch, Module, module};

static MODULE: Module = module!("patch_embed/level3");
static MODULE_BF16: Module = module!("patch_embed/level3_bf16");

/// Rows and columns of y that a block computes.
const TILE: usize = 32;

/// On a GPU.
pub(super) fn launch(pixels: &Tensor, w: &Tensor, added: Added, shape: Shape) -> Result<Tensor> {
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
