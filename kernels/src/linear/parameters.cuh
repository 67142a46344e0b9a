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
