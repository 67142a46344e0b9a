// The kernels of linear that compute a tile per block, at levels 4 and 5. Include it after common/gemm/tile_f32.cuh or
// common/gemm/tile_mma.cuh, whose `gemm_tile` computes one.
#pragma once

#include "linear/parameters.cuh"

// The block's tile of y; consecutive blocks go along a row of tiles. With a gate, two columns of the tile make one of y.
template <class Tile, class Epilogue, class T>
__device__ __forceinline__ void linear_tile(const T *x, const T *w, Epilogue epilogue, T *y, unsigned m, unsigned n,
                                            unsigned k, const T *residual = nullptr) {
  constexpr int GATE_ROWS = Epilogue::GATED ? Tile::BN / 2 : 0, COLUMNS = GATE_ROWS ? GATE_ROWS : Tile::BN;
  unsigned tiles_n = (n + COLUMNS - 1) / COLUMNS;
  unsigned row = blockIdx.x / tiles_n * Tile::BM, column = blockIdx.x % tiles_n * COLUMNS;
  Matrix<T> rows_x(x, row, m, k);
  Weight<T, GATE_ROWS> rows_w(w, column, n, k);
  gemm_tile<Tile>(rows_x, rows_w, Output(y, m, n, epilogue, residual), row, column, k);
}

// A kernel of each epilogue. NAME: the kernel's name. BLOCKS: blocks for which an SM must have registers. On an H100 or
// H200, shared memory has room for as many (for 3 of level 5's SmallBf16); on an A100 or RTX 30, for fewer large tiles.
#define LINEAR(NAME, TILE, BLOCKS)                                                                           \
  extern "C" __global__ void __launch_bounds__(TILE::THREADS, BLOCKS) NAME(PARAMETERS_RESIDUAL(TILE::T)) {   \
    linear_tile<TILE>(x, w, Bias<TILE::T>{b}, y, m, n, k, residual);                                         \
  }
#define LINEAR_GELU(NAME, TILE, BLOCKS)                                                                      \
  extern "C" __global__ void __launch_bounds__(TILE::THREADS, BLOCKS) NAME(PARAMETERS(TILE::T)) {            \
    linear_tile<TILE>(x, w, BiasGelu<TILE::T>{b}, y, m, n, k);                                               \
  }
#define LINEAR_SWIGLU(NAME, TILE, BLOCKS)                                                                    \
  extern "C" __global__ void __launch_bounds__(TILE::THREADS, BLOCKS) NAME(PARAMETERS(TILE::T)) {            \
    linear_tile<TILE>(x, w, SwiGlu{}, y, m, n, k);                                                           \
  }
