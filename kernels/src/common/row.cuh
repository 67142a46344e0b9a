// A row of a matrix in the registers of the threads that share it: threadIdx.x of blockDim.x, a warp or
// several; threadIdx.y is another row.
#pragma once

#include "common/vector.cuh"
#include "common/warp.cuh"

constexpr int ROW_PIECES = 4; // of 16 bytes, in each thread

// Threads of a block at the most: they hold 16384 columns, and have 64 or 128 registers each.
template <typename T>
constexpr int ROW_THREADS = 16384 / (ROW_PIECES * PER_16_BYTES<T>);

// This thread's pieces of a row, as they lie in memory: 16 registers, whatever T. Neighbouring threads have
// neighbouring pieces.
template <typename T>
struct Pieces {
  static constexpr int N = PER_16_BYTES<T>;
  uint4 piece[ROW_PIECES];

  // Asks for all pieces of a row and waits for none: the first use of a piece waits for it.
  __device__ __forceinline__ Pieces(const T *row, int columns) {
#pragma unroll
    for (int i = 0; i < ROW_PIECES; i++) {
      if (column(i) < columns) piece[i] = *reinterpret_cast<const uint4 *>(row + column(i));
    }
  }

  // Makes zeros of the pieces outside the row. A plain sum needs them: nvcc adds those pieces too, and then picks the sum
  // with or without them.
  __device__ __forceinline__ void clear_outside(int columns) {
#pragma unroll
    for (int i = 0; i < ROW_PIECES; i++) {
      if (column(i) >= columns) piece[i] = make_uint4(0, 0, 0, 0);
    }
  }

  // The elements of piece i.
  __device__ __forceinline__ void get(int i, float (&x)[N]) const { unpack16<T>(piece[i], x); }

  // The first column of piece i.
  static __device__ __forceinline__ int column(int i) { return (i * blockDim.x + threadIdx.x) * N; }

  // Whether the threads can hold a row, and all of its pieces lie on 16 bytes when the tensor does.
  static __device__ __forceinline__ bool fit(int columns) {
    return columns % N == 0 && columns <= blockDim.x * ROW_PIECES * N;
  }
};

// Calls f(i, c) for each of this thread's pieces inside a row of T: its number and its first column.
template <typename T, typename F>
__device__ __forceinline__ void each_piece(int columns, F f) {
#pragma unroll
  for (int i = 0; i < ROW_PIECES; i++) {
    int c = Pieces<T>::column(i);
    if (c < columns) f(i, c);
  }
}
