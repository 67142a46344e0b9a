//! Level 4: register tiles and tensor cores, their rows gathered from the image. `tile_f32.rs` and `mma.rs` name the
//! kernels of the `.cu` of their name.

mod mma;
mod tile_f32;

use candle_core::{DType, Result, Tensor};
use operands::Linear;

use super::{Added, Shape, cpu};
use crate::element::{by_dtype, by_element};
use crate::launch::Launch;
use crate::linear::level4::{Form, Packed};
use crate::linear::tile::{choose, tiles};

/// Projects the patches of images, puts the class token first and adds positions: pixels (B, 3, H, W), patch with
/// weight (C, 3, P, P) and bias (C), class (1, 1, C), positions (1, 1 + n, C) with n = H·W/P² → (B, 1 + n, C)
///
/// # Errors
/// When shapes or devices do not agree, H or W is no multiple of P, operands are not all f32 or all bf16, one is not
/// contiguous, the projection has no bias, or they are bf16 on a GPU below compute capability 8.0.
pub fn patch_embed(
    pixels: &Tensor,
    patch: &Linear,
    class: &Tensor,
    positions: &Tensor,
) -> Result<Tensor> {
    const KERNEL: &str = "patch_embed_level4";
    let _span = trace::span(KERNEL);
    let (w, added) = super::operands(KERNEL, patch, class, positions)?;
    let shape = super::check(KERNEL, pixels, w.tensor(), added)?;
    let w = w.packed(|w| Packed::new(&w.reshape((shape.c, shape.k()))?))?;
    match &w.form {
        Form::Cpu(w) => by_element!(
            "patch_embed_level4",
            pixels.dtype(),
            cpu::level4::patch_embed(pixels, w, added, shape)
        ),
        Form::Gpu(w) => {
            let tiles = tiles("patch_embed_level4", pixels.dtype())?;
            let tile = choose(tiles, shape.rows(), shape.c);
            launch(pixels, w, added, shape, tile)
        }
    }
}

/// On a GPU, by the tile of this index in [`tiles`].
pub(super) fn launch(
    pixels: &Tensor,
    w: &Tensor,
    Added {
        b,
        class,
        positions,
    }: Added,
    shape: Shape,
    tile: usize,
) -> Result<Tensor> {
    let dtype = pixels.dtype();
    let y = shape.output(pixels)?;
    let (module, entries) = by_dtype(
        "patch_embed_level4",
        dtype,
        (&tile_f32::MODULE, &tile_f32::ENTRIES[..]),
        (&mma::MODULE, &mma::ENTRIES[..]),
    )?;
    let (tile, entry) = (tiles("patch_embed_level4", dtype)?[tile], entries[tile]);
    let (height, width) = shape.image;
    let launch = Launch::new(module, entry)
        .grid(tile.blocks(shape.rows(), shape.c), 1, 1)
        .block(tile.threads, 1, 1)
        .smem(tile.smem)
        .read(pixels)
        .read(w)
        .read(b)
        .read(class)
        .read(positions)
        .write(&y)
        .u32(shape.rows())
        .u32(shape.c)
        .u32(shape.k())
        .u32(shape.tokens())
        .u32(shape.patch)
        .u32(height)
        .u32(width)
        .u32(shape.channels * height * width);
    // Only mma.cu is compiled for an architecture where a launch can wait for the one before.
    match dtype {
        DType::BF16 => launch.programmatic().launch()?,
        _ => launch.launch()?,
    }
    Ok(y)
}
