// Level 4 of softmax, f32: see level4.cuh.
//
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit a0d70647a, 2026-11-22):
//   softmax 1024x1024 f32: level 2 6.5, level 3 5.0, level 4 3.6, copy 2.2, PyTorch 7.9
//   softmax 4096x4096 f32: level 2 161.9, level 3 43.6, level 4 35.0, copy 33.2, PyTorch 55.0
//   softmax 16384x8192 f32: level 2 1228.3, level 3 391.4, level 4 259.7, copy 256.5, PyTorch 548.9
#include "softmax/level4.cuh"

// x and y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<float>)
    softmax_f32_level4(const float *x, float *y, unsigned rows, unsigned columns, float scale) {
  softmax(x, y, rows, columns, scale);
}
