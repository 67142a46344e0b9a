// linear, level 5, on tensor cores, f32 too: y = x·wᵀ + b + r, gelu(x·wᵀ + b), silu(x·Wgᵀ) ⊙ (x·Wuᵀ).
// x (M, K), w (N, K), or (2F, K) with the rows of Wg above those of Wu, b (N) or none, the residual r (M, N) or
// none, y (M, N) or (M, F), all row-major.
//
// Against level 4:
//   - A product of f32 is three of TF32, with the accuracy of f32, instead of an FFMA for each multiply-add of
//     a lane; see common/split_tf32.cuh. Tile, ring and epilogues are those of level 4's bf16; see mma_tile.cuh.
//   - Small tiles whose warps share K: at 128×512×512 a tile of 32×32 makes 64 blocks for 132 SMs, each of which
//     waits for its own steps. With K in 2 or 4 slices there are 4 or 8 warps to wait at once, and a step is 2 or
//     4 times as long for the same work of a warp.
//
// Prediction: an H200's tensor cores do 495 TFLOP/s of TF32 with Hopper's wgmma, and about 0.6 of that with the
// mma of this file: 300, of which three make 100. The FFMA units do 67 at the most. Splitting costs a lane two
// instructions for each element that it reads, 48 of them beside 48 products for the 128×64 tile, on other
// units: one and a half times level 4, if they overlap.
// Where it loses: bf16 to a library, wherever no epilogue saves a kernel.
// To be faster: wgmma, whose operands the tensor cores read from shared memory themselves, w split in advance.
//
// Bytes moved: sizeof(T)·(M·N·K·(1/BM + 1/BN) + N + 2·M·N) at most, mostly from L2.
// Launch: a block a tile, along a row of tiles first, and shared memory for the steps of its ring.
//
// Compiled for sm_80.
//
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit e0e5a46be, 2026-11-25):
//   linear 128x512x512 f32: level 2 12.8, level 3 14.1, level 4 8.4, level 5 4.7, PyTorch 20.0, PyTorch compile 13.1
//   linear 197x1536x384 f32: level 2 18.5, level 3 39.0, level 4 22.0, level 5 10.5, PyTorch 32.8, PyTorch compile 18.5
//   linear 4096x128x128 f32: level 2 15.1, level 3 10.3, level 4 7.0, level 5 4.7, PyTorch 8.9, PyTorch compile 9.1
//   linear 128x512x1536 f32: level 2 16.6, level 3 20.9, level 4 12.3, level 5 7.2, PyTorch 14.4, PyTorch compile 15.3
//   linear 197x384x1152 f32: level 2 15.6, level 3 16.1, level 4 9.8, level 5 6.6, PyTorch 11.4, PyTorch compile 13.0
//   linear 4096x128x512 f32: level 2 53.3, level 3 34.9, level 4 20.4, level 5 10.7, PyTorch 17.3, PyTorch compile 28.3
//   linear 25216x3072x768 f32: level 2 2787.9, level 3 6748.0, level 4 2709.9, level 5 1553.8, PyTorch 2491.3, PyTorch compile 2492.6
//   linear_gelu 197x384x1536 f32: level 2 24.7, level 3 20.4, level 4 13.0, level 5 8.4, PyTorch 17.9, PyTorch compile 39.4
//   linear_gelu 4096x128x256 f32: level 2 31.3, level 3 19.0, level 4 10.4, level 5 7.5, PyTorch 13.2, PyTorch compile 21.7
//   linear_gelu 25216x768x3072 f32: level 2 3861.5, level 3 6750.8, level 4 3035.6, level 5 1637.6, PyTorch 2479.5, PyTorch compile 2474.2
//   linear_swiglu 128x512x1536 f32: level 2 27.2, level 3 27.1, level 4 16.9, level 5 9.7, PyTorch 21.6, PyTorch compile 19.2
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit 207e47f70, 2026-11-25):
//   linear 128x512x512 bf16: level 2 5.7, level 3 14.4, level 4 3.6, level 5 2.9, PyTorch 3.2, PyTorch compile 3.2
//   linear_gelu 197x384x1536 bf16: level 2 12.0, level 3 20.6, level 4 4.7, level 5 4.6, PyTorch 5.3, PyTorch compile 4.6
//   linear_swiglu 128x512x1536 bf16: level 2 14.4, level 3 26.9, level 4 5.2, level 5 4.7, PyTorch 9.0, PyTorch compile 7.5
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit e0e5a46be, 2026-11-25):
//   linear_residual 128x512x512 f32: level 2 14.4, level 3 14.6, level 4 8.6, level 5 4.8, PyTorch 21.9, PyTorch compile 12.1
//   linear_residual 128x1536x512 f32: level 2 16.8, level 3 39.4, level 4 22.1, level 5 10.4, PyTorch 31.7, PyTorch compile 14.5
//   linear_residual 197x384x384 f32: level 2 13.1, level 3 11.3, level 4 6.9, level 5 4.2, PyTorch 10.7, PyTorch compile 10.8
//   linear_residual 197x1536x384 f32: level 2 20.1, level 3 39.4, level 4 22.1, level 5 10.6, PyTorch 34.2, PyTorch compile 17.6
//   linear_residual 4096x256x128 f32: level 2 22.0, level 3 18.9, level 4 11.9, level 5 7.5, PyTorch 12.8, PyTorch compile 26.4
//   linear_residual 25216x3072x768 f32: level 2 2895.0, level 3 6758.8, level 4 2719.3, level 5 1550.5, PyTorch 2544.6, PyTorch compile 2544.6
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit 207e47f70, 2026-11-25):
//   linear_residual 128x512x512 bf16: level 2 7.3, level 3 15.0, level 4 3.6, level 5 2.9, PyTorch 4.7, PyTorch compile 5.1
//   linear_residual 197x384x384 bf16: level 2 7.1, level 3 11.7, level 4 3.3, level 5 2.8, PyTorch 4.7, PyTorch compile 3.5
#include "common/split_tf32.cuh"
#include "common/gemm/tile_mma.cuh"

#include "linear/kernels.cuh"

// Rows, columns, columns of a step, steps of the ring, warps, slices of K.
using Large = MmaTile<SplitTf32, 128, 64, 32, 4, 2, 2>;
using Medium = MmaTile<SplitTf32, 64, 32, 64, 3, 4, 1>;
using Small = MmaTile<SplitTf32, 32, 32, 64, 4, 2, 1, 2>;
using Deep = MmaTile<SplitTf32, 32, 32, 128, 3, 2, 1, 4>;
using SmallBf16 = MmaTile<Bf16, 32, 32, 128, 4, 2, 1, 2>;
using DeepBf16 = MmaTile<Bf16, 32, 32, 256, 3, 2, 1, 4>;

KERNELS(Large, 2, tf32x3_level5_128x64)
KERNELS(Medium, 3, tf32x3_level5_64x32)
KERNELS(Small, 3, tf32x3_level5_32x32_k64)
KERNELS(Deep, 2, tf32x3_level5_32x32_k128)
KERNELS(SmallBf16, 4, bf16_level5_32x32_k128)
KERNELS(DeepBf16, 2, bf16_level5_32x32_k256)
