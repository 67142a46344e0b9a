// Level 4 of add_rms_norm, f32: see level4.cuh.
//
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit a0d70647a, 2026-11-22):
//   add_rms_norm 1x512 f32: level 2 5.5, level 3 2.0, level 4 1.8, copy 1.0, PyTorch 6.7, PyTorch compile 4.3
//   add_rms_norm 128x512 f32: level 2 6.7, level 3 2.2, level 4 2.0, copy 1.2, PyTorch 3.6, PyTorch compile 4.4
//   add_rms_norm 1024x1024 f32: level 2 13.6, level 3 4.3, level 4 4.1, copy 3.2, PyTorch 6.5, PyTorch compile 7.6
//   add_rms_norm 4096x2048 f32: level 2 95.0, level 3 42.9, level 4 34.7, copy 33.1, PyTorch 44.2, PyTorch compile 36.2
//   add_rms_norm 4096x4096 f32: level 2 144.6, level 3 90.7, level 4 67.2, copy 64.6, PyTorch 93.2, PyTorch compile 70.4
//   add_rms_norm 16384x8192 f32: level 2 1053.6, level 3 779.1, level 4 523.0, copy 507.8, PyTorch 751.3, PyTorch compile 544.0
#include "add_rms_norm/level4.cuh"

// x (rows, C), residual and sum (rows, C) or 0, w (C), y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<float>)
    add_rms_norm_f32_level4(const float *x, const float *residual, const float *w, float *sum, float *y,
                            unsigned rows, unsigned columns, float eps) {
  add_rms_norm(x, residual, w, sum, y, rows, columns, eps);
}
