//! Level 4: register tiles and tensor cores, their rows gathered from the image.

use candle_core::{Result, Tensor};
use operands::Linear;

use super::{Added, Shape, cpu};
use crate::element::{by_dtype, dispatch};
use crate::launch::{Launch, Module, module};
use crate::linear::level4::{Form, Packed};
use crate::linear::tile::{choose, tiles};

static TILE_F32: Module = module!("patch_embed/level4/tile_f32", sm_75);
static MMA: Module = module!("patch_embed/level4/mma", sm_80);

/// For each of `TILES_F32`, which `tile_f32.cu` shares with linear's.
const ENTRIES_F32: [&str; 2] = [
    "patch_embed_f32_level4_64x64",
    "patch_embed_f32_level4_32x32",
];

/// For each of `TILES_BF16`, which `mma.cu` shares with linear's.
const ENTRIES_BF16: [&str; 3] = [
    "patch_embed_bf16_level4_128x128",
    "patch_embed_bf16_level4_64x64",
    "patch_embed_bf16_level4_32x64",
];

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
    const KERNEL: &str = "patch_embed_level4";
    let _span = trace::span(KERNEL);
    let (w, added) = super::operands(KERNEL, patch, class, positions)?;
    let shape = super::check(KERNEL, pixels, w.tensor(), added)?;
    let w = w.packed(|w| Packed::new(&w.reshape((shape.c, shape.k()))?))?;
    match &w.form {
        Form::Cpu(w) => dispatch!(
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
        (&TILE_F32, &ENTRIES_F32[..]),
        (&MMA, &ENTRIES_BF16[..]),
    )?;
    let (tile, entry) = (tiles("patch_embed_level4", dtype)?[tile], entries[tile]);
    let (height, width) = shape.image;
    Launch::new(module, entry)
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
        .u32(shape.channels * height * width)
        .launch()?;
    Ok(y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::tile::tests::assert_as_compiled;
    use crate::linear::tile::{TILES_BF16, TILES_F32};

    #[test]
    fn tiles_are_those_of_the_kernels() {
        for (tile, entry) in TILES_F32.into_iter().zip(ENTRIES_F32) {
            assert_as_compiled(tile, include_str!("tile_f32.cu"), &TILE_F32, entry);
        }
        for (tile, entry) in TILES_BF16.into_iter().zip(ENTRIES_BF16) {
            assert_as_compiled(tile, include_str!("mma.cu"), &MMA, entry);
        }
    }
}
