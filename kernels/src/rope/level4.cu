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
// Measured on an NVIDIA H200, microseconds on the device (workbook ops, commit 7f432c22a, 2026-11-22):
//   causal_attention_prefill 128x8x8x64 f32: level 2 62.1, level 3 18.4, level 4 14.8, PyTorch 62.7, PyTorch compile 23.7
//   causal_attention_prefill 128x9x3x64 f32: level 2 64.8, level 3 18.5, level 4 15.0, PyTorch 56.7, PyTorch compile 29.4
//   causal_attention_prefill 2048x8x8x64 f32: level 2 1290.7, level 3 1125.2, level 4 206.2, PyTorch 353.8, PyTorch compile 297.3
//   causal_attention_prefill 4x4096x16x16x128 f32: level 2 46236.9, level 3 78821.0, level 4 9842.6, PyTorch 7321.8, PyTorch compile 6455.1
//   causal_attention_decode 255+1x8x8x64 f32: level 2 23.3, level 3 36.3, level 4 10.6, copy 3.0, PyTorch 70.3, PyTorch compile 36.9
//   causal_attention_decode 255+1x9x3x64 f32: level 2 33.5, level 3 37.4, level 4 12.4, copy 2.8, PyTorch 60.4, PyTorch compile 38.7
//   causal_attention_prefill 128x8x8x64 bf16: level 2 57.8, level 3 18.6, level 4 11.1, PyTorch 63.7, PyTorch compile 13.4
//   causal_attention_prefill 128x9x3x64 bf16: level 2 59.9, level 3 18.7, level 4 11.8, PyTorch 65.5, PyTorch compile 20.5
//   causal_attention_prefill 2048x8x8x64 bf16: level 2 1007.5, level 3 1106.3, level 4 43.4, PyTorch 95.3, PyTorch compile 34.7
//   causal_attention_prefill 4x4096x16x16x128 bf16: level 2 34245.3, level 3 79396.8, level 4 1055.8, PyTorch 1330.7, PyTorch compile 614.7
//   causal_attention_decode 255+1x8x8x64 bf16: level 2 24.1, level 3 34.7, level 4 9.4, copy 2.8, PyTorch 48.8, PyTorch compile 12.8
//   causal_attention_decode 255+1x9x3x64 bf16: level 2 24.2, level 3 36.2, level 4 12.9, copy 2.8, PyTorch 46.4, PyTorch compile 15.2
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
