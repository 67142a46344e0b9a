// Level 5 of linear, bf16 on Hopper: tiles by wgmma, which TMA brings to shared memory.
//   y = x·wᵀ + b + r, gelu(x·wᵀ + b), silu(x·Wgᵀ) ⊙ (x·Wuᵀ)
// x (M, K), w (N, K), or (2F, K) with Wg above Wu, b (N) or none, the residual r (M, N) or none, y (M, N) or (M, F).
// K and N (F) are multiples of 8, and x, w, y, b and r are 16-byte aligned.
//
// Against level 4, whose instructions are those of sm_80; see wgmma_tile.cuh.
//   - wgmma reads both operands from shared memory: no warp loads them, and only accumulators are in registers.
//   - TMA, the Tensor Memory Accelerator, fills shared memory, half of w for two blocks at once.
//   - Two consumer warpgroups compute tiles in turn: the epilogue of one overlaps with the wgmma of the other.
//
// Prediction: a tile of 128×192 needs 768 clocks of the tensor cores for 64 columns. In these, shared memory gives
// them 64 KiB, 512 clocks' worth, and L2 gives the block 28 KiB, 37 bytes per clock, about what it can give to
// all SMs at once. It is compute-bound: 25216×768×3072 (M×K×N) takes 24 tiles per block, 221 000 clocks. GELU takes a
// warpgroup 192·13 issue slots of the 9216 clocks of the other's wgmma: hidden, it seems. But wgmma
// reads and writes its accumulators in the registers, and other instructions wait for the register file.
// The GPU's power limit does the rest: the busier the tensor cores are, the lower is the clock.
// Where it loses: where there are fewer than two or three tiles for each SM, so that epilogues overlap with nothing
// and SMs idle in the last round: 6304×1536×384 is 100 tiles for 132 SMs. cuBLAS is ahead there.
// To be faster: split K where tiles are few; load the bias of a chunk while the one before is written.
//
// Bytes moved, for whole tiles: 2·(M·N·K·(1/BN + 1/256) + M·N/128 + 2·M·N), with BN 192 or 128, mostly from L2.
// Launch: clusters of 2 blocks of 384 threads, as many as there are tiles for or pairs of SMs, whichever is
// less; SHARED_BYTES of the tile as dynamic shared memory; tensor maps of x, w and y by value.
//   x: boxes of 128 rows, 64 columns; swizzle of 128 bytes
//   w: boxes of BN/2 rows, 64 columns; swizzle of 128 bytes
//   y: boxes of 16 rows, 64 columns, swizzle of 128 bytes; with a gate 32 columns, swizzle of 64 bytes
//
// Compiled for sm_90a.
//
// Measured on an NVIDIA H200: linear_gelu 25216x768x3072 bf16 at 79% of the fastest bf16 matmul; see kernels/generated/linear/level5/wgmma.md.
#include "common/activation.cuh"
#include "linear/level5/wgmma_tile.cuh"

// An epilogue makes an element of y from (acc + b, unused), or (gate, up) if GATED.
struct Bias {
  static constexpr bool GATED = false;
  static __device__ float of(float x, float) { return x; }
};

struct BiasGelu {
  static constexpr bool GATED = false;
  static __device__ float of(float x, float) { return gelu(x); }
};

struct SwiGlu {
  static constexpr bool GATED = true;
  static __device__ float of(float gate, float up) { return __fdividef(gate, 1.f + __expf(-gate)) * up; }
};

using Wide = WgmmaTile<192, 5>;
using Narrow = WgmmaTile<128, 6>;

// A kernel of each epilogue. The tensor maps are passed by value; linear alone has a residual (M, N), or null.
#define MAPS                                                                                                 \
  const __grid_constant__ TensorMap x, const __grid_constant__ TensorMap w, const __grid_constant__ TensorMap y
#define WGMMA(NAME, TILE)                                                                                    \
  extern "C" __global__ void __cluster_dims__(TILE::CLUSTER, 1, 1) __launch_bounds__(TILE::THREADS, 1)       \
      NAME(MAPS, const bf16 *__restrict__ b, const bf16 *__restrict__ residual, unsigned m, unsigned n,      \
           unsigned k) {                                                                                     \
    gemm_tiles<TILE, Bias>(&x, &w, &y, Added{b, residual, m, n}, k);                                         \
  }
#define WGMMA_GELU(NAME, TILE)                                                                               \
  extern "C" __global__ void __cluster_dims__(TILE::CLUSTER, 1, 1) __launch_bounds__(TILE::THREADS, 1)       \
      NAME(MAPS, const bf16 *__restrict__ b, unsigned m, unsigned n, unsigned k) {                           \
    gemm_tiles<TILE, BiasGelu>(&x, &w, &y, Added{b, nullptr, m, n}, k);                                      \
  }
#define WGMMA_SWIGLU(NAME, TILE)                                                                             \
  extern "C" __global__ void __cluster_dims__(TILE::CLUSTER, 1, 1) __launch_bounds__(TILE::THREADS, 1)       \
      NAME(MAPS, const bf16 *__restrict__ b, unsigned m, unsigned n, unsigned k) {                           \
    gemm_tiles<TILE, SwiGlu>(&x, &w, &y, Added{b, nullptr, m, n}, k);                                        \
  }

WGMMA(linear_bf16_level5_128x192, Wide)
WGMMA_GELU(linear_gelu_bf16_level5_128x192, Wide)
WGMMA_SWIGLU(linear_swiglu_bf16_level5_128x192, Wide)

WGMMA(linear_bf16_level5_128x128, Narrow)
WGMMA_GELU(linear_gelu_bf16_level5_128x128, Narrow)
WGMMA_SWIGLU(linear_swiglu_bf16_level5_128x128, Narrow)
