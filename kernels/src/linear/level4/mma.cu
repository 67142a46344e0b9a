// linear, level 4, bf16 on tensor cores: y = x·wᵀ + b + r, gelu(x·wᵀ + b), silu(x·Wgᵀ) ⊙ (x·Wuᵀ). x (M, K),
// w (N, K), or (2F, K) with the rows of Wg above those of Wu, b (N) or none, the residual r (M, N) or none,
// y (M, N) or (M, F).
//
// Against level 3, whose bf16 is f32 arithmetic on half the bytes; see mma_tile.cuh.
//   - Tensor cores multiply bf16 as it is and add in f32: 2048 multiply-adds an instruction of a warp.
//   - Steps of K are copied from global to shared memory past the registers, two steps ahead.
//   - A tile is 128×128: global memory and the L2 cache give 2·M·N·K/128 elements instead of 2·M·N·K/32.
//
// Prediction: for 16 columns a warp reads 8 times 512 bytes and issues 32 products, during which shared memory
// could give twice that: tensor cores set the pace, where there are blocks enough for two on each SM. Where
// there are not, the launch takes 64×64 or 32×64 tiles, and the L2 cache sets the pace.
// Where it loses: to level 2, that is cuBLAS, on a hundred or two rows of x (qkv of 128 and of 197 rows in
// benches/results/ops/h200.json). All the tiles fit the SMs at once there, each waits for its own copies
// from L2, and cuBLAS has more shapes of tiles to choose from. Level 5 chooses among more, by measurement.
// To be faster: Hopper's wgmma, which reads its operands from shared memory itself and alone reaches that
// GPU's full rate, fed by TMA (its Tensor Memory Accelerator). That is level 5.
//
// Bytes moved: 2·(2·M·N·K/128 + N + 2·M·N) at most, mostly from L2.
// Launch: a block a tile, along a row of tiles first, and shared memory for the steps of its ring.
//
// Compiled for sm_80.
//
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit b7ca91183, 2026-11-23):
//   linear 128x512x512 bf16: level 2 5.7, level 3 14.3, level 4 3.5, PyTorch 3.2, PyTorch compile 3.2
//   linear 197x1536x384 bf16: level 2 7.1, level 3 40.2, level 4 6.9, PyTorch 4.5, PyTorch compile 7.8
//   linear 4096x128x128 bf16: level 2 10.8, level 3 10.3, level 4 2.9, PyTorch 3.0, PyTorch compile 2.8
//   linear 25216x3072x768 bf16: level 2 444.8, level 3 6755.9, level 4 278.0, PyTorch 157.5, PyTorch compile 157.6
//   qkv 128x512x1536 bf16: level 2 3.1, level 3 20.9, level 4 3.5, PyTorch 3.1, PyTorch compile 3.0
//   qkv 197x384x1152 bf16: level 2 3.0, level 3 16.1, level 4 3.7, PyTorch 3.1, PyTorch compile 3.3
//   qkv_skip 4096x128x512 bf16: level 2 33.3, level 3 34.7, level 4 4.5, PyTorch 4.2, PyTorch compile 4.6
//   linear_gelu 197x384x1536 bf16: level 2 12.0, level 3 20.5, level 4 4.7, PyTorch 5.3, PyTorch compile 7.2
//   linear_gelu 4096x128x256 bf16: level 2 23.9, level 3 19.2, level 4 3.7, PyTorch 6.1, PyTorch compile 6.3
//   linear_gelu 25216x768x3072 bf16: level 2 1694.6, level 3 6783.2, level 4 335.6, PyTorch 272.0, PyTorch compile 274.4
//   linear_swiglu 128x512x1536 bf16: level 2 14.3, level 3 26.9, level 4 5.1, PyTorch 8.9, PyTorch compile 5.8
#include "common/gemm/tile_mma.cuh"
#include "linear/kernels.cuh"

using Large = MmaTile<Bf16, 128, 128, 64, 3, 2, 2>;
using Medium = MmaTile<Bf16, 64, 64, 64, 3, 2, 2>;
using Small = MmaTile<Bf16, 32, 64, 128, 3, 2, 2>;

KERNELS(Large, 2, bf16_level4_128x128)
KERNELS(Medium, 4, bf16_level4_64x64)
KERNELS(Small, 3, bf16_level4_32x64)
