// linear, level 5, on tensor cores, f32 too: y = x·wᵀ + b, gelu(x·wᵀ + b), silu(x·Wgᵀ) ⊙ (x·Wuᵀ). x (M, K),
// w (N, K), or (2F, K) with the rows of Wg above those of Wu, b (N) or none, y (M, N) or (M, F), all row-major.
//
// Against level 4:
//   - A product of f32 is three of TF32, with the accuracy of f32, instead of an FFMA for each multiply-add of
//     a lane; see split_tf32.cuh. Tile, ring and epilogues are those of level 4's bf16; see mma_tile.cuh.
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
// Bytes moved: sizeof(T)·(M·N·K·(1/BM + 1/BN) + N + M·N) at most, mostly from L2.
// Launch: a block a tile, along a row of tiles first, and shared memory for the steps of its ring.
//
// Measured on an NVIDIA H200, microseconds on the device (workbook ops, commit c8f721f33, 2026-11-22):
//   linear 128x512x512 f32: level 2 18.4, level 3 16.1, level 4 12.0, level 5 6.6, PyTorch 24.6
//   linear 197x1536x384 f32: level 2 23.9, level 3 41.4, level 4 23.4, level 5 12.4, PyTorch 34.1
//   linear 4096x128x128 f32: level 2 19.3, level 3 12.1, level 4 8.9, level 5 6.6, PyTorch 9.8
//   linear 25216x3072x768 f32: level 2 2792.5, level 3 6753.8, level 4 2966.7, level 5 1571.5, PyTorch 2491.2
//   qkv 128x512x1536 f32: level 2 14.8, level 3 22.8, level 4 14.1, level 5 9.0, PyTorch 13.6
//   qkv 197x384x1152 f32: level 2 13.4, level 3 17.9, level 4 11.6, level 5 8.5, PyTorch 12.4
//   qkv_skip 4096x128x512 f32: level 2 59.3, level 3 36.5, level 4 24.2, level 5 12.5, PyTorch 18.1
//   linear_gelu 197x384x1536 f32: level 2 31.5, level 3 22.4, level 4 15.2, level 5 10.5, PyTorch 21.5, PyTorch compile 22.3
//   linear_gelu 4096x128x256 f32: level 2 37.9, level 3 21.0, level 4 12.8, level 5 10.0, PyTorch 14.6, PyTorch compile 18.4
//   linear_gelu 25216x768x3072 f32: level 2 3879.5, level 3 6750.8, level 4 3067.9, level 5 1698.4, PyTorch 2476.5, PyTorch compile 2476.1
//   linear_swiglu 128x512x1536 f32: level 2 38.8, level 3 29.2, level 4 19.0, level 5 11.8, PyTorch 24.3, PyTorch compile 24.2
//   linear 128x512x512 bf16: level 2 10.0, level 3 16.4, level 4 7.3, level 5 4.7, PyTorch 6.4
//   linear_gelu 197x384x1536 bf16: level 2 18.8, level 3 22.7, level 4 7.0, level 5 6.6, PyTorch 10.1, PyTorch compile 9.0
//   linear_swiglu 128x512x1536 bf16: level 2 25.2, level 3 29.0, level 4 7.2, level 5 6.6, PyTorch 14.6, PyTorch compile 10.1
#include "linear/split_tf32.cuh"
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
