//! Tiles on tensor cores, f32 too: the launch of `mma.cu`.

use candle_core::{DType, Result, Tensor};

use crate::launch::{Module, module};
use crate::linear::gemm::{Entries, Gemm};
use crate::linear::tile::TileShape;

static MODULE: Module = module!("linear/level5/mma", sm_80);

/// The kernels of one tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mma {
    pub(super) entries: Entries,
    /// Dtype of x, w and y.
    pub dtype: DType,
    tile: TileShape,
}

/// The tiles of `mma.cu`; the bytes of a row are STAGES·BK elements.
pub(super) const MMAS: [Mma; 6] = [
    Mma {
        entries: Entries([
            "linear_tf32x3_level5_128x64",
            "linear_gelu_tf32x3_level5_128x64",
            "linear_swiglu_tf32x3_level5_128x64",
        ]),
        dtype: DType::F32,
        tile: TileShape::new((128, 64), 128, 4 * 32 * 4),
    },
    Mma {
        entries: Entries([
            "linear_tf32x3_level5_64x32",
            "linear_gelu_tf32x3_level5_64x32",
            "linear_swiglu_tf32x3_level5_64x32",
        ]),
        dtype: DType::F32,
        tile: TileShape::new((64, 32), 128, 3 * 64 * 4),
    },
    Mma {
        entries: Entries([
            "linear_tf32x3_level5_32x32_k64",
            "linear_gelu_tf32x3_level5_32x32_k64",
            "linear_swiglu_tf32x3_level5_32x32_k64",
        ]),
        dtype: DType::F32,
        tile: TileShape::new((32, 32), 128, 4 * 64 * 4),
    },
    Mma {
        entries: Entries([
            "linear_tf32x3_level5_32x32_k128",
            "linear_gelu_tf32x3_level5_32x32_k128",
            "linear_swiglu_tf32x3_level5_32x32_k128",
        ]),
        dtype: DType::F32,
        tile: TileShape::new((32, 32), 256, 3 * 128 * 4),
    },
    Mma {
        entries: Entries([
            "linear_bf16_level5_32x32_k128",
            "linear_gelu_bf16_level5_32x32_k128",
            "linear_swiglu_bf16_level5_32x32_k128",
        ]),
        dtype: DType::BF16,
        tile: TileShape::new((32, 32), 128, 4 * 128 * 2),
    },
    Mma {
        entries: Entries([
            "linear_bf16_level5_32x32_k256",
            "linear_gelu_bf16_level5_32x32_k256",
            "linear_swiglu_bf16_level5_32x32_k256",
        ]),
        dtype: DType::BF16,
        tile: TileShape::new((32, 32), 256, 3 * 256 * 2),
    },
];

impl Mma {
    pub(super) fn launch(self, gemm: &Gemm) -> Result<Tensor> {
        gemm.launch_tiles(&MODULE, self.entries, self.tile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::tile::tests::assert_as_compiled;

    #[test]
    fn tiles_are_those_of_the_kernel() {
        for mma in MMAS {
            for entry in mma.entries.0 {
                assert_as_compiled(mma.tile, include_str!("mma.cu"), &MODULE, entry);
            }
        }
    }
}
