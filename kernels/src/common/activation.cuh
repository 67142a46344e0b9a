// The activations of the three models, one element at a time.
#pragma once

#include "common/exp2.cuh"

// x·Φ(x) = x·½(1 + erf(x/√2)). "Gaussian error linear units", Hendrycks and Gimpel 2016.
//
// x·Φ(x) = max(x, 0) − a·Φ(−a), a = |x|, and Φ(−a) = 2^p(a): log₂Φ(−a) is nearly a parabola. This polynomial is the
// closest to it up to a = 6, each difference weighed by Φ(−a), so that the result is within 1e-7·|x|; beyond 6, where
// a·Φ(−a) is below 6e-9, it falls as it should, only faster. 15 instructions, where erff evaluates one of two polynomials
// and picks each coefficient. And no difference of nearly equal numbers, as 1 + erf is for negative x. Of large a,
// 2^p is 0; infinity times that is not, so a stays below 16. NaN is not below 0, and stays NaN.
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
