// Level 4 of gelu, f32: see level4.cuh.
//
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit d685b9cb1, 2026-11-23):
//   gelu 1024x1024 f32: level 2 5.5, level 3 3.4, level 4 2.3, copy 2.2, PyTorch 2.5, PyTorch compile 2.7
//   gelu 4096x4096 f32: level 2 78.5, level 3 53.9, level 4 33.3, copy 33.1, PyTorch 33.4, PyTorch compile 33.8
//   gelu 16384x8192 f32: level 2 619.3, level 3 420.8, level 4 253.0, copy 257.8, PyTorch 253.6, PyTorch compile 253.7
#include "gelu/level4.cuh"

// x and y (n).
extern "C" __global__ void __launch_bounds__(BLOCK) gelu_f32_level4(const float *x, float *y, unsigned n) {
  gelu(x, y, n);
}
