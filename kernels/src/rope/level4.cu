// Level 4: q and k rotated, k and v appended, 16 bytes a thread.
//
// Against level 3 (a block a head, 4 bytes a load): a block a token. A thread holds 16 bytes of cosines
// and of sines in registers and rotates that part of one head after another with them, so the angles are
// read once a token and not once a head, and each load and store moves 16 bytes.
// Prediction: the bytes of level 3, a quarter of its instructions in f32 and an eighth in bf16; at the
// few tokens of a decode step both wait for one round trip to memory and are equal.
//
// Launch: grid (T, B); block (vectors of half a head, heads), which steps over the rest of both. Where
// D/2 or an address is no multiple of 16 bytes, a thread takes one element in place of a vector.
//
// What would make it faster: nothing here, it moves what it must; the product before it could rotate in
// its epilogue, and save q's and k's way to memory and back.
//
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit e0e5a46be, 2026-11-25):
//   causal_attention_prefill 128x8x8x64 f32: level 2 33.3, level 3 13.7, level 4 9.7, PyTorch 44.3, PyTorch compile 19.4
//   causal_attention_prefill 128x9x3x64 f32: level 2 36.2, level 3 13.7, level 4 9.7, PyTorch 48.3, PyTorch compile 24.5
//   causal_attention_prefill 2048x8x8x64 f32: level 2 1258.5, level 3 1124.1, level 4 199.7, PyTorch 331.6, PyTorch compile 292.9
//   causal_attention_prefill 4x4096x16x16x128 f32: level 2 46148.8, level 3 78831.9, level 4 9843.0, PyTorch 7170.2, PyTorch compile 6469.6
//   causal_attention_decode 255+1x8x8x64 f32: level 2 11.7, level 3 16.7, level 4 5.3, copy 1.2, PyTorch 34.8, PyTorch compile 9.9
//   causal_attention_decode 255+1x9x3x64 f32: level 2 18.3, level 3 16.6, level 4 6.0, copy 1.1, PyTorch 39.5, PyTorch compile 14.1
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit 207e47f70, 2026-11-25):
//   causal_attention_prefill 128x8x8x64 bf16: level 2 29.8, level 3 13.7, level 4 5.7, PyTorch 40.2, PyTorch compile 10.2
//   causal_attention_prefill 128x9x3x64 bf16: level 2 31.5, level 3 14.1, level 4 6.1, PyTorch 40.4, PyTorch compile 11.7
//   causal_attention_prefill 2048x8x8x64 bf16: level 2 979.4, level 3 1107.9, level 4 38.0, PyTorch 68.9, PyTorch compile 30.4
//   causal_attention_prefill 4x4096x16x16x128 bf16: level 2 34122.3, level 3 79248.2, level 4 1067.6, PyTorch 1230.4, PyTorch compile 602.3
//   causal_attention_decode 255+1x8x8x64 bf16: level 2 13.7, level 3 16.6, level 4 4.5, copy 1.1, PyTorch 31.9, PyTorch compile 7.6
//   causal_attention_decode 255+1x9x3x64 bf16: level 2 13.6, level 3 16.7, level 4 6.5, copy 1.1, PyTorch 33.2, PyTorch compile 11.7
#include "rope/level4.cuh"

#define KERNEL(NAME, T)                                                                                              \
  extern "C" __global__ void __launch_bounds__(256)                                                                  \
      NAME(const T *__restrict__ q, const T *__restrict__ k, const T *__restrict__ v, const T *__restrict__ cos,     \
           const T *__restrict__ sin, T *__restrict__ y, T *__restrict__ keys, T *__restrict__ values,               \
           unsigned q_batch, unsigned q_token, unsigned kv_batch, unsigned kv_token, unsigned heads,                 \
           unsigned kv_heads, unsigned half, unsigned capacity, unsigned position) {                                 \
    rope_append(Operands<T>{q, k, v, cos, sin, y, keys, values, q_batch, q_token, kv_batch, kv_token, heads,         \
                            kv_heads, half, capacity, position});                                                    \
  }

KERNEL(rope_append_f32_level4, float)
KERNEL(rope_append_bf16_level4, bf16)
