// Level 4 of gelu, bf16: level4.cuh for GPUs from sm_80 on, where one instruction rounds two f32 to bf16.
// Before, some ten do.
//
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit 48372ebe4, 2026-11-23):
//   gelu 1024x1024 bf16: level 2 5.6, level 3 3.4, level 4 1.9, copy 1.6, PyTorch 2.6
//   gelu 4096x4096 bf16: level 2 78.5, level 3 48.4, level 4 17.7, copy 17.0, PyTorch 23.1
//   gelu 16384x8192 bf16: level 2 622.6, level 3 377.0, level 4 129.7, copy 127.1, PyTorch 168.3
#include "gelu/level4.cuh"

// x and y (n).
extern "C" __global__ void __launch_bounds__(BLOCK) gelu_bf16_level4(const bf16 *x, bf16 *y, unsigned n) {
  gelu(x, y, n);
}
