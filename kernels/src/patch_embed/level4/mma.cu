// Level 4 of patch_embed, bf16: tiles on tensor cores, whose copies gather the patches.
//   y₀ = class + positions₀, yₚ₊₁ = w·patchₚ + b + positionsₚ₊₁, for each image
// pixels (B, 3, H, W), w (C, K) with K = 3·P², b and class (C), positions (1 + n, C), y (B, 1 + n, C), n = H·W/P².
//
// Against level 3: the tile of linear at level 4 on tensor cores; see common/gemm/tile_mma.cuh. The patch is
// gathered by its copies, 16 bytes at a time where P and W are multiples of 8.
//
// Prediction: the rate of linear at level 4, less the divisions that find a column's pixel: two a step
// and thread, where copies have 16 bytes.
// Where it loses: to level 3, on small images in small patches (10x3x32x32 in mma.md). A step is 128 columns of K
// and there are 48, and patches 4 pixels wide are gathered an element at a time.
// To be faster: as linear.
//
// Bytes moved, for whole tiles: 2·(M·C·K·(1/BM + 1/BN) + 2·M·C), M = B·(1 + n). Launch: one block per tile.
//
// Compiled for sm_80 and sm_90: from sm_90 on, the next launch of a recorded pass may start before this one has ended.
//
// Measured on an NVIDIA H200: patch_embed 1x3x224x224 bf16 at 4% of the memory bandwidth; see kernels/generated/patch_embed/level4/mma.md.
#include "common/gemm/tile_mma.cuh"
#include "patch_embed/level4/kernels.cuh"

using Large = MmaTile<MmaBf16, 128, 128, 64, 3, 2, 2>;
using Medium = MmaTile<MmaBf16, 64, 64, 64, 3, 2, 2>;
using Small = MmaTile<MmaBf16, 32, 64, 128, 3, 2, 2>;

PATCH_EMBED(patch_embed_bf16_level4_128x128, Large, 2)
PATCH_EMBED(patch_embed_bf16_level4_64x64, Medium, 4)
PATCH_EMBED(patch_embed_bf16_level4_32x64, Small, 3)
