// Level 4 of add_layer_norm, bf16: level4.cuh for GPUs from sm_80 on, where one instruction rounds two f32 to bf16.
// Before, some ten do, and the bound would be instructions.
//
// Measured on an NVIDIA H200, microseconds on the device (workbook ops, commit bfc3cecd3, 2026-11-21):
//   add_layer_norm 197x384 bf16: level 2 10.9, level 3 6.7, level 4 5.5, copy 2.9
//   add_layer_norm 4096x128 bf16: level 2 10.6, level 3 13.7, level 4 6.1, copy 3.2
//   add_layer_norm 1024x1024 bf16: level 2 15.4, level 3 8.1, level 4 5.0, copy 4.0
//   add_layer_norm 4096x2048 bf16: level 2 76.7, level 3 39.1, level 4 22.9, copy 18.9
#include "add_layer_norm/level4.cuh"

// x (rows, C), residual and sum (rows, C) or 0, w and b (C), y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<bf16>)
    add_layer_norm_bf16_level4(const bf16 *x, const bf16 *residual, const bf16 *w, const bf16 *b, bf16 *sum,
                               bf16 *y, unsigned rows, unsigned columns, float eps) {
  add_layer_norm(x, residual, w, b, sum, y, rows, columns, eps);
}
