// Level 4 of add_rms_norm, bf16: level4.cuh for GPUs from sm_80 on, where one instruction rounds two f32 to bf16.
// Before, some ten do, and the bound would be instructions.
//
// Measured on an NVIDIA H200, microseconds on the device (workbook ops, commit c8f721f33, 2026-11-22):
//   add_rms_norm 1x512 bf16: level 2 10.3, level 3 3.9, level 4 3.7, copy 2.7, PyTorch 6.6, PyTorch compile 3.7
//   add_rms_norm 128x512 bf16: level 2 13.0, level 3 4.3, level 4 4.0, copy 3.0, PyTorch 5.0, PyTorch compile 4.1
//   add_rms_norm 1024x1024 bf16: level 2 13.7, level 3 6.6, level 4 4.8, copy 4.1, PyTorch 6.9, PyTorch compile 5.8
//   add_rms_norm 4096x2048 bf16: level 2 69.8, level 3 33.8, level 4 20.8, copy 19.2, PyTorch 26.3, PyTorch compile 19.9
//   add_rms_norm 4096x4096 bf16: level 2 134.2, level 3 61.1, level 4 37.3, copy 35.2, PyTorch 50.2, PyTorch compile 35.9
//   add_rms_norm 16384x8192 bf16: level 2 958.4, level 3 520.9, level 4 263.7, copy 257.0, PyTorch 386.8, PyTorch compile 265.6
#include "add_rms_norm/level4.cuh"

// x (rows, C), residual and sum (rows, C) or 0, w (C), y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<bf16>)
    add_rms_norm_bf16_level4(const bf16 *x, const bf16 *residual, const bf16 *w, bf16 *sum, bf16 *y,
                             unsigned rows, unsigned columns, float eps) {
  add_rms_norm(x, residual, w, sum, y, rows, columns, eps);
}
