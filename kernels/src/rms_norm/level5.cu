// Level 5 of rms_norm, f32: see level5.cuh.
#include "rms_norm/level5.cuh"

KERNEL(rms_norm_f32_level5_16x1, float, 16, 1)
KERNEL(rms_norm_f32_level5_32x1, float, 32, 1)
KERNEL(rms_norm_f32_level5_32x2, float, 32, 2)
KERNEL(rms_norm_f32_level5_32x4, float, 32, 4)
KERNEL(rms_norm_f32_level5_32x8, float, 32, 8)
