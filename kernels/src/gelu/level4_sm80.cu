// Level 4 of gelu, bf16: level4.cuh for GPUs from sm_80 on, where one instruction rounds two f32 to bf16.
// Before, some ten do.
#include "gelu/level4.cuh"

// x and y (n).
extern "C" __global__ void __launch_bounds__(BLOCK) gelu_bf16_level4(const bf16 *x, bf16 *y, unsigned n) {
  gelu(x, y, n);
}
