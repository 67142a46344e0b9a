// Level 4 of add_layer_norm, f32: see level4.cuh.
//
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit 48372ebe4, 2026-11-23):
//   add_layer_norm 197x384 f32: level 2 5.9, level 3 2.9, level 4 2.2, copy 1.2, PyTorch 4.5, PyTorch compile 2.0
//   add_layer_norm 4096x128 f32: level 2 7.6, level 3 11.6, level 4 3.0, copy 2.2, PyTorch 9.8, PyTorch compile 4.1
//   add_layer_norm 1024x1024 f32: level 2 15.8, level 3 5.8, level 4 4.5, copy 3.2, PyTorch 7.9, PyTorch compile 5.0
//   add_layer_norm 4096x2048 f32: level 2 101.9, level 3 46.0, level 4 35.4, copy 32.9, PyTorch 53.6, PyTorch compile 36.6
//   add_layer_norm 4096x4096 f32: level 2 152.1, level 3 89.6, level 4 67.3, copy 64.2, PyTorch 98.8, PyTorch compile 70.5
//   add_layer_norm 16384x8192 f32: level 2 1082.9, level 3 789.1, level 4 521.0, copy 505.1, PyTorch 780.1, PyTorch compile 542.4
#include "add_layer_norm/level4.cuh"

// x (rows, C), residual and sum (rows, C) or 0, w and b (C), y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<float>)
    add_layer_norm_f32_level4(const float *x, const float *residual, const float *w, const float *b, float *sum,
                              float *y, unsigned rows, unsigned columns, float eps) {
  add_layer_norm(x, residual, w, b, sum, y, rows, columns, eps);
}
