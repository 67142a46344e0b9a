// Level 4 of add_layer_norm, bf16: level4.cuh for GPUs from sm_80 on, where one instruction rounds two f32 to bf16.
// Before, some ten do, and the bound would be instructions.
//
// Measured on an NVIDIA H200, microseconds on the device (workbook ops, commit 7f432c22a, 2026-11-22):
//   add_layer_norm 197x384 bf16: level 2 10.9, level 3 4.9, level 4 4.1, copy 2.8, PyTorch 6.1, PyTorch compile 4.3
//   add_layer_norm 4096x128 bf16: level 2 10.6, level 3 13.7, level 4 6.0, copy 3.2, PyTorch 9.5, PyTorch compile 5.2
//   add_layer_norm 1024x1024 bf16: level 2 15.5, level 3 8.1, level 4 5.0, copy 3.9, PyTorch 8.2, PyTorch compile 7.1
//   add_layer_norm 4096x2048 bf16: level 2 76.8, level 3 39.1, level 4 22.7, copy 19.0, PyTorch 33.1, PyTorch compile 20.5
//   add_layer_norm 4096x4096 bf16: level 2 140.1, level 3 67.3, level 4 39.5, copy 34.8, PyTorch 58.6, PyTorch compile 36.2
//   add_layer_norm 16384x8192 bf16: level 2 992.1, level 3 566.5, level 4 269.6, copy 255.2, PyTorch 408.4, PyTorch compile 271.5
#include "add_layer_norm/level4.cuh"

// x (rows, C), residual and sum (rows, C) or 0, w and b (C), y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<bf16>)
    add_layer_norm_bf16_level4(const bf16 *x, const bf16 *residual, const bf16 *w, const bf16 *b, bf16 *sum,
                               bf16 *y, unsigned rows, unsigned columns, float eps) {
  add_layer_norm(x, residual, w, b, sum, y, rows, columns, eps);
}
