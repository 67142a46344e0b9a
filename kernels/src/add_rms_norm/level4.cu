// Level 4 of add_rms_norm, f32: see level4.cuh.
//
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit c719d4dc6, 2026-11-22):
//   add_rms_norm 1x512 f32: level 2 5.6, level 3 2.0, level 4 1.8, copy 1.0, PyTorch 6.7, PyTorch compile 4.2
//   add_rms_norm 128x512 f32: level 2 6.7, level 3 2.2, level 4 2.0, copy 1.2, PyTorch 3.6, PyTorch compile 4.2
//   add_rms_norm 1024x1024 f32: level 2 13.6, level 3 4.3, level 4 4.0, copy 3.2, PyTorch 6.5, PyTorch compile 7.6
//   add_rms_norm 4096x2048 f32: level 2 94.0, level 3 42.3, level 4 34.7, copy 32.9, PyTorch 44.0, PyTorch compile 36.3
//   add_rms_norm 4096x4096 f32: level 2 143.1, level 3 89.5, level 4 67.1, copy 64.2, PyTorch 93.5, PyTorch compile 69.6
//   add_rms_norm 16384x8192 f32: level 2 1045.7, level 3 768.2, level 4 522.0, copy 504.8, PyTorch 755.4, PyTorch compile 545.9
#include "add_rms_norm/level4.cuh"

// x (rows, C), residual and sum (rows, C) or 0, w (C), y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<float>)
    add_rms_norm_f32_level4(const float *x, const float *residual, const float *w, float *sum, float *y,
                            unsigned rows, unsigned columns, float eps) {
  add_rms_norm(x, residual, w, sum, y, rows, columns, eps);
}
