// Level 4 of gelu, f32: see level4.cuh.
//
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit a0d70647a, 2026-11-22):
//   gelu 1024x1024 f32: level 2 5.4, level 3 3.4, level 4 2.3, copy 2.1, PyTorch 2.7
//   gelu 4096x4096 f32: level 2 78.5, level 3 53.8, level 4 33.1, copy 33.2, PyTorch 33.8
//   gelu 16384x8192 f32: level 2 618.3, level 3 420.3, level 4 252.1, copy 256.9, PyTorch 253.8
#include "gelu/level4.cuh"

// x and y (n).
extern "C" __global__ void __launch_bounds__(BLOCK) gelu_f32_level4(const float *x, float *y, unsigned n) {
  gelu(x, y, n);
}
