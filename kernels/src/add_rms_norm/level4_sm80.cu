// Level 4 of add_rms_norm, bf16: level4.cuh for GPUs from sm_80 on, where one instruction rounds two f32 to bf16.
// Before, some ten do, and the bound would be instructions.
//
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit b7ca91183, 2026-11-23):
//   add_rms_norm 1x512 bf16: level 2 7.4, level 3 2.1, level 4 1.7, copy 0.9, PyTorch 3.3, PyTorch compile 1.6
//   add_rms_norm 128x512 bf16: level 2 9.8, level 3 2.3, level 4 1.9, copy 1.1, PyTorch 3.3, PyTorch compile 1.8
//   add_rms_norm 1024x1024 bf16: level 2 10.5, level 3 4.5, level 4 2.9, copy 2.2, PyTorch 4.9, PyTorch compile 3.0
//   add_rms_norm 4096x2048 bf16: level 2 65.7, level 3 31.3, level 4 18.2, copy 17.0, PyTorch 24.4, PyTorch compile 18.6
//   add_rms_norm 4096x4096 bf16: level 2 128.4, level 3 57.7, level 4 34.7, copy 33.0, PyTorch 47.0, PyTorch compile 36.0
//   add_rms_norm 16384x8192 bf16: level 2 942.6, level 3 496.8, level 4 261.5, copy 254.8, PyTorch 382.9, PyTorch compile 264.3
#include "add_rms_norm/level4.cuh"

// x (rows, C), residual and sum (rows, C) or 0, w (C), y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<bf16>)
    add_rms_norm_bf16_level4(const bf16 *x, const bf16 *residual, const bf16 *w, bf16 *sum, bf16 *y,
                             unsigned rows, unsigned columns, float eps) {
  add_rms_norm(x, residual, w, sum, y, rows, columns, eps);
}
