// Level 4 of linear, f32: tiles in registers, up to 8×8 accumulators per thread.
//   y = x·wᵀ + b + r, gelu(x·wᵀ + b), silu(x·Wgᵀ) ⊙ (x·Wuᵀ)
// x (M, K), w (N, K), or (2F, K) with Wg above Wu, b (N) or none, the residual r (M, N) or none, y (M, N) or (M, F).
//
// Against level 3: a block still computes a tile from rows in shared memory, and still adds the bias to accumulators
// in registers. What changes is how a thread uses the words that it reads there; see common/gemm/tile_f32.cuh.
//   - It has 8×8 accumulators where it had 4: 16 words serve 64 multiply-adds, so that it is compute-bound.
//   - It fetches 16 bytes at a time, and the next step while it computes this one.
//   - The larger tile is 64×64: global memory and L2 then give 2·M·N·K/64 elements instead of 2·M·N·K/32.
//
// Prediction: 64 multiply-adds and 4 reads for each k: more than 8 of 10 instructions do arithmetic, and the
// rate is that of the FFMA units, less what barriers and the first and last step of a block cost. It takes a
// large y to fill a GPU with 64×64 tiles: 512×512 has 64 of them, and an H200 132 SMs. Where there are fewer
// than 256, the launch takes 32×32 tiles, with four slices of K per block.
// To be faster: 128×128 tiles with registers laid out for their banks, as libraries have them in machine code;
// K split over blocks where y is small and K long. Level 5 takes tensor cores instead, and the tile that was measured fastest.
//
// Bytes moved, for whole tiles: 4·(M·N·K·(1/BM + 1/BN) + M·N/BM + 2·M·N), mostly from L2.
// Launch: one block per tile, along a row of tiles first.
//
// Measured on an NVIDIA H200: linear_residual 25216x3072x768 f32 at 59% of the fastest f32 matmul; see kernels/generated/linear/level4/tile_f32.md.
#include "common/gemm/tile_f32.cuh"
#include "linear/tile_kernels.cuh"

using Large = FmaTile<64, 64, 32, 8, 2>;
using Small = FmaTile<32, 32, 64, 4, 4>;

LINEAR(linear_f32_level4_64x64, Large, 3)
LINEAR_GELU(linear_gelu_f32_level4_64x64, Large, 3)
LINEAR_SWIGLU(linear_swiglu_f32_level4_64x64, Large, 3)

LINEAR(linear_f32_level4_32x32, Small, 4)
LINEAR_GELU(linear_gelu_f32_level4_32x32, Small, 4)
LINEAR_SWIGLU(linear_swiglu_f32_level4_32x32, Small, 4)
