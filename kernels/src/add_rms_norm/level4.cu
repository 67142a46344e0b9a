// Level 4 of add_rms_norm, f32: see level4.cuh.
#include "add_rms_norm/level4.cuh"

// x (rows, C), residual and sum (rows, C) or 0, w (C), y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<float>)
    add_rms_norm_f32_level4(const float *x, const float *residual, const float *w, float *sum, float *y,
                            unsigned rows, unsigned columns, float eps) {
  add_rms_norm(x, residual, w, sum, y, rows, columns, eps);
}
