// Level 4 of add_layer_norm, f32: see level4.cuh.
//
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit d685b9cb1, 2026-11-23):
//   add_layer_norm 197x384 f32: level 2 5.9, level 3 2.9, level 4 2.2, copy 1.2, PyTorch 4.5, PyTorch compile 1.8
//   add_layer_norm 4096x128 f32: level 2 7.7, level 3 11.6, level 4 3.0, copy 2.2, PyTorch 9.7, PyTorch compile 2.7
//   add_layer_norm 1024x1024 f32: level 2 15.8, level 3 5.7, level 4 4.4, copy 3.2, PyTorch 8.0, PyTorch compile 4.1
//   add_layer_norm 4096x2048 f32: level 2 103.4, level 3 46.2, level 4 35.3, copy 33.4, PyTorch 53.8, PyTorch compile 36.5
//   add_layer_norm 4096x4096 f32: level 2 153.6, level 3 91.3, level 4 68.3, copy 64.6, PyTorch 98.7, PyTorch compile 70.8
//   add_layer_norm 16384x8192 f32: level 2 1089.3, level 3 803.3, level 4 522.7, copy 508.3, PyTorch 780.0, PyTorch compile 541.9
#include "add_layer_norm/level4.cuh"

// x (rows, C), residual and sum (rows, C) or 0, w and b (C), y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<float>)
    add_layer_norm_f32_level4(const float *x, const float *residual, const float *w, const float *b, float *sum,
                              float *y, unsigned rows, unsigned columns, float eps) {
  add_layer_norm(x, residual, w, b, sum, y, rows, columns, eps);
}
