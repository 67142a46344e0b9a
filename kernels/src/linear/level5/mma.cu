// Level 5 of linear, f32 and bf16: tiles on tensor cores, and small tiles whose warps share K.
//   y = x·wᵀ + b + r, gelu(x·wᵀ + b), silu(x·Wgᵀ) ⊙ (x·Wuᵀ)
// x (M, K), w (N, K), or (2F, K) with Wg above Wu, b (N) or none, the residual r (M, N) or none, y (M, N) or (M, F).
//
// Against level 4:
//   - A product of two f32 is three of TF32, with the accuracy of f32, instead of an FFMA for each multiply-add of a
//     lane; see common/split_tf32.cuh. Tile, pipeline and epilogues are those of level 4's bf16; see
//     common/gemm/tile_mma.cuh.
//   - Small tiles whose warps share K: at 128×512×512 (M×K×N) a tile of 32×32 makes 64 blocks for 132 SMs, each of which
//     waits for its own steps. With K in 2 or 4 slices there are 4 or 8 warps to wait at once, and a step is 2 or
//     4 times as long for the same work of a warp.
//
// Prediction: an H200's tensor cores do 495 TFLOP/s of TF32 with Hopper's wgmma, and about 0.6 of that with the
// mma of this file: 300, of which three make 100. The FFMA units do at most 67. Splitting costs a lane two
// instructions for each element that it reads, 48 of them per 48 mma for the 128×64 tile, on other units: 1.5 times
// level 4's rate, if they overlap.
// Where it loses: bf16 where M·N·K is large; the table of an H200 picks cuBLASLt or wgmma.cu there.
// To be faster: wgmma, whose operands the tensor cores read from shared memory themselves, w split in advance.
//
// Bytes moved, for whole tiles: sizeof(T)·(M·N·K·(1/BM + 1/BN) + M·N/BM + 2·M·N), mostly from L2.
// Launch: one block per tile, along a row of tiles first, with shared memory for the stages of its pipeline.
//
// Compiled for sm_80.
//
// Measured on an NVIDIA H200: linear_residual 25216x3072x768 f32 at the limit: the fastest f32 matmul; see kernels/generated/linear/level5/mma.md.
#include "common/split_tf32.cuh"
#include "common/gemm/tile_mma.cuh"

#include "linear/tile_kernels.cuh"

// BM, BN, BK, STAGES, WARPS_M, WARPS_N and, where it is not 1, SLICES.
using Large = MmaTile<SplitTf32, 128, 64, 32, 4, 2, 2>;
using Medium = MmaTile<SplitTf32, 64, 32, 64, 3, 4, 1>;
using Small = MmaTile<SplitTf32, 32, 32, 64, 4, 2, 1, 2>;
using Deep = MmaTile<SplitTf32, 32, 32, 128, 3, 2, 1, 4>;
using SmallBf16 = MmaTile<MmaBf16, 32, 32, 128, 4, 2, 1, 2>;
using DeepBf16 = MmaTile<MmaBf16, 32, 32, 256, 3, 2, 1, 4>;

LINEAR(linear_tf32x3_level5_128x64, Large, 2)
LINEAR_GELU(linear_gelu_tf32x3_level5_128x64, Large, 2)
LINEAR_SWIGLU(linear_swiglu_tf32x3_level5_128x64, Large, 2)

LINEAR(linear_tf32x3_level5_64x32, Medium, 3)
LINEAR_GELU(linear_gelu_tf32x3_level5_64x32, Medium, 3)
LINEAR_SWIGLU(linear_swiglu_tf32x3_level5_64x32, Medium, 3)

LINEAR(linear_tf32x3_level5_32x32_k64, Small, 3)
LINEAR_GELU(linear_gelu_tf32x3_level5_32x32_k64, Small, 3)
LINEAR_SWIGLU(linear_swiglu_tf32x3_level5_32x32_k64, Small, 3)

LINEAR(linear_tf32x3_level5_32x32_k128, Deep, 2)
LINEAR_GELU(linear_gelu_tf32x3_level5_32x32_k128, Deep, 2)
LINEAR_SWIGLU(linear_swiglu_tf32x3_level5_32x32_k128, Deep, 2)

LINEAR(linear_bf16_level5_32x32_k128, SmallBf16, 4)
LINEAR_GELU(linear_gelu_bf16_level5_32x32_k128, SmallBf16, 4)
LINEAR_SWIGLU(linear_swiglu_bf16_level5_32x32_k128, SmallBf16, 4)

LINEAR(linear_bf16_level5_32x32_k256, DeepBf16, 2)
LINEAR_GELU(linear_gelu_bf16_level5_32x32_k256, DeepBf16, 2)
LINEAR_SWIGLU(linear_swiglu_bf16_level5_32x32_k256, DeepBf16, 2)
