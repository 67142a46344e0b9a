// Level 4 of add_rms_norm, f32: see level4.cuh.
//
// Measured on an NVIDIA H200, microseconds on the device (workbook ops, commit c8f721f33, 2026-11-22):
//   add_rms_norm 1x512 f32: level 2 8.5, level 3 3.9, level 4 3.8, copy 2.8, PyTorch 6.6, PyTorch compile 3.9
//   add_rms_norm 128x512 f32: level 2 9.8, level 3 4.2, level 4 4.0, copy 3.2, PyTorch 5.0, PyTorch compile 4.1
//   add_rms_norm 1024x1024 f32: level 2 16.8, level 3 6.4, level 4 6.1, copy 5.2, PyTorch 7.9, PyTorch compile 7.4
//   add_rms_norm 4096x2048 f32: level 2 99.2, level 3 44.9, level 4 36.9, copy 35.2, PyTorch 46.8, PyTorch compile 36.2
//   add_rms_norm 4096x4096 f32: level 2 148.9, level 3 93.0, level 4 69.7, copy 66.4, PyTorch 95.9, PyTorch compile 69.9
//   add_rms_norm 16384x8192 f32: level 2 1053.5, level 3 779.6, level 4 526.1, copy 507.8, PyTorch 753.6, PyTorch compile 546.9
#include "add_rms_norm/level4.cuh"

// x (rows, C), residual and sum (rows, C) or 0, w (C), y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<float>)
    add_rms_norm_f32_level4(const float *x, const float *residual, const float *w, float *sum, float *y,
                            unsigned rows, unsigned columns, float eps) {
  add_rms_norm(x, residual, w, sum, y, rows, columns, eps);
}
