// Level 4 of gelu, f32: see level4.cuh.
//
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit c719d4dc6, 2026-11-22):
//   gelu 1024x1024 f32: level 2 5.4, level 3 3.4, level 4 2.3, copy 2.2, PyTorch 2.7
//   gelu 4096x4096 f32: level 2 77.7, level 3 52.7, level 4 33.0, copy 33.0, PyTorch 33.5
//   gelu 16384x8192 f32: level 2 612.9, level 3 411.5, level 4 250.9, copy 255.2, PyTorch 253.0
#include "gelu/level4.cuh"

// x and y (n).
extern "C" __global__ void __launch_bounds__(BLOCK) gelu_f32_level4(const float *x, float *y, unsigned n) {
  gelu(x, y, n);
}
