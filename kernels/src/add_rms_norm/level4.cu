// Level 4 of add_rms_norm, f32: see level4.cuh.
//
// Measured on an NVIDIA H200, microseconds on the device (workbook ops, commit 7f432c22a, 2026-11-22):
//   add_rms_norm 1x512 f32: level 2 8.2, level 3 3.7, level 4 3.6, copy 2.6, PyTorch 6.7, PyTorch compile 3.8
//   add_rms_norm 128x512 f32: level 2 9.4, level 3 4.0, level 4 3.9, copy 3.0, PyTorch 5.0, PyTorch compile 4.1
//   add_rms_norm 1024x1024 f32: level 2 16.6, level 3 6.3, level 4 5.9, copy 5.1, PyTorch 8.0, PyTorch compile 7.4
//   add_rms_norm 4096x2048 f32: level 2 97.5, level 3 44.2, level 4 36.6, copy 34.8, PyTorch 46.8, PyTorch compile 35.8
//   add_rms_norm 4096x4096 f32: level 2 147.4, level 3 91.7, level 4 69.2, copy 65.9, PyTorch 96.1, PyTorch compile 69.0
//   add_rms_norm 16384x8192 f32: level 2 1045.7, level 3 769.1, level 4 523.3, copy 504.7, PyTorch 757.1, PyTorch compile 543.0
#include "add_rms_norm/level4.cuh"

// x (rows, C), residual and sum (rows, C) or 0, w (C), y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<float>)
    add_rms_norm_f32_level4(const float *x, const float *residual, const float *w, float *sum, float *y,
                            unsigned rows, unsigned columns, float eps) {
  add_rms_norm(x, residual, w, sum, y, rows, columns, eps);
}
