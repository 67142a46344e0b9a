// Level 4 of softmax, bf16: level4.cuh for GPUs from sm_80 on, where one instruction rounds two f32 to bf16.
// Before, some ten do, and the bound would be instructions.
//
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit a0d70647a, 2026-11-22):
//   softmax 1024x1024 bf16: level 2 10.5, level 3 5.1, level 4 3.0, copy 1.5, PyTorch 9.0
//   softmax 4096x4096 bf16: level 2 153.2, level 3 35.0, level 4 20.7, copy 17.2, PyTorch 54.7
//   softmax 16384x8192 bf16: level 2 1374.3, level 3 212.7, level 4 140.7, copy 127.8, PyTorch 504.8
#include "softmax/level4.cuh"

// x and y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<bf16>)
    softmax_bf16_level4(const bf16 *x, bf16 *y, unsigned rows, unsigned columns, float scale) {
  softmax(x, y, rows, columns, scale);
}
