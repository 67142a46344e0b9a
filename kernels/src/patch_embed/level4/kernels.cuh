// The kernels of patch_embed at level 4, one for each tile. To be included behind the tile's own header, whose
// `product` computes one.
#pragma once

#include "patch_embed/patches.cuh"

// A block: a tile of y, along a row of tiles first.
template <class Tile, class T = typename Tile::T>
__device__ __forceinline__ void tile(const T *pixels, const T *w, Token<T> epilogue, T *y, unsigned m,
                                     unsigned k, Cut cut) {
  unsigned c = epilogue.c, tiles_n = (c + Tile::BN - 1) / Tile::BN;
  unsigned row = blockIdx.x / tiles_n * Tile::BM, column = blockIdx.x % tiles_n * Tile::BN;
  Patches<T> rows_x(pixels, row, m, k, cut);
  Weight<T, 0> rows_w(w, column, c, k);
  product<Tile>(rows_x, rows_w, Output(y, m, c, epilogue), row, column, k);
}

// BLOCKS is how many blocks an SM shall have registers for.
#define KERNEL(TILE, BLOCKS, NAME)                                                                           \
  extern "C" __global__ void __launch_bounds__(TILE::THREADS, BLOCKS) patch_embed_##NAME(                    \
      const TILE::T *__restrict__ pixels, const TILE::T *__restrict__ w, const TILE::T *__restrict__ b,      \
      const TILE::T *__restrict__ class_token, const TILE::T *__restrict__ positions,                        \
      TILE::T *__restrict__ y, unsigned m, unsigned c, unsigned k, unsigned tokens, unsigned patch,          \
      unsigned height, unsigned width, unsigned picture) {                                                   \
    tile<TILE>(pixels, w, Token<TILE::T>{b, class_token, positions, tokens, c}, y, m, k,                     \
               Cut{tokens, patch, height, width, picture});                                                  \
  }
