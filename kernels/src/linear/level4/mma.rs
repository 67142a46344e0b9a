//! Tiles of bf16 on tensor cores: the launch of `mma.cu`.

use candle_core::{Result, Tensor};

use crate::launch::{Module, module};
use crate::linear::gemm::{Entries, Gemm};
use crate::linear::tile::TILES_BF16;

static MODULE: Module = module!("linear/level4/mma", sm_80);

/// For each of [`TILES_BF16`].
const ENTRIES: [Entries; 3] = [
    Entries([
        "linear_bf16_level4_128x128",
        "linear_gelu_bf16_level4_128x128",
        "linear_swiglu_bf16_level4_128x128",
    ]),
    Entries([
        "linear_bf16_level4_64x64",
        "linear_gelu_bf16_level4_64x64",
        "linear_swiglu_bf16_level4_64x64",
    ]),
    Entries([
        "linear_bf16_level4_32x64",
        "linear_gelu_bf16_level4_32x64",
        "linear_swiglu_bf16_level4_32x64",
    ]),
];

/// Launches the tile with this index.
pub(super) fn launch(gemm: &Gemm, tile: usize) -> Result<Tensor> {
    gemm.launch_tiles(&MODULE, ENTRIES[tile], TILES_BF16[tile])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::tile::tests::assert_as_compiled;

    #[test]
    fn tiles_are_those_of_the_kernel() {
        for (tile, entries) in TILES_BF16.into_iter().zip(ENTRIES) {
            for entry in entries.0 {
                assert_as_compiled(tile, include_str!("mma.cu"), &MODULE, entry);
            }
        }
    }
}
