// Level 4 of add_layer_norm, f32: see level4.cuh.
//
// Measured on an NVIDIA H200, microseconds on the device (workbook ops, commit c8f721f33, 2026-11-22):
//   add_layer_norm 197x384 f32: level 2 9.1, level 3 4.9, level 4 4.2, copy 3.2, PyTorch 6.0, PyTorch compile 4.4
//   add_layer_norm 4096x128 f32: level 2 11.1, level 3 13.5, level 4 5.0, copy 4.1, PyTorch 11.2, PyTorch compile 7.1
//   add_layer_norm 1024x1024 f32: level 2 19.0, level 3 7.8, level 4 6.4, copy 5.2, PyTorch 9.6, PyTorch compile 8.4
//   add_layer_norm 4096x2048 f32: level 2 107.0, level 3 48.8, level 4 37.2, copy 35.2, PyTorch 56.5, PyTorch compile 36.7
//   add_layer_norm 4096x4096 f32: level 2 157.7, level 3 93.2, level 4 70.2, copy 66.5, PyTorch 101.0, PyTorch compile 70.9
//   add_layer_norm 16384x8192 f32: level 2 1095.7, level 3 797.2, level 4 527.0, copy 508.2, PyTorch 782.5, PyTorch compile 544.5
#include "add_layer_norm/level4.cuh"

// x (rows, C), residual and sum (rows, C) or 0, w and b (C), y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<float>)
    add_layer_norm_f32_level4(const float *x, const float *residual, const float *w, const float *b, float *sum,
                              float *y, unsigned rows, unsigned columns, float eps) {
  add_layer_norm(x, residual, w, b, sum, y, rows, columns, eps);
}
