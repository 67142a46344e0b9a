// Level 4 of softmax, f32: see level4.cuh.
//
// Measured on an NVIDIA H200, microseconds on the device (workbook ops, commit bfc3cecd3, 2026-11-21):
//   softmax 1024x1024 f32: level 2 8.9, level 3 8.5, level 4 7.0, copy 4.0
#include "softmax/level4.cuh"

// x and y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<float>)
    softmax_f32_level4(const float *x, float *y, unsigned rows, unsigned columns, float scale) {
  softmax(x, y, rows, columns, scale);
}
