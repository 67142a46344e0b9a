// Level 4 of linear, bf16: tiles on tensor cores.
//   y = x·wᵀ + b + r, gelu(x·wᵀ + b), silu(x·Wgᵀ) ⊙ (x·Wuᵀ)
// x (M, K), w (N, K), or (2F, K) with Wg above Wu, b (N) or none, the residual r (M, N) or none, y (M, N) or (M, F).
//
// Against level 3, whose bf16 is f32 arithmetic on half the bytes; see common/gemm/tile_mma.cuh.
//   - Tensor cores multiply bf16 as it is and add in f32: 2048 multiply-adds per instruction of a warp.
//   - cp.async copies steps of K from global to shared memory without registers, while another step is computed.
//   - The largest tile is 128×128: global memory and L2 then give 2·M·N·K/128 elements instead of 2·M·N·K/32.
//
// Prediction: for 16 columns of K a block's four warps read 16 KiB of shared memory, and cp.async writes 8 KiB: 192
// cycles. Their 128 mma take 256 cycles on an A100, which is compute-bound. At an H200's peak they would take 128, so shared
// memory limits it to two thirds of that peak. Smaller tiles, for fewer than two blocks per SM, are bound by L2.
// Where it loses: to PyTorch, that is cuBLAS, wherever no epilogue saves a launch; most for large matmuls, where cuBLAS
// has wgmma. For a hundred or two rows of x (kernels/generated/linear/level4/mma.md) all tiles fit the SMs at once,
// each waits for its own copies from L2, and cuBLAS has more shapes of tiles. Level 5 chooses among more.
// To be faster: Hopper's wgmma, which reads its operands from shared memory itself and alone reaches that GPU's full
// rate, with TMA (its Tensor Memory Accelerator) to fill shared memory. That is level 5.
//
// Bytes moved, for whole tiles: 2·(M·N·K·(1/BM + 1/BN) + M·N/BM + 2·M·N), mostly from L2.
// Launch: one block per tile, along a row of tiles first, with shared memory for the stages of its pipeline.
//
// Compiled for sm_80.
//
// Measured on an NVIDIA H200: linear_residual 25216x3072x768 bf16 at 52% of the fastest bf16 matmul; see kernels/generated/linear/level4/mma.md.
#include "common/gemm/tile_mma.cuh"
#include "linear/tile_kernels.cuh"

using Large = MmaTile<MmaBf16, 128, 128, 64, 3, 2, 2>;
using Medium = MmaTile<MmaBf16, 64, 64, 64, 3, 2, 2>;
using Small = MmaTile<MmaBf16, 32, 64, 128, 3, 2, 2>;

LINEAR(linear_bf16_level4_128x128, Large, 2)
LINEAR_GELU(linear_gelu_bf16_level4_128x128, Large, 2)
LINEAR_SWIGLU(linear_swiglu_bf16_level4_128x128, Large, 2)

LINEAR(linear_bf16_level4_64x64, Medium, 4)
LINEAR_GELU(linear_gelu_bf16_level4_64x64, Medium, 4)
LINEAR_SWIGLU(linear_swiglu_bf16_level4_64x64, Medium, 4)

LINEAR(linear_bf16_level4_32x64, Small, 3)
LINEAR_GELU(linear_gelu_bf16_level4_32x64, Small, 3)
LINEAR_SWIGLU(linear_swiglu_bf16_level4_32x64, Small, 3)
