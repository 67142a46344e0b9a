// linear, level 4, f32: y = x·wᵀ + b + r, gelu(x·wᵀ + b), silu(x·Wgᵀ) ⊙ (x·Wuᵀ). x (M, K), w (N, K), or (2F, K)
// with the rows of Wg above those of Wu, b (N) or none, the residual r (M, N) or none, y (M, N) or (M, F), all
// row-major.
//
// Against level 3: a block still computes a tile from rows in shared memory, and still adds the bias while a
// sum is in its register. What changes is what a thread does with the words that it reads there: tile.cuh.
//   - It keeps 8×8 sums where it kept 4: 16 words serve 64 multiply-adds, so that arithmetic sets the pace.
//   - It fetches 16 bytes at a time, and the next step while it computes this one.
//   - A tile is 64×64: global memory and the L2 cache give 2·M·N·K/64 elements instead of 2·M·N·K/32.
//
// Prediction: 64 multiply-adds and 4 reads for each k: more than 8 of 10 instructions do arithmetic, and the
// rate is that of the FFMA units, less what barriers and the first and last step of a block cost. It takes a
// large y to fill a GPU with 64×64 tiles: 512×512 has 64 of them, and an H200 132 SMs. Where there are fewer
// than 256, the launch takes 32×32 tiles, four slices of K to a block.
// To be faster: 128×128 sums with registers laid out for their banks, as libraries have them in machine code;
// K split over blocks where y is small and K long; sizes measured instead of ruled. That is level 5.
//
// Bytes moved: 4·(2·M·N·K/64 + N + 2·M·N) at most, mostly from L2.
// Launch: a block a tile, along a row of tiles first.
//
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit e0e5a46be, 2026-11-25):
//   linear 128x512x512 f32: level 2 12.8, level 3 14.1, level 4 8.4, PyTorch 20.0, PyTorch compile 13.1
//   linear 197x1536x384 f32: level 2 18.5, level 3 39.0, level 4 22.0, PyTorch 32.8, PyTorch compile 18.5
//   linear 4096x128x128 f32: level 2 15.1, level 3 10.3, level 4 7.0, PyTorch 8.9, PyTorch compile 9.1
//   linear 128x512x1536 f32: level 2 16.6, level 3 20.9, level 4 12.3, PyTorch 14.4, PyTorch compile 15.3
//   linear 197x384x1152 f32: level 2 15.6, level 3 16.1, level 4 9.8, PyTorch 11.4, PyTorch compile 13.0
//   linear 4096x128x512 f32: level 2 53.3, level 3 34.9, level 4 20.4, PyTorch 17.3, PyTorch compile 28.3
//   linear 25216x3072x768 f32: level 2 2787.9, level 3 6748.0, level 4 2709.9, PyTorch 2491.3, PyTorch compile 2492.6
//   linear_gelu 197x384x1536 f32: level 2 24.7, level 3 20.4, level 4 13.0, PyTorch 17.9, PyTorch compile 39.4
//   linear_gelu 4096x128x256 f32: level 2 31.3, level 3 19.0, level 4 10.4, PyTorch 13.2, PyTorch compile 21.7
//   linear_gelu 25216x768x3072 f32: level 2 3861.5, level 3 6750.8, level 4 3035.6, PyTorch 2479.5, PyTorch compile 2474.2
//   linear_swiglu 128x512x1536 f32: level 2 27.2, level 3 27.1, level 4 16.9, PyTorch 21.6, PyTorch compile 19.2
//   linear_residual 128x512x512 f32: level 2 14.4, level 3 14.6, level 4 8.6, PyTorch 21.9, PyTorch compile 12.1
//   linear_residual 128x1536x512 f32: level 2 16.8, level 3 39.4, level 4 22.1, PyTorch 31.7, PyTorch compile 14.5
//   linear_residual 197x384x384 f32: level 2 13.1, level 3 11.3, level 4 6.9, PyTorch 10.7, PyTorch compile 10.8
//   linear_residual 197x1536x384 f32: level 2 20.1, level 3 39.4, level 4 22.1, PyTorch 34.2, PyTorch compile 17.6
//   linear_residual 4096x256x128 f32: level 2 22.0, level 3 18.9, level 4 11.9, PyTorch 12.8, PyTorch compile 26.4
//   linear_residual 25216x3072x768 f32: level 2 2895.0, level 3 6758.8, level 4 2719.3, PyTorch 2544.6, PyTorch compile 2544.6
#include "common/gemm/tile_f32.cuh"
#include "linear/kernels.cuh"

using Large = Tile<64, 64, 32, 8, 2>;
using Small = Tile<32, 32, 64, 4, 4>;

KERNELS(Large, 3, f32_level4_64x64)
KERNELS(Small, 4, f32_level4_32x32)
