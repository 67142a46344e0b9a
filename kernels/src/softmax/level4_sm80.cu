// Level 4 of softmax, bf16: level4.cuh for GPUs from sm_80 on, where one instruction rounds two f32 to bf16.
// Before, some ten do, and the bound would be instructions.
#include "softmax/level4.cuh"

// x and y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<bf16>)
    softmax_bf16_level4(const bf16 *x, bf16 *y, unsigned rows, unsigned columns, float scale) {
  softmax(x, y, rows, columns, scale);
}
