// linear, level 4, f32: y = x·wᵀ + b, gelu(x·wᵀ + b), silu(x·Wgᵀ) ⊙ (x·Wuᵀ). x (M, K), w (N, K), or (2F, K)
// with the rows of Wg above those of Wu, b (N) or none, y (M, N) or (M, F), all row-major.
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
// Bytes moved: 4·(2·M·N·K/64 + N + M·N) at most, mostly from L2.
// Launch: a block a tile, along a row of tiles first.
//
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit 48372ebe4, 2026-11-23):
//   linear 128x512x512 f32: level 2 12.6, level 3 14.1, level 4 8.2, PyTorch 19.8
//   linear 197x1536x384 f32: level 2 18.3, level 3 39.0, level 4 21.5, PyTorch 32.5
//   linear 4096x128x128 f32: level 2 15.0, level 3 10.1, level 4 6.9, PyTorch 9.2
//   linear 25216x3072x768 f32: level 2 2788.5, level 3 6745.0, level 4 2969.7, PyTorch 2493.2
//   qkv 128x512x1536 f32: level 2 11.7, level 3 20.7, level 4 12.1, PyTorch 12.2
//   qkv 197x384x1152 f32: level 2 11.3, level 3 15.9, level 4 9.5, PyTorch 11.5
//   qkv_skip 4096x128x512 f32: level 2 52.9, level 3 34.4, level 4 21.7, PyTorch 17.5
//   linear_gelu 197x384x1536 f32: level 2 24.5, level 3 20.3, level 4 13.0, PyTorch 17.9, PyTorch compile 17.9
//   linear_gelu 4096x128x256 f32: level 2 31.3, level 3 18.9, level 4 10.3, PyTorch 13.3, PyTorch compile 13.8
//   linear_gelu 25216x768x3072 f32: level 2 3862.2, level 3 6748.0, level 4 3034.3, PyTorch 2475.0, PyTorch compile 2473.8
//   linear_swiglu 128x512x1536 f32: level 2 27.6, level 3 27.1, level 4 16.9, PyTorch 22.2, PyTorch compile 19.5
#include "linear/tile.cuh"
#include "linear/kernels.cuh"

using Large = Tile<64, 64, 32, 8, 2>;
using Small = Tile<32, 32, 64, 4, 4>;

KERNELS(Large, 3, f32_level4_64x64)
KERNELS(Small, 4, f32_level4_32x32)
