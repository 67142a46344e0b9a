// Level 4 of embedding: 16 bytes per lane.
//
//   y[i] = w[ids[i]]                                        rows of C columns
//
// Compared with level 3: a copy has no arithmetic, so only the bytes in flight count. A lane moves 16 bytes
// with one load and one store, a warp 512; at level 3 a thread moves 4, or 2 of bf16. And a block has several
// rows where they are short; at level 3 it has threads without a column.
// The bytes are the same, a row in and a row out for each id. The recorded sizes are small, and level 3 is 0.1 µs faster.
//
// Launch: a block has one row if there are at most 128 rows, else up to eight. A thread has two chunks of 16 bytes, so
// one warp copies a row of up to 1 KiB: block (32, rows). A longer row has (64, rows), (128, rows) or (256, 1).
//
// An id outside of the table reads nothing: its row becomes NaN, so that the error shows.
//
// To be faster: let the first norm gather its rows itself.
//
// Compiled for sm_75 and sm_90: from sm_90 on, a launch of level 5's decode step may overlap with the one before.
//
// Measured on an NVIDIA H200: embedding 128x512 f32 at 8% of the memory bandwidth; see kernels/generated/embedding/level4.md.
#include "common/overlap.cuh"
#include "common/vector.cuh"

constexpr int BLOCK = 256;

// Copies `count` elements of T from the row, or `unknown` where there is none.
template <typename T>
__device__ __forceinline__ void copy(const T *__restrict__ from, T unknown, T *__restrict__ to, unsigned count) {
  // Two loads before the first store: from and to are different memory.
#pragma unroll 2
  for (unsigned c = threadIdx.x; c < count; c += blockDim.x) to[c] = from ? from[c] : unknown;
}

// T is what an element is stored in, `nan` is NaN in it.
template <typename T>
__device__ __forceinline__ void embedding(const unsigned *ids, const T *w, T *y, unsigned rows, unsigned vocab,
                                          unsigned columns, T nan, uint4 nans) {
  constexpr unsigned N = 16 / sizeof(T);
  const unsigned row = blockIdx.x * blockDim.y + threadIdx.y;
  let_next_start();
  wait_for_previous();
  if (row >= rows) return;
  const unsigned id = ids[row];
  const T *from = id < vocab ? w + size_t(id) * columns : nullptr;
  T *to = y + size_t(row) * columns;
  if (columns % N == 0 && aligned(w) && aligned(y)) {
    copy(reinterpret_cast<const uint4 *>(from), nans, reinterpret_cast<uint4 *>(to), columns / N);
  } else {
    copy(from, nan, to, columns);
  }
}

// ids (rows), w (V, C), y (rows, C).
extern "C" __global__ void __launch_bounds__(BLOCK)
    embedding_f32_level4(const unsigned *ids, const unsigned *w, unsigned *y, unsigned rows, unsigned vocab,
                         unsigned columns) {
  const unsigned nan = 0x7fffffffu;
  embedding(ids, w, y, rows, vocab, columns, nan, make_uint4(nan, nan, nan, nan));
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    embedding_bf16_level4(const unsigned *ids, const unsigned short *w, unsigned short *y, unsigned rows,
                          unsigned vocab, unsigned columns) {
  const unsigned nans = 0x7fff7fffu;
  embedding(ids, w, y, rows, vocab, columns, (unsigned short)nans, make_uint4(nans, nans, nans, nans));
}
