// Writing y: the epilogue of a GEMM tile adds the bias, applies the activation, adds the residual, rounds once and
// writes.
#pragma once

#include "common/activation.cuh"
#include "common/vector.cuh"

// An epilogue makes an element of y from (acc, unused, row, column), or from (gate, up, row, column) if GATED. A thread
// of write_tile writes ROWS rows of the tile per turn of its loop.
template <class T>
struct Bias {
  static constexpr bool GATED = false;
  // linear has a residual. In bf16 a thread loads it for 4 rows at once, so that it waits for memory once in 4 rows; the
  // f32 tiles have no registers left for that.
  static constexpr int ROWS = sizeof(T) == 2 ? 4 : 1;
  const T *b; // or null
  __device__ float operator()(float acc, float, unsigned, unsigned column) const {
    return b ? acc + widen(b[column]) : acc;
  }
};

template <class T>
struct BiasGelu {
  static constexpr bool GATED = false;
  static constexpr int ROWS = 1;
  const T *b;
  __device__ float operator()(float acc, float, unsigned, unsigned column) const {
    return gelu(acc + widen(b[column]));
  }
};

struct SwiGlu {
  static constexpr bool GATED = true;
  static constexpr int ROWS = 1;
  __device__ float operator()(float gate, float up, unsigned, unsigned) const { return silu(gate) * up; }
};

// y (M, N), written 16 bytes at a time if `is_aligned`: the rows of y and of the residual are 16-byte aligned. The
// residual (M, N), or null, is added after the activation, before the one rounding to T.
template <class T, class Epilogue>
struct Output {
  static constexpr int PER_CHUNK = PER_16_BYTES<T>;
  T *y;
  unsigned m, n;
  Epilogue epilogue;
  const T *residual;
  bool is_aligned;

  __device__ Output(T *y, unsigned m, unsigned n, Epilogue epilogue, const T *residual = nullptr)
      : y(y), m(m), n(n), epilogue(epilogue), residual(residual),
        is_aligned(aligned(y) && aligned(residual) && n % PER_CHUNK == 0) {}

  __device__ bool inside(unsigned row, unsigned column) const { return row < m && column < n; }

  // A chunk of the residual from (row, column) on, packed; zeros where there are none.
  __device__ uint4 residual16(unsigned row, unsigned column) const {
    if (!residual || row >= m) return make_uint4(0, 0, 0, 0);
    return *reinterpret_cast<const uint4 *>(residual + size_t(row) * n + column);
  }
  // Writes a chunk from (row, column) on, which is inside; `packed` is its residual.
  __device__ void write(unsigned row, unsigned column, const float (&acc)[PER_CHUNK], const float (&up)[PER_CHUNK],
                        uint4 packed) const {
    float value[PER_CHUNK], residual_values[PER_CHUNK];
#pragma unroll
    for (int i = 0; i < PER_CHUNK; i++) value[i] = epilogue(acc[i], up[i], row, column + i);
    if (residual) {
      unpack16<T>(packed, residual_values);
#pragma unroll
      for (int i = 0; i < PER_CHUNK; i++) value[i] += residual_values[i];
    }
    store16(y + size_t(row) * n + column, value);
  }
  __device__ void write(unsigned row, unsigned column, float acc, float up) const {
    size_t at = size_t(row) * n + column;
    float value = epilogue(acc, up, row, column);
    if (residual) value += widen(residual[at]);
    store(y + at, value);
  }
};

// Writes a tile of BM rows and COLUMNS columns of y, whose first element is (row, column), by THREADS threads.
// load_acc(acc, r, c) reads `acc` from shared memory, one accumulator or as many as 16 bytes of y hold: those of the
// tile from row r, column c on.
template <int BM, int COLUMNS, int THREADS, class T, class Epilogue, class LoadAcc>
__device__ __forceinline__ void write_tile(const Output<T, Epilogue> &out, unsigned row, unsigned column,
                                           LoadAcc load_acc) {
  constexpr int PER_CHUNK = PER_16_BYTES<T>, CHUNKS = COLUMNS / PER_CHUNK, ROWS = Epilogue::ROWS;
  constexpr unsigned STRIDE = THREADS / CHUNKS; // from a row of a thread to its next
  if (out.is_aligned) {
    unsigned c = threadIdx.x % CHUNKS * PER_CHUNK;
    if (column + c >= out.n) return;
#pragma unroll 1
    for (unsigned first = threadIdx.x / CHUNKS; first < BM && row + first < out.m; first += ROWS * STRIDE) {
      uint4 residual[ROWS];
#pragma unroll
      for (int i = 0; i < ROWS; i++) residual[i] = out.residual16(row + first + i * STRIDE, column + c);
#pragma unroll
      for (int i = 0; i < ROWS; i++) {
        unsigned r = first + i * STRIDE;
        if (r >= BM || row + r >= out.m) return;
        float acc[PER_CHUNK], up[PER_CHUNK];
        load_acc(acc, r, c);
        if (Epilogue::GATED) load_acc(up, r, COLUMNS + c);
        out.write(row + r, column + c, acc, up, residual[i]);
      }
    }
  } else {
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < BM * COLUMNS; i += THREADS) {
      unsigned r = i / COLUMNS, c = i % COLUMNS;
      float acc[1], up[1];
      load_acc(acc, r, c);
      if (Epilogue::GATED) load_acc(up, r, COLUMNS + c);
      if (out.inside(row + r, column + c)) out.write(row + r, column + c, acc[0], up[0]);
    }
  }
}
