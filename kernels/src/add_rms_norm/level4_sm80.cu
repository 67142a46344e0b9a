// Level 4 of add_rms_norm, bf16: level4.cuh for GPUs from sm_80 on, where one instruction rounds two f32 to bf16.
// Before, some ten do, and the bound would be instructions.
//
// Measured on an NVIDIA H200, microseconds on the device (workbook ops, commit bfc3cecd3, 2026-11-21):
//   add_rms_norm 1x512 bf16: level 2 10.3, level 3 5.9, level 4 5.0, copy 2.6
//   add_rms_norm 128x512 bf16: level 2 12.6, level 3 4.1, level 4 3.9, copy 2.8
//   add_rms_norm 1024x1024 bf16: level 2 13.5, level 3 6.5, level 4 4.7, copy 4.0
//   add_rms_norm 4096x2048 bf16: level 2 69.0, level 3 33.3, level 4 20.6, copy 18.9
#include "add_rms_norm/level4.cuh"

// x (rows, C), residual and sum (rows, C) or 0, w (C), y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<bf16>)
    add_rms_norm_bf16_level4(const bf16 *x, const bf16 *residual, const bf16 *w, bf16 *sum, bf16 *y,
                             unsigned rows, unsigned columns, float eps) {
  add_rms_norm(x, residual, w, sum, y, rows, columns, eps);
}
