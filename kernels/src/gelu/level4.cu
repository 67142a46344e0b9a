// Level 4 of gelu, f32: see level4.cuh.
#include "gelu/level4.cuh"

// x and y (n).
extern "C" __global__ void __launch_bounds__(BLOCK) gelu_f32_level4(const float *x, float *y, unsigned n) {
  gelu(x, y, n);
}
