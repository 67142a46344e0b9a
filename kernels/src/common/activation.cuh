// The activations of the three models, one element at a time.
#pragma once

// x·½(1 + erf(x/√2)). "Gaussian error linear units", Hendrycks and Gimpel 2016.
__device__ __forceinline__ float gelu(float x) { return 0.5f * x * (1.f + erff(0.70710678118654752f * x)); }

// x/(1 + e⁻ˣ), the gate of SwiGLU. "GLU variants improve transformer", Shazeer 2020.
__device__ __forceinline__ float silu(float x) { return x / (1.f + expf(-x)); }
