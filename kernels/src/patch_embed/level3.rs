//! Level 3: the product's tile, its rows gathered from the picture.

use candle_core::{Result, Tensor};

use super::{Added, cpu};
use crate::element::{dispatch, entry};
use crate::error::mismatch;
use crate::launch::{Launch, Module, module, of_dtype, on_cpu};

static MODULE: Module = module!("patch_embed_level3", "level3.ptx");
static MODULE_BF16: Module = module!("patch_embed_level3_bf16", "level3_bf16.ptx");

/// Rows and columns of y that a block computes.
const TILE: usize = 32;

/// pixels (B, 3, H, W), w (C, 3, P, P), b (C), class (1, 1, C), positions (1, 1 + n, C)
/// → (B, 1 + n, C)
///
/// # Errors
/// When shapes, formats or devices do not agree.
pub fn patch_embed(
    pixels: &Tensor,
    w: &Tensor,
    b: &Tensor,
    class: &Tensor,
    positions: &Tensor,
) -> Result<Tensor> {
    let (c, channels, patch, width) = w.dims4()?;
    if width != patch {
        let found = format!("{patch} × {width}");
        return Err(mismatch("patch_embed_level3", "patches of P × P", found));
    }
    let dims = (c, channels * patch * patch);
    let added = Added {
        b,
        class,
        positions,
    };
    let shape = super::check("patch_embed_level3", pixels, dims, patch, w.dtype(), added)?;
    if on_cpu(pixels.device()) {
        return dispatch!(
            "patch_embed_level3",
            pixels.dtype(),
            cpu::level3::patch_embed(pixels, w, added, shape)
        );
    }
    let y = shape.output(pixels)?;
    let module = of_dtype(y.dtype(), &MODULE, &MODULE_BF16);
    let (rows, bytes) = (shape.rows(), y.dtype().size_in_bytes());
    let (height, width) = shape.picture;
    Launch::new(module, entry!("patch_embed", y.dtype(), "level3")?)
        .grid(rows.div_ceil(TILE) * c.div_ceil(TILE), 1, 1)
        .block(TILE, TILE / 4, 1)
        .read(pixels)
        .read(w)
        .read(b)
        .read(class)
        .read(positions)
        .write(&y)
        .u32(rows)
        .u32(c)
        .u32(shape.k())
        .u32(shape.k() * bytes)
        .u32(shape.tokens())
        .u32(patch)
        .u32(height)
        .u32(width)
        .u32(channels * height * width * bytes)
        .run()?;
    Ok(y)
}
