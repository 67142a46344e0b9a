// Reading x and w: the row sources of a GEMM tile.
//
// A row source gives a tile its elements 16 bytes at a time: `row(i)` is the address of the tile's row i, `at(row,
// column)` the address of its elements from `column` on, and they count as zeros unless they are `inside`. Unless
// `is_aligned`, that is, all its rows are 16-byte aligned, a tile reads single elements with `element`.
#pragma once

#include "common/vector.cuh"

// Returns its argument, opaque to the compiler, which would otherwise compute it anew in every step of K.
__device__ __forceinline__ unsigned keep_in_register(unsigned x) {
  asm("" : "+r"(x));
  return x;
}
// The same for an address of global memory.
template <class T>
__device__ __forceinline__ const T *keep_in_register(const T *p) {
  size_t address = __cvta_generic_to_global(p);
  asm("" : "+l"(address));
  return static_cast<const T *>(__cvta_global_to_generic(address));
}

// Rows `first`, `first` + 1 … of a row-major (rows, k). Rows past the end repeat the last row, whose results are
// never written; columns past the end are zeros.
template <class T>
struct Matrix {
  const T *p;
  unsigned first, rows, k;
  bool is_aligned;

  __device__ Matrix(const T *p, unsigned first, unsigned rows, unsigned k)
      : p(p), first(first), rows(rows), k(k), is_aligned(aligned(p) && k % PER_16_BYTES<T> == 0) {}

  __device__ const T *row(unsigned i) const { return p + size_t(min(first + i, rows - 1)) * k; }
  __device__ const T *at(const T *row, unsigned column) const { return row + column; }
  __device__ bool inside(const T *, unsigned column) const { return column < k; }
  __device__ T element(const T *row, unsigned column) const {
    T x = row[min(column, k - 1)]; // a load without a branch
    return column < k ? x : T{};
  }
};

// The rows of w that make columns `first`, `first` + 1 … of y. With a gate, the tile has GATE_ROWS rows of the gate's
// weight Wg above as many of the up-projection's weight Wu, as w (2·rows, k) has. Without a gate GATE_ROWS is 0.
template <class T, int GATE_ROWS>
struct Weight : Matrix<T> {
  using Matrix<T>::Matrix;
  __device__ const T *row(unsigned i) const {
    if (GATE_ROWS == 0 || i < GATE_ROWS) return Matrix<T>::row(i);
    return Matrix<T>::row(i - GATE_ROWS) + size_t(this->rows) * this->k;
  }
};
