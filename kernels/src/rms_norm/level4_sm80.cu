// Level 4 of rms_norm, bf16: level4.cuh for GPUs from sm_80 on, where one instruction rounds two f32 to bf16.
// Before, some ten do, and the bound would be instructions.
#include "rms_norm/level4.cuh"

// x (rows, C), w (C), y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<bf16>)
    rms_norm_bf16_level4(const bf16 *x, const bf16 *w, bf16 *y, unsigned rows, unsigned columns,
                         float eps) {
  rms_norm(x, w, y, rows, columns, eps);
}
