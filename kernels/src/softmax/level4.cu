// Level 4 of softmax, f32: see level4.cuh.
//
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit 48372ebe4, 2026-11-23):
//   softmax 1024x1024 f32: level 2 5.7, level 3 5.0, level 4 3.6, copy 2.2, PyTorch 4.7
//   softmax 4096x4096 f32: level 2 158.6, level 3 43.4, level 4 34.8, copy 33.0, PyTorch 54.7
//   softmax 16384x8192 f32: level 2 1204.0, level 3 386.7, level 4 258.7, copy 255.5, PyTorch 545.4
#include "softmax/level4.cuh"

// x and y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<float>)
    softmax_f32_level4(const float *x, float *y, unsigned rows, unsigned columns, float scale) {
  softmax(x, y, rows, columns, scale);
}
