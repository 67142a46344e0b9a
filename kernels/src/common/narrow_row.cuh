// A row of at most LANES * PIECES pieces of 16 bytes in the registers of LANES lanes of one warp: 16 or 32. Both are
// known when a kernel is compiled, so it has the registers that its rows need and no more.
#pragma once

#include "common/vector.cuh"
#include "common/warp.cuh"

constexpr int NARROW_THREADS = 128; // of a block, which has as many rows as fit

template <typename T, int LANES, int PIECES>
struct NarrowRow {
  static constexpr int N = PER_16_BYTES<T>;
  size_t start; // of this row in its matrix
  int end;      // behind its last column; 0 where there is no such row, whose lanes shuffle with the others

  __device__ __forceinline__ NarrowRow(unsigned rows, int columns) {
    const unsigned row = blockIdx.x * (NARROW_THREADS / LANES) + threadIdx.x / LANES;
    start = size_t(row) * unsigned(columns);
    end = row < rows ? columns : 0;
  }

  // The first column of piece i. Neighbouring lanes have neighbouring pieces.
  static __device__ __forceinline__ int column(int i) { return (i * LANES + threadIdx.x % LANES) * N; }

  // Calls f(i, c) for each of this lane's pieces: its number and its first column.
  template <typename F>
  __device__ __forceinline__ void each_piece(F f) const {
#pragma unroll
    for (int i = 0; i < PIECES; i++) {
      const int c = column(i);
      if (c < end) f(i, c);
    }
  }

  // Asks for a row's pieces and waits for none: the first use of a piece waits for it.
  __device__ __forceinline__ void load(const T *row, uint4 (&pieces)[PIECES]) const {
    each_piece([&](int i, int c) { pieces[i] = *reinterpret_cast<const uint4 *>(row + c); });
  }

  // Makes zeros of the pieces outside the row, as Pieces::clear_outside does.
  __device__ __forceinline__ void clear_outside(uint4 (&pieces)[PIECES]) const {
#pragma unroll
    for (int i = 0; i < PIECES; i++) {
      if (column(i) >= end) pieces[i] = make_uint4(0, 0, 0, 0);
    }
  }
};
