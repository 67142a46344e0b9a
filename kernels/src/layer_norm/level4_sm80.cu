// Level 4 of layer_norm, bf16: level4.cuh for GPUs from sm_80 on, where one instruction rounds two f32 to bf16.
// Before, some ten do, and the bound would be instructions.
#include "layer_norm/level4.cuh"

// x (rows, C), w and b (C), y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<bf16>)
    layer_norm_bf16_level4(const bf16 *x, const bf16 *w, const bf16 *b, bf16 *y, unsigned rows,
                           unsigned columns, float eps) {
  layer_norm(x, w, b, y, rows, columns, eps);
}
