// The parameters of linear's kernels at levels 4 and 5.
#pragma once

#include "common/gemm/epilogue.cuh"
#include "common/gemm/matrix.cuh"

// gelu(x·wᵀ + b), and silu(x·Wgᵀ) ⊙ (x·Wuᵀ), whose b is null.
#define PARAMETERS(T)                                                                                        \
  const T *__restrict__ x, const T *__restrict__ w, const T *__restrict__ b, T *__restrict__ y, unsigned m,  \
      unsigned n, unsigned k
// x·wᵀ + b + residual; b and the residual may be null.
#define PARAMETERS_RESIDUAL(T)                                                                               \
  const T *__restrict__ x, const T *__restrict__ w, const T *__restrict__ b, const T *__restrict__ residual, \
      T *__restrict__ y, unsigned m, unsigned n, unsigned k

// The same for kernels that start before the one that writes x and the residual has ended: see common/overlap.cuh.
#define OVERLAPPED(T) const T *x, const T *w, const T *b, T *y, unsigned m, unsigned n, unsigned k
#define OVERLAPPED_RESIDUAL(T) \
  const T *x, const T *w, const T *b, const T *residual, T *y, unsigned m, unsigned n, unsigned k
