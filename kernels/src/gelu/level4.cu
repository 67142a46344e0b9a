// Level 4 of gelu, f32: see level4.cuh.
//
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit 48372ebe4, 2026-11-23):
//   gelu 1024x1024 f32: level 2 5.4, level 3 3.4, level 4 2.3, copy 2.2, PyTorch 2.7
//   gelu 4096x4096 f32: level 2 77.7, level 3 52.7, level 4 32.9, copy 33.0, PyTorch 33.7
//   gelu 16384x8192 f32: level 2 612.8, level 3 411.8, level 4 250.8, copy 255.4, PyTorch 252.7
#include "gelu/level4.cuh"

// x and y (n).
extern "C" __global__ void __launch_bounds__(BLOCK) gelu_f32_level4(const float *x, float *y, unsigned n) {
  gelu(x, y, n);
}
