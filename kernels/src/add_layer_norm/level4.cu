// Level 4 of add_layer_norm, f32: see level4.cuh.
//
// Measured on an NVIDIA H200, microseconds on the device (workbook ops, commit 7f432c22a, 2026-11-22):
//   add_layer_norm 197x384 f32: level 2 8.9, level 3 4.8, level 4 4.0, copy 3.0, PyTorch 6.0, PyTorch compile 4.4
//   add_layer_norm 4096x128 f32: level 2 10.9, level 3 13.4, level 4 4.8, copy 4.0, PyTorch 11.2, PyTorch compile 6.6
//   add_layer_norm 1024x1024 f32: level 2 18.9, level 3 7.8, level 4 6.4, copy 5.1, PyTorch 9.6, PyTorch compile 8.5
//   add_layer_norm 4096x2048 f32: level 2 105.7, level 3 48.1, level 4 36.9, copy 34.8, PyTorch 56.4, PyTorch compile 36.5
//   add_layer_norm 4096x4096 f32: level 2 156.0, level 3 92.1, level 4 69.8, copy 65.9, PyTorch 101.0, PyTorch compile 70.0
//   add_layer_norm 16384x8192 f32: level 2 1088.4, level 3 787.7, level 4 524.1, copy 504.8, PyTorch 782.3, PyTorch compile 540.8
#include "add_layer_norm/level4.cuh"

// x (rows, C), residual and sum (rows, C) or 0, w and b (C), y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<float>)
    add_layer_norm_f32_level4(const float *x, const float *residual, const float *w, const float *b, float *sum,
                              float *y, unsigned rows, unsigned columns, float eps) {
  add_layer_norm(x, residual, w, b, sum, y, rows, columns, eps);
}
