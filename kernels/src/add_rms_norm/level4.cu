// Level 4 of add_rms_norm, f32: see level4.cuh.
//
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit 48372ebe4, 2026-11-23):
//   add_rms_norm 1x512 f32: level 2 5.6, level 3 2.1, level 4 1.8, copy 1.0, PyTorch 3.4, PyTorch compile 1.6
//   add_rms_norm 128x512 f32: level 2 6.7, level 3 2.2, level 4 2.0, copy 1.2, PyTorch 3.6, PyTorch compile 1.8
//   add_rms_norm 1024x1024 f32: level 2 13.6, level 3 4.4, level 4 4.1, copy 3.2, PyTorch 6.5, PyTorch compile 4.5
//   add_rms_norm 4096x2048 f32: level 2 93.9, level 3 42.4, level 4 34.8, copy 32.9, PyTorch 44.3, PyTorch compile 36.1
//   add_rms_norm 4096x4096 f32: level 2 143.3, level 3 89.5, level 4 67.1, copy 64.3, PyTorch 93.7, PyTorch compile 69.9
//   add_rms_norm 16384x8192 f32: level 2 1045.8, level 3 768.4, level 4 521.2, copy 505.1, PyTorch 756.7, PyTorch compile 543.5
#include "add_rms_norm/level4.cuh"

// x (rows, C), residual and sum (rows, C) or 0, w (C), y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<float>)
    add_rms_norm_f32_level4(const float *x, const float *residual, const float *w, float *sum, float *y,
                            unsigned rows, unsigned columns, float eps) {
  add_rms_norm(x, residual, w, sum, y, rows, columns, eps);
}
