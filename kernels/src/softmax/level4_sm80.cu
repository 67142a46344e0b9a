// Level 4 of softmax, bf16: level4.cuh for GPUs from sm_80 on, where one instruction rounds two f32 to bf16.
// Before, some ten do, and the bound would be instructions.
//
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit b7ca91183, 2026-11-23):
//   softmax 1024x1024 bf16: level 2 10.5, level 3 5.1, level 4 3.1, copy 1.5, PyTorch 4.8, PyTorch compile 3.2
//   softmax 4096x4096 bf16: level 2 149.1, level 3 35.0, level 4 20.7, copy 17.0, PyTorch 54.1, PyTorch compile 36.1
//   softmax 16384x8192 bf16: level 2 1322.4, level 3 213.9, level 4 139.9, copy 126.7, PyTorch 497.9, PyTorch compile 254.5
#include "softmax/level4.cuh"

// x and y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<bf16>)
    softmax_bf16_level4(const bf16 *x, bf16 *y, unsigned rows, unsigned columns, float scale) {
  softmax(x, y, rows, columns, scale);
}
