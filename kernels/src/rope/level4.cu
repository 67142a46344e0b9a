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
// Measured on an NVIDIA H200, microseconds on the device (workbook ops, commit c8f721f33, 2026-11-22):
//   causal_attention_prefill 128x8x8x64 f32: level 2 64.0, level 3 18.6, level 4 14.9, PyTorch 58.6, PyTorch compile 23.3
//   causal_attention_prefill 128x9x3x64 f32: level 2 67.6, level 3 18.6, level 4 15.4, PyTorch 57.1, PyTorch compile 30.6
//   causal_attention_prefill 2048x8x8x64 f32: level 2 1301.5, level 3 1126.0, level 4 206.8, PyTorch 348.7, PyTorch compile 297.2
//   causal_attention_prefill 4x4096x16x16x128 f32: level 2 46642.3, level 3 78762.0, level 4 9855.6, PyTorch 7241.9, PyTorch compile 6498.2
//   causal_attention_decode 255+1x8x8x64 f32: level 2 24.1, level 3 37.4, level 4 10.8, copy 3.2, PyTorch 70.8, PyTorch compile 37.8
//   causal_attention_decode 255+1x9x3x64 f32: level 2 34.7, level 3 38.9, level 4 12.8, copy 2.9, PyTorch 59.6, PyTorch compile 40.4
//   causal_attention_prefill 128x8x8x64 bf16: level 2 60.0, level 3 19.0, level 4 11.3, PyTorch 58.2, PyTorch compile 12.9
//   causal_attention_prefill 128x9x3x64 bf16: level 2 61.4, level 3 18.8, level 4 12.1, PyTorch 58.7, PyTorch compile 16.4
//   causal_attention_prefill 2048x8x8x64 bf16: level 2 1019.4, level 3 1105.5, level 4 44.1, PyTorch 89.6, PyTorch compile 35.5
//   causal_attention_prefill 4x4096x16x16x128 bf16: level 2 34662.2, level 3 79339.2, level 4 1063.7, PyTorch 1266.2, PyTorch compile 647.4
//   causal_attention_decode 255+1x8x8x64 bf16: level 2 25.6, level 3 35.8, level 4 9.7, copy 2.9, PyTorch 49.0, PyTorch compile 12.8
//   causal_attention_decode 255+1x9x3x64 bf16: level 2 25.2, level 3 37.6, level 4 13.1, copy 2.9, PyTorch 46.3, PyTorch compile 15.3
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
