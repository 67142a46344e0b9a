// Level 4 of add_rms_norm, bf16: level4.cuh for GPUs from sm_80 on, where one instruction rounds two f32 to bf16.
// Before, some ten do, and the bound would be instructions.
//
// Measured on an NVIDIA H200, microseconds on the device (workbook ops, commit 7f432c22a, 2026-11-22):
//   add_rms_norm 1x512 bf16: level 2 10.0, level 3 3.7, level 4 3.5, copy 2.5, PyTorch 6.5, PyTorch compile 3.8
//   add_rms_norm 128x512 bf16: level 2 12.5, level 3 4.1, level 4 3.8, copy 2.8, PyTorch 5.0, PyTorch compile 4.1
//   add_rms_norm 1024x1024 bf16: level 2 13.4, level 3 6.5, level 4 4.7, copy 3.9, PyTorch 6.9, PyTorch compile 5.9
//   add_rms_norm 4096x2048 bf16: level 2 69.2, level 3 33.3, level 4 20.5, copy 18.9, PyTorch 26.3, PyTorch compile 19.9
//   add_rms_norm 4096x4096 bf16: level 2 132.2, level 3 60.1, level 4 36.9, copy 34.8, PyTorch 50.0, PyTorch compile 35.6
//   add_rms_norm 16384x8192 bf16: level 2 945.3, level 3 509.2, level 4 262.4, copy 255.3, PyTorch 385.1, PyTorch compile 264.6
#include "add_rms_norm/level4.cuh"

// x (rows, C), residual and sum (rows, C) or 0, w (C), y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<bf16>)
    add_rms_norm_bf16_level4(const bf16 *x, const bf16 *residual, const bf16 *w, bf16 *sum, bf16 *y,
                             unsigned rows, unsigned columns, float eps) {
  add_rms_norm(x, residual, w, sum, y, rows, columns, eps);
}
