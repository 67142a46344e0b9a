// The kernels of a tile: what linear's files of tiles share, at levels 4 and 5. To be included behind the tile's
// own header, whose `product` computes one.
#pragma once

#include "common/gemm/operands.cuh"

// A block of a product: a tile of y, along a row of tiles first. With a gate, half of its columns make y.
template <class Tile, class Epilogue, class T>
__device__ __forceinline__ void tile(const T *x, const T *w, Epilogue epilogue, T *y, unsigned m, unsigned n,
                                     unsigned k, const T *residual = nullptr) {
  constexpr int HALF = Epilogue::GATED ? Tile::BN / 2 : 0, COLUMNS = HALF ? HALF : Tile::BN;
  unsigned tiles_n = (n + COLUMNS - 1) / COLUMNS;
  unsigned row = blockIdx.x / tiles_n * Tile::BM, column = blockIdx.x % tiles_n * COLUMNS;
  Matrix<T> rows_x(x, row, m, k);
  Weight<T, HALF> rows_w(w, column, n, k);
  product<Tile>(rows_x, rows_w, Output(y, m, n, epilogue, residual), row, column, k);
}

// BLOCKS is how many blocks an SM shall have registers for.
#define KERNELS(TILE, BLOCKS, NAME)                                                                          \
  extern "C" __global__ void __launch_bounds__(TILE::THREADS, BLOCKS)                                        \
      linear_##NAME(PARAMETERS(TILE::T, RESIDUAL(TILE::T))) {                                                \
    tile<TILE>(x, w, Bias<TILE::T>{b}, y, m, n, k, residual);                                                \
  }                                                                                                          \
  extern "C" __global__ void __launch_bounds__(TILE::THREADS, BLOCKS)                                        \
      linear_gelu_##NAME(PARAMETERS(TILE::T, )) {                                                            \
    tile<TILE>(x, w, BiasGelu<TILE::T>{b}, y, m, n, k);                                                      \
  }                                                                                                          \
  extern "C" __global__ void __launch_bounds__(TILE::THREADS, BLOCKS)                                        \
      linear_swiglu_##NAME(PARAMETERS(TILE::T, )) {                                                          \
    tile<TILE>(x, w, SwiGlu{}, y, m, n, k);                                                                  \
  }
