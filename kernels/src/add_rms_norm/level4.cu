// Level 4 of add_rms_norm, f32: see level4.cuh.
//
// Measured on an NVIDIA H200, microseconds on the device (workbook ops, commit bfc3cecd3, 2026-11-21):
//   add_rms_norm 1x512 f32: level 2 7.9, level 3 5.3, level 4 4.8, copy 2.7
//   add_rms_norm 128x512 f32: level 2 9.5, level 3 4.0, level 4 3.9, copy 3.0
//   add_rms_norm 1024x1024 f32: level 2 16.6, level 3 6.2, level 4 5.9, copy 5.1
//   add_rms_norm 4096x2048 f32: level 2 97.6, level 3 44.5, level 4 37.0, copy 34.9
#include "add_rms_norm/level4.cuh"

// x (rows, C), residual and sum (rows, C) or 0, w (C), y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<float>)
    add_rms_norm_f32_level4(const float *x, const float *residual, const float *w, float *sum, float *y,
                            unsigned rows, unsigned columns, float eps) {
  add_rms_norm(x, residual, w, sum, y, rows, columns, eps);
}
