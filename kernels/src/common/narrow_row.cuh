// A narrow row: one in the registers of 16 or 32 lanes of one warp, at most LANES_PER_ROW * CHUNKS_PER_LANE chunks of
// 16 bytes. Both numbers are template parameters, so a kernel has the registers that its rows need and no more. The
// host's side is launch/narrow_rows.rs.
#pragma once

#include "common/vector.cuh"
#include "common/warp.cuh"

constexpr int NARROW_ROW_THREADS = 128; // of a block, which has as many rows as fit

template <typename T, int LANES_PER_ROW, int CHUNKS_PER_LANE>
struct NarrowRow {
  static constexpr int PER_CHUNK = PER_16_BYTES<T>;
  size_t start; // index of this row's first element in its matrix
  int end;      // number of columns; 0 for lanes without a row, which load nothing and still take part in shuffles

  __device__ __forceinline__ NarrowRow(unsigned rows, int columns) {
    const unsigned row = blockIdx.x * (NARROW_ROW_THREADS / LANES_PER_ROW) + threadIdx.x / LANES_PER_ROW;
    start = size_t(row) * unsigned(columns);
    end = row < rows ? columns : 0;
  }

  // The first column of chunk i. Neighbouring lanes have neighbouring chunks.
  static __device__ __forceinline__ int column(int i) {
    return (i * LANES_PER_ROW + threadIdx.x % LANES_PER_ROW) * PER_CHUNK;
  }

  // Calls f(i, c) for each of this lane's chunks inside the row: its number and its first column.
  template <typename F>
  __device__ __forceinline__ void for_each_chunk(F f) const {
#pragma unroll
    for (int i = 0; i < CHUNKS_PER_LANE; i++) {
      const int c = column(i);
      if (c < end) f(i, c);
    }
  }

  // Issues the loads of a row's chunks. None waits for another: the first use of a chunk waits for its load.
  __device__ __forceinline__ void load(const T *row, uint4 (&chunks)[CHUNKS_PER_LANE]) const {
    for_each_chunk([&](int i, int c) { chunks[i] = *reinterpret_cast<const uint4 *>(row + c); });
  }

  // Sets the chunks outside the row to zero, for the reason that RowChunks::zero_outside gives.
  __device__ __forceinline__ void zero_outside(uint4 (&chunks)[CHUNKS_PER_LANE]) const {
#pragma unroll
    for (int i = 0; i < CHUNKS_PER_LANE; i++) {
      if (column(i) >= end) chunks[i] = make_uint4(0, 0, 0, 0);
    }
  }
};
