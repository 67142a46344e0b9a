// Level 5 of add_layer_norm, f32: see level5.cuh.
//
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit d685b9cb1, 2026-11-23):
//   add_layer_norm 197x384 f32: level 2 5.9, level 3 2.9, level 4 2.2, level 5 1.6, copy 1.2, PyTorch 4.5, PyTorch compile 1.8
//   add_layer_norm 4096x128 f32: level 2 7.7, level 3 11.6, level 4 3.0, level 5 2.5, copy 2.2, PyTorch 9.7, PyTorch compile 2.7
//   add_layer_norm 1024x1024 f32: level 2 15.8, level 3 5.7, level 4 4.4, level 5 3.7, copy 3.2, PyTorch 8.0, PyTorch compile 4.1
#include "add_layer_norm/level5.cuh"

KERNEL(add_layer_norm_f32_level5_16x1, float, 16, 1)
KERNEL(add_layer_norm_f32_level5_32x1, float, 32, 1)
KERNEL(add_layer_norm_f32_level5_32x2, float, 32, 2)
KERNEL(add_layer_norm_f32_level5_32x4, float, 32, 4)
KERNEL(add_layer_norm_f32_level5_32x8, float, 32, 8)
