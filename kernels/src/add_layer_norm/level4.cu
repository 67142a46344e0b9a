// Level 4 of add_layer_norm, f32: see level4.cuh.
//
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit a0d70647a, 2026-11-22):
//   add_layer_norm 197x384 f32: level 2 5.9, level 3 2.9, level 4 2.2, copy 1.2, PyTorch 4.5, PyTorch compile 4.9
//   add_layer_norm 4096x128 f32: level 2 7.7, level 3 11.5, level 4 3.0, copy 2.2, PyTorch 9.7, PyTorch compile 6.9
//   add_layer_norm 1024x1024 f32: level 2 15.8, level 3 5.8, level 4 4.5, copy 3.2, PyTorch 7.9, PyTorch compile 8.4
//   add_layer_norm 4096x2048 f32: level 2 103.4, level 3 46.6, level 4 35.5, copy 33.1, PyTorch 53.9, PyTorch compile 37.0
//   add_layer_norm 4096x4096 f32: level 2 153.5, level 3 90.7, level 4 67.5, copy 64.6, PyTorch 98.9, PyTorch compile 70.7
//   add_layer_norm 16384x8192 f32: level 2 1089.6, level 3 799.2, level 4 523.3, copy 507.9, PyTorch 780.1, PyTorch compile 541.1
#include "add_layer_norm/level4.cuh"

// x (rows, C), residual and sum (rows, C) or 0, w and b (C), y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<float>)
    add_layer_norm_f32_level4(const float *x, const float *residual, const float *w, const float *b, float *sum,
                              float *y, unsigned rows, unsigned columns, float eps) {
  add_layer_norm(x, residual, w, b, sum, y, rows, columns, eps);
}
