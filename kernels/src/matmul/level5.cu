// matmul, level 5, f32: C = A·B + b for small matrices. A (batch, M, K) and B (batch, K, N) of any strides, b (N)
// or none, C (batch, M, N) contiguous.
//
// Against candle's product, which is cuBLAS's: one of a few kernels made for large matrices, with as few blocks
// as there are large tiles, or two launches where it splits K. Here the tile is picked by the shape:
//   - 16×16 of a single matrix, so that even 64×64 gives work to 16 SMs, with K in 4 or 8 slices;
//   - 32×16 and 32×32 where there are blocks enough, for fewer fetches per multiply-add;
//   - 16×16 by a warp, four matrices a block, where there are hundreds of them: no barrier at all;
//   - 64×64 with 32 accumulators per thread, for batches of larger ones.
//
// Prediction: the latency of memory, 0.6 µs, that of shared memory, and the launch: 2 µs for all sizes up to 128,
// where cuBLAS takes 3 to 5. Beyond 256 the arithmetic counts, and cuBLAS is ahead.
// To be faster: chunks of K by cp.async, without registers, several in flight at once.
//
// Bytes moved: 4·batch·(M·K·N/BN + K·N·M/BM + M·N), mostly from L2.
// Launch: grid (N / BN, M / BM, batch / MATRICES), block (THREADS, MATRICES).
#include "matmul/small.cuh"

#define KERNEL(TILE, NAME)                                                                                   \
  extern "C" __global__ void __launch_bounds__(TILE::THREADS *TILE::MATRICES) matmul_f32_level5_##NAME(      \
      const float *__restrict__ a, const float *__restrict__ b, const float *__restrict__ bias,              \
      float *__restrict__ c, unsigned batch, unsigned m, unsigned n, unsigned k, unsigned a_batch,           \
      unsigned a_row, unsigned a_column, unsigned b_batch, unsigned b_row, unsigned b_column) {              \
    small<TILE>(a, b, bias, c, batch, m, n, k, {a_batch, a_row, a_column}, {b_batch, b_row, b_column});      \
  }

//                     BM  BN   BK TM TN SLICES MATRICES
using Tile16K32 = Small<16, 16, 32, 2, 2, 4>;
using Tile16K64 = Small<16, 16, 64, 2, 2, 4>;
using Tile16K128 = Small<16, 16, 128, 2, 2, 4>;
using Tile16K256 = Small<16, 16, 256, 2, 2, 8>;
using Tile32x16 = Small<32, 16, 128, 4, 2, 8>;
using Tile32 = Small<32, 32, 64, 4, 4, 4>;
using Tile32Batch = Small<32, 32, 32, 4, 4, 1>;
using Tile64Batch = Small<64, 64, 16, 8, 4, 1>;
using Warp16 = Small<16, 16, 16, 4, 2, 1, 4>;

KERNEL(Tile16K32, 16x16_k32)
KERNEL(Tile16K64, 16x16_k64)
KERNEL(Tile16K128, 16x16_k128)
KERNEL(Tile16K256, 16x16_k256)
KERNEL(Tile32x16, 32x16_k128)
KERNEL(Tile32, 32x32_k64)
KERNEL(Tile32Batch, 32x32_k32)
KERNEL(Tile64Batch, 64x64_k16)
KERNEL(Warp16, warp_16x16)
