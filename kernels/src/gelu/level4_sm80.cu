// Level 4 of gelu, bf16: level4.cuh for GPUs from sm_80 on, where one instruction rounds two f32 to bf16.
// Before, some ten do.
//
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit b7ca91183, 2026-11-23):
//   gelu 1024x1024 bf16: level 2 5.6, level 3 3.4, level 4 1.8, copy 1.6, PyTorch 2.4, PyTorch compile 2.6
//   gelu 4096x4096 bf16: level 2 78.6, level 3 48.3, level 4 17.6, copy 17.0, PyTorch 22.8, PyTorch compile 24.0
//   gelu 16384x8192 bf16: level 2 622.3, level 3 376.8, level 4 129.6, copy 126.8, PyTorch 167.9, PyTorch compile 172.4
#include "gelu/level4.cuh"

// x and y (n).
extern "C" __global__ void __launch_bounds__(BLOCK) gelu_bf16_level4(const bf16 *x, bf16 *y, unsigned n) {
  gelu(x, y, n);
}
