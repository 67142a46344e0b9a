// Level 5 of matmul, f32, for small matrices: tiles picked by the shape.
//   C = A·B + b        A (batch, M, K) and B (batch, K, N) of any strides, b (N) or none, C (batch, M, N) contiguous
//
// Against candle's matmul, which is cuBLAS's: one of a few kernels made for large matrices, with as few blocks
// as there are large tiles, or two launches where it splits K. Here the tile is picked by the shape:
//   - 16×16 of a single matrix, so that even 64×64 gives work to 16 SMs, with K in 4 or 8 slices;
//   - 32×16 and 32×32 where there are blocks enough, for fewer fetches per multiply-add;
//   - 16×16 by a warp, four matrices a block, where there are hundreds of them: no barrier but __syncwarp;
//   - 64×64 with 32 accumulators per thread, for batches of larger ones.
//
// Prediction: the latency of memory, 0.6 µs, that of shared memory, and the launch: 2 µs for all sizes up to 128.
// Beyond 256 the arithmetic counts, and cuBLAS's larger tiles fetch less for each multiply-add.
// To be faster: chunks of K by cp.async, without registers, several in flight at once.
//
// Bytes moved: 4·batch·(M·K·N/BN + K·N·M/BM + M·N), mostly from L2.
// Launch: grid (N / BN, M / BM, batch / MATRICES), block (THREADS, MATRICES).
#include "matmul/small.cuh"

#define MATMUL(NAME, TILE)                                                                                   \
  extern "C" __global__ void __launch_bounds__(TILE::THREADS *TILE::MATRICES)                                \
      NAME(const float *__restrict__ a, const float *__restrict__ b, const float *__restrict__ bias,         \
           float *__restrict__ c, unsigned batch, unsigned m, unsigned n, unsigned k, unsigned a_batch,      \
           unsigned a_row, unsigned a_column, unsigned b_batch, unsigned b_row, unsigned b_column) {         \
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

MATMUL(matmul_f32_level5_16x16_k32, Tile16K32)
MATMUL(matmul_f32_level5_16x16_k64, Tile16K64)
MATMUL(matmul_f32_level5_16x16_k128, Tile16K128)
MATMUL(matmul_f32_level5_16x16_k256, Tile16K256)
MATMUL(matmul_f32_level5_32x16_k128, Tile32x16)
MATMUL(matmul_f32_level5_32x32_k64, Tile32)
MATMUL(matmul_f32_level5_32x32_k32, Tile32Batch)
MATMUL(matmul_f32_level5_64x64_k16, Tile64Batch)
MATMUL(matmul_f32_level5_warp_16x16, Warp16)
