// Level 5 of layer_norm, bf16: level5.cuh for GPUs from sm_80 on, where one instruction rounds two f32 to bf16.
#include "layer_norm/level5.cuh"

KERNEL(layer_norm_bf16_level5_16x1, bf16, 16, 1)
KERNEL(layer_norm_bf16_level5_32x1, bf16, 32, 1)
KERNEL(layer_norm_bf16_level5_32x2, bf16, 32, 2)
KERNEL(layer_norm_bf16_level5_32x4, bf16, 32, 4)
KERNEL(layer_norm_bf16_level5_32x8, bf16, 32, 8)
