// Level 4 of add_layer_norm, bf16: level4.cuh for GPUs from sm_80 on, where one instruction rounds two f32 to bf16.
// Before, some ten do, and the bound would be instructions.
//
// Measured on an NVIDIA H200, microseconds on the device (workbook ops, commit c8f721f33, 2026-11-22):
//   add_layer_norm 197x384 bf16: level 2 11.1, level 3 5.1, level 4 4.2, copy 3.0, PyTorch 6.0, PyTorch compile 4.4
//   add_layer_norm 4096x128 bf16: level 2 11.0, level 3 13.9, level 4 6.2, copy 3.4, PyTorch 9.4, PyTorch compile 6.7
//   add_layer_norm 1024x1024 bf16: level 2 15.8, level 3 8.3, level 4 5.1, copy 4.1, PyTorch 8.1, PyTorch compile 6.6
//   add_layer_norm 4096x2048 bf16: level 2 77.3, level 3 39.7, level 4 22.9, copy 19.2, PyTorch 33.3, PyTorch compile 20.5
//   add_layer_norm 4096x4096 bf16: level 2 142.2, level 3 68.3, level 4 39.8, copy 35.2, PyTorch 58.9, PyTorch compile 39.8
//   add_layer_norm 16384x8192 bf16: level 2 1005.5, level 3 579.6, level 4 271.4, copy 256.9, PyTorch 410.3, PyTorch compile 273.8
#include "add_layer_norm/level4.cuh"

// x (rows, C), residual and sum (rows, C) or 0, w and b (C), y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<bf16>)
    add_layer_norm_bf16_level4(const bf16 *x, const bf16 *residual, const bf16 *w, const bf16 *b, bf16 *sum,
                               bf16 *y, unsigned rows, unsigned columns, float eps) {
  add_layer_norm(x, residual, w, b, sum, y, rows, columns, eps);
}
