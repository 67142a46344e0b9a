// Level 4 of add_rms_norm, bf16: level4.cuh for GPUs from sm_80 on, where one instruction rounds two f32 to bf16.
// Before, some ten do, and the bound would be instructions.
//
// Measured on an NVIDIA H200, microseconds on the device (workbook ops, commit 73d736858, 2026-11-21):
//   add_rms_norm 1x512 bf16: level 2 10.3, level 3 4.0, level 4 3.7, copy 2.7
//   add_rms_norm 128x512 bf16: level 2 12.9, level 3 4.2, level 4 4.0, copy 2.9
//   add_rms_norm 1024x1024 bf16: level 2 13.8, level 3 6.5, level 4 4.8, copy 4.1
//   add_rms_norm 4096x2048 bf16: level 2 69.3, level 3 33.7, level 4 20.8, copy 19.3
#include "add_rms_norm/level4.cuh"

// x (rows, C), residual and sum (rows, C) or 0, w (C), y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<bf16>)
    add_rms_norm_bf16_level4(const bf16 *x, const bf16 *residual, const bf16 *w, bf16 *sum, bf16 *y,
                             unsigned rows, unsigned columns, float eps) {
  add_rms_norm(x, residual, w, sum, y, rows, columns, eps);
}
