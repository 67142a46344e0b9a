// Level 4 of add_layer_norm, bf16: level4.cuh for GPUs from sm_80 on, where one instruction rounds two f32 to bf16.
// Before, some ten do, and the bound would be instructions.
//
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit b7ca91183, 2026-11-23):
//   add_layer_norm 197x384 bf16: level 2 8.2, level 3 3.1, level 4 2.3, copy 1.1, PyTorch 4.4, PyTorch compile 2.0
//   add_layer_norm 4096x128 bf16: level 2 7.5, level 3 11.9, level 4 3.3, copy 1.5, PyTorch 7.8, PyTorch compile 2.4
//   add_layer_norm 1024x1024 bf16: level 2 12.5, level 3 6.2, level 4 3.2, copy 2.2, PyTorch 6.2, PyTorch compile 3.2
//   add_layer_norm 4096x2048 bf16: level 2 73.5, level 3 37.0, level 4 18.9, copy 16.9, PyTorch 31.7, PyTorch compile 19.1
//   add_layer_norm 4096x4096 bf16: level 2 136.3, level 3 65.1, level 4 35.7, copy 33.2, PyTorch 55.6, PyTorch compile 36.7
//   add_layer_norm 16384x8192 bf16: level 2 990.8, level 3 557.7, level 4 262.4, copy 254.7, PyTorch 405.8, PyTorch compile 266.0
#include "add_layer_norm/level4.cuh"

// x (rows, C), residual and sum (rows, C) or 0, w and b (C), y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<bf16>)
    add_layer_norm_bf16_level4(const bf16 *x, const bf16 *residual, const bf16 *w, const bf16 *b, bf16 *sum,
                               bf16 *y, unsigned rows, unsigned columns, float eps) {
  add_layer_norm(x, residual, w, b, sum, y, rows, columns, eps);
}
