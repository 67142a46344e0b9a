//! Tiles of f32: the launch of `tile_f32.cu`.

use candle_core::{Result, Tensor};

use crate::launch::{Module, module};
use crate::linear::gemm::{Entries, Gemm};
use crate::linear::tile::TILES_F32;

static MODULE: Module = module!("linear/level4/tile_f32", sm_75);

/// For each of [`TILES_F32`].
const ENTRIES: [Entries; 2] = [
    Entries([
        "linear_f32_level4_64x64",
        "linear_gelu_f32_level4_64x64",
        "linear_swiglu_f32_level4_64x64",
    ]),
    Entries([
        "linear_f32_level4_32x32",
        "linear_gelu_f32_level4_32x32",
        "linear_swiglu_f32_level4_32x32",
    ]),
];

/// Launches the tile with this index.
pub(super) fn launch(gemm: &Gemm, tile: usize) -> Result<Tensor> {
    gemm.launch_tiles(&MODULE, ENTRIES[tile], TILES_F32[tile])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::tile::tests::assert_as_compiled;

    #[test]
    fn tiles_are_those_of_the_kernel() {
        for (tile, entries) in TILES_F32.into_iter().zip(ENTRIES) {
            for entry in entries.0 {
                assert_as_compiled(tile, include_str!("tile_f32.cu"), &MODULE, entry);
            }
        }
    }
}
