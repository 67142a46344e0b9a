// Level 5 of layer_norm, f32: see level5.cuh.
#include "layer_norm/level5.cuh"

KERNEL(layer_norm_f32_level5_16x1, float, 16, 1)
KERNEL(layer_norm_f32_level5_32x1, float, 32, 1)
KERNEL(layer_norm_f32_level5_32x2, float, 32, 2)
KERNEL(layer_norm_f32_level5_32x4, float, 32, 4)
KERNEL(layer_norm_f32_level5_32x8, float, 32, 8)
