// Level 4 of softmax, f32: see level4.cuh.
//
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit d685b9cb1, 2026-11-23):
//   softmax 1024x1024 f32: level 2 6.0, level 3 5.0, level 4 3.6, copy 2.2, PyTorch 4.4, PyTorch compile 4.5
//   softmax 4096x4096 f32: level 2 160.7, level 3 44.1, level 4 35.0, copy 33.1, PyTorch 54.6, PyTorch compile 36.8
//   softmax 16384x8192 f32: level 2 1226.2, level 3 392.0, level 4 261.5, copy 257.5, PyTorch 547.5, PyTorch compile 255.0
#include "softmax/level4.cuh"

// x and y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<float>)
    softmax_f32_level4(const float *x, float *y, unsigned rows, unsigned columns, float scale) {
  softmax(x, y, rows, columns, scale);
}
