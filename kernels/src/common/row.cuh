// A row of a matrix in the registers of the threads that share it: threadIdx.x of blockDim.x, one warp or several.
// threadIdx.y selects the row. The host's side is launch/register_rows.rs: it launches these kernels only for rows that
// fit and are 16-byte aligned.
#pragma once

#include "common/vector.cuh"
#include "common/warp.cuh"

constexpr int CHUNKS_PER_THREAD = 4; // a chunk is 16 bytes of a row

// Maximum number of threads of a block. They hold a row of 16384 columns, and each can have 64 registers (f32) or 128
// (bf16) of the 65536 of an SM.
template <typename T>
constexpr int MAX_ROW_THREADS = 16384 / (CHUNKS_PER_THREAD * PER_16_BYTES<T>);

// This thread's chunks of a row as they are in memory: 16 registers, whatever T. Neighbouring threads have neighbouring
// chunks, so that a warp's loads are coalesced.
template <typename T>
struct RowChunks {
  static constexpr int PER_CHUNK = PER_16_BYTES<T>;
  uint4 chunk[CHUNKS_PER_THREAD];

  // Issues the loads of all chunks in the row. None waits for another: the first use of a chunk waits for its load.
  __device__ __forceinline__ RowChunks(const T *row, int columns) {
#pragma unroll
    for (int i = 0; i < CHUNKS_PER_THREAD; i++) {
      if (column(i) < columns) chunk[i] = *reinterpret_cast<const uint4 *>(row + column(i));
    }
  }

  // Sets the chunks outside the row to zero. A kernel that does nothing but add up a chunk's elements needs this: nvcc
  // compiles so short a branch without a jump, as an addition that always runs and a selection of the sum with or without
  // it, and the addition must not read registers that no load has written.
  __device__ __forceinline__ void zero_outside(int columns) {
#pragma unroll
    for (int i = 0; i < CHUNKS_PER_THREAD; i++) {
      if (column(i) >= columns) chunk[i] = make_uint4(0, 0, 0, 0);
    }
  }

  // The elements of chunk i, in f32.
  __device__ __forceinline__ void unpack(int i, float (&x)[PER_CHUNK]) const { unpack16<T>(chunk[i], x); }

  // The first column of chunk i.
  static __device__ __forceinline__ int column(int i) { return (i * blockDim.x + threadIdx.x) * PER_CHUNK; }
};

// Calls f(i, c) for each of this thread's chunks inside a row of T: its number and its first column.
template <typename T, typename F>
__device__ __forceinline__ void for_each_chunk(int columns, F f) {
#pragma unroll
  for (int i = 0; i < CHUNKS_PER_THREAD; i++) {
    int c = RowChunks<T>::column(i);
    if (c < columns) f(i, c);
  }
}
