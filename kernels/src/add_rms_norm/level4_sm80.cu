// Level 4 of add_rms_norm, bf16: level4.cuh for GPUs from sm_80 on, where one instruction rounds two f32 to bf16.
// Before, some ten do, and the bound would be instructions.
//
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit a0d70647a, 2026-11-22):
//   add_rms_norm 1x512 bf16: level 2 7.2, level 3 2.1, level 4 1.8, copy 1.0, PyTorch 6.7, PyTorch compile 4.2
//   add_rms_norm 128x512 bf16: level 2 9.7, level 3 2.3, level 4 2.0, copy 1.1, PyTorch 3.4, PyTorch compile 4.6
//   add_rms_norm 1024x1024 bf16: level 2 10.5, level 3 4.5, level 4 2.9, copy 2.2, PyTorch 4.9, PyTorch compile 5.8
//   add_rms_norm 4096x2048 bf16: level 2 66.0, level 3 31.7, level 4 18.1, copy 17.1, PyTorch 24.1, PyTorch compile 19.6
//   add_rms_norm 4096x4096 bf16: level 2 130.4, level 3 58.1, level 4 35.0, copy 33.2, PyTorch 47.4, PyTorch compile 37.0
//   add_rms_norm 16384x8192 bf16: level 2 956.1, level 3 536.1, level 4 259.7, copy 256.8, PyTorch 384.2, PyTorch compile 266.9
#include "add_rms_norm/level4.cuh"

// x (rows, C), residual and sum (rows, C) or 0, w (C), y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<bf16>)
    add_rms_norm_bf16_level4(const bf16 *x, const bf16 *residual, const bf16 *w, bf16 *sum, bf16 *y,
                             unsigned rows, unsigned columns, float eps) {
  add_rms_norm(x, residual, w, sum, y, rows, columns, eps);
}
