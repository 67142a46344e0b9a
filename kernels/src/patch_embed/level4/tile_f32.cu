// Level 4 of patch_embed, f32: linear's tiles, whose fetches gather the patches.
//   y₀ = class + positions₀, yₚ₊₁ = w·patchₚ + b + positionsₚ₊₁, for each image
// pixels (B, 3, H, W), w (C, K) with K = 3·P², b and class (C), positions (1 + n, C), y (B, 1 + n, C), n = H·W/P².
//
// Against level 3: the tile of linear at level 4, with up to 64 accumulators per thread; see common/gemm/tile_f32.cuh.
// The patch is gathered by its fetches, 16 bytes at a time where P and W are multiples of 4. The compiler then repeats
// the two divisions that find a column's pixel for each row that a thread fetches.
//
// Prediction: the rate of linear at level 4; the rows of zeros of the class tokens are 1 of 1 + n.
// To be faster: as linear, and these two divisions once a step, since all rows of a thread have the same column.
//
// Bytes moved, for whole tiles: 4·(M·C·K·(1/BM + 1/BN) + 2·M·C), M = B·(1 + n). Launch: one block per tile.
//
// Measured on an NVIDIA H200: patch_embed 1x3x224x224 f32 at 9% of the fastest f32 matmul; see kernels/generated/patch_embed/level4/tile_f32.md.
#include "common/gemm/tile_f32.cuh"
#include "patch_embed/level4/kernels.cuh"

using Large = FmaTile<64, 64, 32, 8, 2>;
using Small = FmaTile<32, 32, 64, 4, 4>;

PATCH_EMBED(patch_embed_f32_level4_64x64, Large, 2)
PATCH_EMBED(patch_embed_f32_level4_32x32, Small, 4)
