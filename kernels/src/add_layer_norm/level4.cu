// Level 4 of add_layer_norm, f32: see level4.cuh.
//
// Measured on an NVIDIA H200, microseconds on the device (workbook ops, commit bfc3cecd3, 2026-11-21):
//   add_layer_norm 197x384 f32: level 2 8.8, level 3 6.6, level 4 5.6, copy 3.1
//   add_layer_norm 4096x128 f32: level 2 10.8, level 3 13.4, level 4 4.9, copy 4.0
//   add_layer_norm 1024x1024 f32: level 2 18.9, level 3 7.7, level 4 6.2, copy 5.1
//   add_layer_norm 4096x2048 f32: level 2 105.7, level 3 48.0, level 4 37.4, copy 34.9
#include "add_layer_norm/level4.cuh"

// x (rows, C), residual and sum (rows, C) or 0, w and b (C), y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<float>)
    add_layer_norm_f32_level4(const float *x, const float *residual, const float *w, const float *b, float *sum,
                              float *y, unsigned rows, unsigned columns, float eps) {
  add_layer_norm(x, residual, w, b, sum, y, rows, columns, eps);
}
