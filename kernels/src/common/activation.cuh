// The activations of the three models, one element at a time.
#pragma once

#include "common/exp2.cuh"

// x·Φ(x) = x·½(1 + erf(x/√2)). "Gaussian error linear units", Hendrycks and Gimpel 2016.
//
// x·Φ(x) = max(x, 0) − a·Φ(−a), a = |x|, and Φ(−a) = 2^p(a): log₂Φ(−a) is nearly a parabola. The polynomial p is its
// best approximation up to a = 6, with errors weighted by Φ(−a), so that the result is within 1e-7·|x|. Beyond 6, where
// a·Φ(−a) is below 6e-9, 2^p falls faster than Φ. This takes 13 instructions; erff selects one of two polynomials,
// coefficient by coefficient. It subtracts no nearly equal numbers, as 1 + erf does for negative x. The limit a ≤ 16
// makes a·2^p 0 for infinite x, where ∞·0 would be NaN. NaN is not below 0, and stays NaN.
__device__ __forceinline__ float gelu(float x) {
  float a = fminf(fabsf(x), 16.f), p = -2.77204927e-6f;
  p = fmaf(p, a, 3.86207482e-5f);
  p = fmaf(p, a, -1.82547605e-4f);
  p = fmaf(p, a, -1.45870134e-4f);
  p = fmaf(p, a, 7.07547178e-3f);
  p = fmaf(p, a, -0.0525050287f);
  p = fmaf(p, a, -0.459204907f);
  p = fmaf(p, a, -1.15110572f);
  p = fmaf(p, a, -0.999999978f);
  return fmaf(-a, exp2_approx(p), x < 0.f ? 0.f : x);
}

// x/(1 + e⁻ˣ), the gate of SwiGLU. "GLU variants improve transformer", Shazeer 2020.
__device__ __forceinline__ float silu(float x) { return x / (1.f + expf(-x)); }
