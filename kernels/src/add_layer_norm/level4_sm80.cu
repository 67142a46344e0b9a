// Level 4 of add_layer_norm, bf16: level4.cuh for GPUs from sm_80 on, where one instruction rounds two f32 to bf16.
// Before, some ten do, and the bound would be instructions.
//
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit 48372ebe4, 2026-11-23):
//   add_layer_norm 197x384 bf16: level 2 8.0, level 3 3.1, level 4 2.3, copy 1.1, PyTorch 4.4, PyTorch compile 2.0
//   add_layer_norm 4096x128 bf16: level 2 7.4, level 3 11.9, level 4 3.3, copy 1.6, PyTorch 7.8, PyTorch compile 2.4
//   add_layer_norm 1024x1024 bf16: level 2 12.5, level 3 6.2, level 4 3.3, copy 2.2, PyTorch 6.2, PyTorch compile 3.5
//   add_layer_norm 4096x2048 bf16: level 2 73.4, level 3 37.0, level 4 18.9, copy 17.0, PyTorch 30.8, PyTorch compile 18.3
//   add_layer_norm 4096x4096 bf16: level 2 136.1, level 3 64.5, level 4 35.6, copy 33.0, PyTorch 55.6, PyTorch compile 36.1
//   add_layer_norm 16384x8192 bf16: level 2 991.0, level 3 581.8, level 4 259.6, copy 255.4, PyTorch 406.0, PyTorch compile 270.2
#include "add_layer_norm/level4.cuh"

// x (rows, C), residual and sum (rows, C) or 0, w and b (C), y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<bf16>)
    add_layer_norm_bf16_level4(const bf16 *x, const bf16 *residual, const bf16 *w, const bf16 *b, bf16 *sum,
                               bf16 *y, unsigned rows, unsigned columns, float eps) {
  add_layer_norm(x, residual, w, b, sum, y, rows, columns, eps);
}
