// Level 4 of gelu, bf16: level4.cuh for GPUs from sm_80 on, where one instruction rounds two f32 to bf16.
// Before, some ten do. Instructions count here, too: some 220 for 8 elements, most of them erf's, and from 4096x4096
// on it takes a third longer than a copy of the same bytes.
//
// Measured on an NVIDIA H200, microseconds on the device (workbook ops, commit bfc3cecd3, 2026-11-21):
//   gelu 1024x1024 bf16: level 2 7.4, level 3 7.1, level 4 5.6, copy 3.2
#include "gelu/level4.cuh"

// x and y (n).
extern "C" __global__ void __launch_bounds__(BLOCK) gelu_bf16_level4(const bf16 *x, bf16 *y, unsigned n) {
  gelu(x, y, n);
}
