// Level 4 of embedding: a warp a row, 16 bytes a lane.
//
//   y[i] = w[ids[i]]                                        rows of C columns
//
// Against level 3: a copy has no arithmetic, so all that counts is bytes in flight. A lane moves 16 bytes
// with one load and one store, a warp 512; level 3 moves 4, or 2 of bf16, a thread. And a block has eight
// rows, where level 3 has one, with most of its threads idle when rows are short.
// The bytes that have to cross the bus are the same: a row in and a row out for each id.
//
// Launch: grid ceil(rows / 8), block (32, 8).
//
// An id outside of the table reads nothing: its row becomes NaN, so that it cannot pass unseen.
//
// To be faster: let the first norm gather its rows itself.
#include "common/vector.cuh"
#include "common/warp.cuh"

constexpr int ROWS = 8; // of a block

// Copies `count` elements of T from the row, or `unknown` where there is none.
template <typename T>
__device__ __forceinline__ void copy(const T *__restrict__ from, T unknown, T *__restrict__ to, unsigned count) {
  // Several loads before the first store: from and to are different memory.
#pragma unroll 4
  for (unsigned c = lane_id(); c < count; c += WARP) to[c] = from ? from[c] : unknown;
}

// T is what an element is stored in, `nan` is NaN in it.
template <typename T>
__device__ __forceinline__ void embedding(const unsigned *ids, const T *w, T *y, unsigned rows, unsigned vocab,
                                          unsigned columns, T nan, uint4 nans) {
  constexpr unsigned N = 16 / sizeof(T);
  const unsigned row = blockIdx.x * ROWS + threadIdx.y;
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
extern "C" __global__ void __launch_bounds__(ROWS *WARP)
    embedding_f32_level4(const unsigned *ids, const unsigned *w, unsigned *y, unsigned rows, unsigned vocab,
                         unsigned columns) {
  const unsigned nan = 0x7fffffffu;
  embedding(ids, w, y, rows, vocab, columns, nan, make_uint4(nan, nan, nan, nan));
}

extern "C" __global__ void __launch_bounds__(ROWS *WARP)
    embedding_bf16_level4(const unsigned *ids, const unsigned short *w, unsigned short *y, unsigned rows,
                          unsigned vocab, unsigned columns) {
  const unsigned nans = 0x7fff7fffu;
  embedding(ids, w, y, rows, vocab, columns, (unsigned short)nans, make_uint4(nans, nans, nans, nans));
}
