// A row of a matrix in the registers of the threads that share it: threadIdx.x of blockDim.x, a warp or
// several; threadIdx.y is another row.
#pragma once

#include "common/vector.cuh"
#include "common/warp.cuh"

constexpr int ROW_BLOCK = 256;  // threads of a block
constexpr int ROW_FLOATS = 32;  // of a row, in each thread

// This thread's share of a row of T: pieces of 16 bytes.
template <typename T>
struct Share {
  static constexpr int N = PER_16_BYTES<T>;
  static constexpr int PIECES = ROW_FLOATS / N;
  float piece[PIECES][N];

  // The first column of piece i: neighbouring threads hold neighbouring pieces.
  static __device__ __forceinline__ int column(int i) { return (i * blockDim.x + threadIdx.x) * N; }

  // Whether the threads can hold a row, and all of its pieces lie on 16 bytes when the tensor does.
  static __device__ __forceinline__ bool fits(int columns) {
    return columns % N == 0 && columns <= blockDim.x * ROW_FLOATS;
  }

  // Asks for all pieces; no value is used here, so the thread does not wait in between.
  __device__ __forceinline__ void load(const T *row, int columns) {
#pragma unroll
    for (int i = 0; i < PIECES; i++) {
      if (column(i) < columns) load16(row + column(i), piece[i]);
    }
  }

  // Calls f(piece, its first column, i) for each piece inside the row.
  template <typename F>
  __device__ __forceinline__ void each(int columns, F f) {
#pragma unroll
    for (int i = 0; i < PIECES; i++) {
      if (column(i) < columns) f(piece[i], column(i), i);
    }
  }
};
