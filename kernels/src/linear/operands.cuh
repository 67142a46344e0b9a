// What the products of level 4 read and write: rows of x and of w, and y through its epilogue.
//
// A source of rows gives a tile its elements 16 bytes at a time: `row(i)` is where the tile's row i begins,
// `at(row, column)` where its elements from `column` on lie, and they are zeros unless they are `inside`. If rows
// are not `vector`, that is made of whole, aligned chunks of 16 bytes, `element` gives them one by one.
#pragma once

#include "common/activation.cuh"
#include "common/vector.cuh"

// What it is given, in a register from here on: the compiler would compute it anew in every step.
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

// Rows first, first + 1 … of a row-major (rows, k): past the last row comes the last again, past the last column
// zeros. What comes of a repeated row is never written.
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

// The rows of w that make columns `column`, `column` + 1 … of y; with a gate HALF rows of it, and below them the same
// of the up-projection, whose first row comes after the gate's last.
template <class T, int HALF>
struct Weight : Matrix<T> {
  using Matrix<T>::Matrix;
  __device__ const T *row(unsigned i) const {
    if (HALF == 0 || i < HALF) return Matrix<T>::row(i);
    return Matrix<T>::row(i - HALF) + size_t(this->rows) * this->k;
  }
};

// An epilogue makes an element of y from (sum, 0, row, column), or from (gate, up, row, column) if it is GATED.
template <class T>
struct Bias {
  static constexpr bool GATED = false;
  const T *b; // or null
  __device__ float operator()(float sum, float, unsigned, unsigned column) const {
    return b ? sum + widen(b[column]) : sum;
  }
};

template <class T>
struct BiasGelu {
  static constexpr bool GATED = false;
  const T *b;
  __device__ float operator()(float sum, float, unsigned, unsigned column) const {
    return gelu(sum + widen(b[column]));
  }
};

struct SwiGlu {
  static constexpr bool GATED = true;
  __device__ float operator()(float gate, float up, unsigned, unsigned) const { return silu(gate) * up; }
};

// y (M, N), written 16 bytes at a time where its rows allow it.
template <class T, class Epilogue>
struct Output {
  static constexpr int V = PER_16_BYTES<T>;
  T *y;
  unsigned m, n;
  Epilogue epilogue;
  bool vector;

  __device__ Output(T *y, unsigned m, unsigned n, Epilogue epilogue)
      : y(y), m(m), n(n), epilogue(epilogue), vector(aligned(y) && n % V == 0) {}

  // V neighbouring elements; nothing outside of y.
  __device__ void write(unsigned row, unsigned column, const float (&sum)[V], const float (&up)[V]) const {
    if (row >= m || column >= n) return;
    T *p = y + size_t(row) * n + column;
    float value[V];
#pragma unroll
    for (int i = 0; i < V; i++) value[i] = column + i < n ? epilogue(sum[i], up[i], row, column + i) : 0.f;
    if (vector) return store16(p, value);
#pragma unroll
    for (int i = 0; i < V; i++)
      if (column + i < n) store(p + i, value[i]);
  }
};
