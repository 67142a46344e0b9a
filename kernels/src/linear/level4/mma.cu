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
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit 207e47f70, 2026-11-25):
//   linear 128x512x512 bf16: level 2 5.7, level 3 14.4, level 4 3.6, PyTorch 3.2, PyTorch compile 3.2
//   linear 197x1536x384 bf16: level 2 7.1, level 3 40.3, level 4 7.0, PyTorch 4.5, PyTorch compile 5.5
//   linear 4096x128x128 bf16: level 2 10.8, level 3 10.5, level 4 3.0, PyTorch 3.0, PyTorch compile 3.1
//   linear 128x512x1536 bf16: level 2 7.6, level 3 21.2, level 4 3.8, PyTorch 3.3, PyTorch compile 3.8
//   linear 197x384x1152 bf16: level 2 7.7, level 3 16.4, level 4 3.8, PyTorch 3.2, PyTorch compile 5.2
//   linear 4096x128x512 bf16: level 2 33.3, level 3 35.4, level 4 4.9, PyTorch 4.2, PyTorch compile 4.7
//   linear 25216x3072x768 bf16: level 2 444.4, level 3 6768.6, level 4 283.2, PyTorch 156.0, PyTorch compile 155.8
//   linear_gelu 197x384x1536 bf16: level 2 12.0, level 3 20.6, level 4 4.7, PyTorch 5.3, PyTorch compile 4.6
//   linear_gelu 4096x128x256 bf16: level 2 23.9, level 3 19.2, level 4 3.7, PyTorch 6.2, PyTorch compile 6.6
//   linear_gelu 25216x768x3072 bf16: level 2 1692.3, level 3 6790.9, level 4 336.6, PyTorch 270.7, PyTorch compile 272.5
//   linear_swiglu 128x512x1536 bf16: level 2 14.4, level 3 26.9, level 4 5.2, PyTorch 9.0, PyTorch compile 7.5
//   linear_residual 128x512x512 bf16: level 2 7.3, level 3 15.0, level 4 3.6, PyTorch 4.7, PyTorch compile 5.1
//   linear_residual 128x1536x512 bf16: level 2 8.5, level 3 40.8, level 4 7.0, PyTorch 6.0, PyTorch compile 11.3
//   linear_residual 197x384x384 bf16: level 2 7.1, level 3 11.7, level 4 3.3, PyTorch 4.7, PyTorch compile 3.5
//   linear_residual 197x1536x384 bf16: level 2 8.6, level 3 40.9, level 4 7.1, PyTorch 6.4, PyTorch compile 7.1
//   linear_residual 4096x256x128 bf16: level 2 13.7, level 3 19.2, level 4 3.7, PyTorch 5.1, PyTorch compile 5.7
//   linear_residual 25216x3072x768 bf16: level 2 529.8, level 3 6774.9, level 4 289.8, PyTorch 184.8, PyTorch compile 185.5
#include "common/gemm/tile_mma.cuh"
#include "linear/kernels.cuh"

using Large = MmaTile<Bf16, 128, 128, 64, 3, 2, 2>;
using Medium = MmaTile<Bf16, 64, 64, 64, 3, 2, 2>;
using Small = MmaTile<Bf16, 32, 64, 128, 3, 2, 2>;

KERNELS(Large, 2, bf16_level4_128x128)
KERNELS(Medium, 4, bf16_level4_64x64)
KERNELS(Small, 3, bf16_level4_32x64)
