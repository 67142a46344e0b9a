// Level 5 of add_rms_norm, f32: see level5.cuh.
//
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit d685b9cb1, 2026-11-23):
//   add_rms_norm 1x512 f32: level 2 5.6, level 3 2.0, level 4 1.8, level 5 1.3, copy 1.0, PyTorch 3.4, PyTorch compile 1.4
//   add_rms_norm 128x512 f32: level 2 6.7, level 3 2.2, level 4 2.0, level 5 1.5, copy 1.1, PyTorch 3.6, PyTorch compile 1.9
//   add_rms_norm 1024x1024 f32: level 2 13.6, level 3 4.3, level 4 4.0, level 5 3.6, copy 3.2, PyTorch 6.5, PyTorch compile 3.8
#include "add_rms_norm/level5.cuh"

KERNEL(add_rms_norm_f32_level5_16x1, float, 16, 1)
KERNEL(add_rms_norm_f32_level5_32x1, float, 32, 1)
KERNEL(add_rms_norm_f32_level5_32x2, float, 32, 2)
KERNEL(add_rms_norm_f32_level5_32x4, float, 32, 4)
KERNEL(add_rms_norm_f32_level5_32x8, float, 32, 8)
