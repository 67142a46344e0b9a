// Level 4 of add_rms_norm, f32: see level4.cuh.
//
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit d685b9cb1, 2026-11-23):
//   add_rms_norm 1x512 f32: level 2 5.6, level 3 2.0, level 4 1.8, copy 1.0, PyTorch 3.4, PyTorch compile 1.4
//   add_rms_norm 128x512 f32: level 2 6.7, level 3 2.2, level 4 2.0, copy 1.1, PyTorch 3.6, PyTorch compile 1.9
//   add_rms_norm 1024x1024 f32: level 2 13.6, level 3 4.3, level 4 4.0, copy 3.2, PyTorch 6.5, PyTorch compile 3.8
//   add_rms_norm 4096x2048 f32: level 2 94.9, level 3 42.6, level 4 35.0, copy 33.2, PyTorch 44.3, PyTorch compile 35.4
//   add_rms_norm 4096x4096 f32: level 2 144.4, level 3 90.6, level 4 68.0, copy 64.5, PyTorch 93.4, PyTorch compile 68.9
//   add_rms_norm 16384x8192 f32: level 2 1052.8, level 3 777.3, level 4 522.8, copy 508.2, PyTorch 751.4, PyTorch compile 533.8
#include "add_rms_norm/level4.cuh"

// x (rows, C), residual and sum (rows, C) or 0, w (C), y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<float>)
    add_rms_norm_f32_level4(const float *x, const float *residual, const float *w, float *sum, float *y,
                            unsigned rows, unsigned columns, float eps) {
  add_rms_norm(x, residual, w, sum, y, rows, columns, eps);
}
