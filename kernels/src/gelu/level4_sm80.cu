// Level 4 of gelu, bf16: level4.cuh for GPUs from sm_80 on, where one instruction rounds two f32 to bf16.
// Before, some ten do.
//
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit a0d70647a, 2026-11-22):
//   gelu 1024x1024 bf16: level 2 5.6, level 3 3.4, level 4 1.8, copy 1.5, PyTorch 2.6
//   gelu 4096x4096 bf16: level 2 78.5, level 3 49.9, level 4 17.8, copy 17.2, PyTorch 23.3
//   gelu 16384x8192 bf16: level 2 620.4, level 3 389.2, level 4 130.9, copy 127.8, PyTorch 169.3
#include "gelu/level4.cuh"

// x and y (n).
extern "C" __global__ void __launch_bounds__(BLOCK) gelu_bf16_level4(const bf16 *x, bf16 *y, unsigned n) {
  gelu(x, y, n);
}
