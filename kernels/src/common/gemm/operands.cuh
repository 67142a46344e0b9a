// What the products of level 4 read and write: rows of x and of w, and y through its epilogue.
//
// A source of rows gives a tile its elements 16 bytes at a time: `row(i)` is where the tile's row i begins,
// `at(row, column)` where its elements from `column` on lie, and they are zeros unless they are `inside`.
// Rows that are not `vector`, made of whole, aligned chunks of 16 bytes, give an `element` at a time.
#pragma once

#include "common/activation.cuh"
#include "common/vector.cuh"

// What it is given, kept in a register: the compiler would rather compute it anew in every step.
__device__ __forceinline__ unsigned kept(unsigned x) {
  asm("" : "+r"(x));
  return x;
}
// An address of global memory.
template <class T>
__device__ __forceinline__ const T *kept(const T *p) {
  size_t address = __cvta_generic_to_global(p);
  asm("" : "+l"(address));
  return static_cast<const T *>(__cvta_global_to_generic(address));
}

// Rows `first`, `first` + 1 … of a row-major (rows, k): past the last row comes the last again, past the last
// column zeros. What comes of a repeated row is never written.
template <class T>
struct Matrix {
  const T *p;
  unsigned first, rows, k;
  bool vector;

  __device__ Matrix(const T *p, unsigned first, unsigned rows, unsigned k)
      : p(p), first(first), rows(rows), k(k), vector(aligned(p) && k % PER_16_BYTES<T> == 0) {}

  __device__ const T *row(unsigned i) const { return p + size_t(min(first + i, rows - 1)) * k; }
  __device__ const T *at(const T *row, unsigned column) const { return row + column; }
  __device__ bool inside(const T *, unsigned column) const { return column < k; }
  __device__ T element(const T *row, unsigned column) const {
    T x = row[min(column, k - 1)]; // a load without a branch
    return column < k ? x : T{};
  }
};

// An element that is read before it is needed: the compiler would rather move the load to its use, and wait there.
__device__ __forceinline__ float asked_for(float x) {
  asm volatile("" : "+f"(x));
  return x;
}
__device__ __forceinline__ bf16 asked_for(bf16 x) {
  asm volatile("" : "+h"(x.bits));
  return x;
}

// The rows of w that make columns `column`, `column` + 1 … of y; with a gate HALF rows of it, and below
// them the same of the up-projection, whose first row comes after the gate's last.
template <class T, int HALF>
struct Weight : Matrix<T> {
  using Matrix<T>::Matrix;
  __device__ const T *row(unsigned i) const {
    if (HALF == 0 || i < HALF) return Matrix<T>::row(i);
    return Matrix<T>::row(i - HALF) + size_t(this->rows) * this->k;
  }
};

// An epilogue makes an element of y from (sum, unused, row, column), or (gate, up, row, column) if GATED. A thread
// writes ROWS rows of the tile in a turn of its loop.
template <class T>
struct Bias {
  static constexpr bool GATED = false;
  // linear has a residual. In bf16 a thread loads it for 4 rows at once, and waits for memory once in 4 rows; the tiles
  // of f32 have no registers left for that.
  static constexpr int ROWS = sizeof(T) == 2 ? 4 : 1;
  const T *b; // or null
  __device__ float operator()(float sum, float, unsigned, unsigned column) const {
    return b ? sum + widen(b[column]) : sum;
  }
};

template <class T>
struct BiasGelu {
  static constexpr bool GATED = false;
  static constexpr int ROWS = 1;
  const T *b;
  __device__ float operator()(float sum, float, unsigned, unsigned column) const {
    return gelu(sum + widen(b[column]));
  }
};

struct SwiGlu {
  static constexpr bool GATED = true;
  static constexpr int ROWS = 1;
  __device__ float operator()(float gate, float up, unsigned, unsigned) const { return silu(gate) * up; }
};

// y (M, N), written 16 bytes at a time if its rows are `vector`. `residual` (M, N), or null, is added to what the
// epilogue makes, before the one rounding to T.
template <class T, class Epilogue>
struct Output {
  static constexpr int V = PER_16_BYTES<T>;
  T *y;
  unsigned m, n;
  Epilogue epilogue;
  const T *residual;
  bool vector;

  __device__ Output(T *y, unsigned m, unsigned n, Epilogue epilogue, const T *residual = nullptr)
      : y(y), m(m), n(n), epilogue(epilogue), residual(residual),
        vector(aligned(y) && aligned(residual) && n % V == 0) {}

  __device__ bool inside(unsigned row, unsigned column) const { return row < m && column < n; }

  // V elements of the residual from (row, column) on, packed; zeros where there are none.
  __device__ uint4 residual16(unsigned row, unsigned column) const {
    if (!residual || row >= m) return make_uint4(0, 0, 0, 0);
    return *reinterpret_cast<const uint4 *>(residual + size_t(row) * n + column);
  }
  // V elements from (row, column) on, which are inside; `packed` is their residual.
  __device__ void write(unsigned row, unsigned column, const float (&sum)[V], const float (&up)[V],
                        uint4 packed) const {
    float value[V], more[V];
#pragma unroll
    for (int i = 0; i < V; i++) value[i] = epilogue(sum[i], up[i], row, column + i);
    if (residual) {
      unpack16<T>(packed, more);
#pragma unroll
      for (int i = 0; i < V; i++) value[i] += more[i];
    }
    store16(y + size_t(row) * n + column, value);
  }
  __device__ void write(unsigned row, unsigned column, float sum, float up) const {
    size_t at = size_t(row) * n + column;
    float value = epilogue(sum, up, row, column);
    if (residual) value += widen(residual[at]);
    store(y + at, value);
  }
};

// Writes a tile of BM rows and COLUMNS columns of y, whose first element is (row, column), by THREADS threads.
// take(sums, r, c) fills `sums`, one or as many as 16 bytes hold, from row r of the tile, column c on.
template <int BM, int COLUMNS, int THREADS, class T, class Epilogue, class Take>
__device__ __forceinline__ void write_tile(const Output<T, Epilogue> &out, unsigned row, unsigned column,
                                           Take take) {
  constexpr int V = PER_16_BYTES<T>, CHUNKS = COLUMNS / V, ROWS = Epilogue::ROWS;
  constexpr unsigned STRIDE = THREADS / CHUNKS; // from a row of a thread to its next
  if (out.vector) {
    unsigned c = threadIdx.x % CHUNKS * V;
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
        float sum[V], up[V];
        take(sum, r, c);
        if (Epilogue::GATED) take(up, r, COLUMNS + c);
        out.write(row + r, column + c, sum, up, residual[i]);
      }
    }
  } else {
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < BM * COLUMNS; i += THREADS) {
      unsigned r = i / COLUMNS, c = i % COLUMNS;
      float sum[1], up[1];
      take(sum, r, c);
      if (Epilogue::GATED) take(up, r, COLUMNS + c);
      if (out.inside(row + r, column + c)) out.write(row + r, column + c, sum[0], up[0]);
    }
  }
}

// The parameters of a product's kernel; of linear with RESIDUAL(T), (M, N) or null, and of the others with nothing.
#define RESIDUAL(T) const T *__restrict__ residual,
#define PARAMETERS(T, MORE)                                                                                  \
  const T *__restrict__ x, const T *__restrict__ w, const T *__restrict__ b, MORE T *__restrict__ y,         \
      unsigned m, unsigned n, unsigned k
