// Level 4 of add_rms_norm, bf16: level4.cuh for GPUs from sm_80 on, where one instruction rounds two f32 to bf16.
// Before, some ten do, and the bound would be instructions.
//
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit 48372ebe4, 2026-11-23):
//   add_rms_norm 1x512 bf16: level 2 7.2, level 3 2.1, level 4 1.8, copy 1.0, PyTorch 3.3, PyTorch compile 1.5
//   add_rms_norm 128x512 bf16: level 2 9.8, level 3 2.3, level 4 1.9, copy 1.1, PyTorch 3.4, PyTorch compile 1.8
//   add_rms_norm 1024x1024 bf16: level 2 10.5, level 3 4.5, level 4 2.9, copy 2.2, PyTorch 4.8, PyTorch compile 2.9
//   add_rms_norm 4096x2048 bf16: level 2 65.8, level 3 31.2, level 4 18.1, copy 17.0, PyTorch 23.7, PyTorch compile 17.2
//   add_rms_norm 4096x4096 bf16: level 2 128.4, level 3 57.3, level 4 34.9, copy 33.0, PyTorch 47.0, PyTorch compile 35.7
//   add_rms_norm 16384x8192 bf16: level 2 942.6, level 3 517.9, level 4 258.8, copy 255.5, PyTorch 383.3, PyTorch compile 263.8
#include "add_rms_norm/level4.cuh"

// x (rows, C), residual and sum (rows, C) or 0, w (C), y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<bf16>)
    add_rms_norm_bf16_level4(const bf16 *x, const bf16 *residual, const bf16 *w, bf16 *sum, bf16 *y,
                             unsigned rows, unsigned columns, float eps) {
  add_rms_norm(x, residual, w, sum, y, rows, columns, eps);
}
