// The kernels of patch_embed at level 4, one for each tile. Include it after common/gemm/tile_f32.cuh or
// common/gemm/tile_mma.cuh, whose `gemm_tile` computes one.
#pragma once

#include "common/overlap.cuh"
#include "patch_embed/patches.cuh"

// The block's tile of y; consecutive blocks go along a row of tiles.
template <class Tile, class T = typename Tile::T>
__device__ __forceinline__ void patch_embed_tile(const T *pixels, const T *w, Token<T> epilogue, T *y, unsigned m,
                                                 unsigned k, Cut cut) {
  let_next_start();
  wait_for_previous();
  unsigned c = epilogue.c, tiles_n = (c + Tile::BN - 1) / Tile::BN;
  unsigned row = blockIdx.x / tiles_n * Tile::BM, column = blockIdx.x % tiles_n * Tile::BN;
  Patches<T> rows_x(pixels, row, m, k, cut);
  Weight<T, 0> rows_w(w, column, c, k);
  gemm_tile<Tile>(rows_x, rows_w, Output(y, m, c, epilogue), row, column, k);
}

// NAME: the kernel's name. BLOCKS: blocks for which an SM must have registers.
#define PATCH_EMBED(NAME, TILE, BLOCKS)                                                                      \
  extern "C" __global__ void __launch_bounds__(TILE::THREADS, BLOCKS)                                        \
      NAME(const TILE::T *pixels, const TILE::T *__restrict__ w, const TILE::T *__restrict__ b,              \
           const TILE::T *__restrict__ class_token, const TILE::T *__restrict__ positions,                   \
           TILE::T *__restrict__ y, unsigned m, unsigned c, unsigned k, unsigned tokens, unsigned patch,     \
           unsigned height, unsigned width, unsigned image) {                                                \
    patch_embed_tile<TILE>(pixels, w, Token<TILE::T>{b, class_token, positions, tokens, c}, y, m, k,         \
                           Cut{tokens, patch, height, width, image});                                        \
  }
