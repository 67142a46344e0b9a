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
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit c719d4dc6, 2026-11-22):
//   causal_attention_prefill 128x8x8x64 f32: level 2 33.3, level 3 13.7, level 4 9.7, PyTorch 50.3, PyTorch compile 22.5
//   causal_attention_prefill 128x9x3x64 f32: level 2 35.9, level 3 13.7, level 4 9.8, PyTorch 47.7, PyTorch compile 27.0
//   causal_attention_prefill 2048x8x8x64 f32: level 2 1257.7, level 3 1122.8, level 4 199.6, PyTorch 330.9, PyTorch compile 293.5
//   causal_attention_prefill 4x4096x16x16x128 f32: level 2 46110.8, level 3 78730.3, level 4 9850.1, PyTorch 7169.6, PyTorch compile 6468.6
//   causal_attention_decode 255+1x8x8x64 f32: level 2 11.6, level 3 16.4, level 4 5.3, copy 1.2, PyTorch 62.0, PyTorch compile 36.0
//   causal_attention_decode 255+1x9x3x64 f32: level 2 18.0, level 3 16.5, level 4 6.0, copy 1.1, PyTorch 52.3, PyTorch compile 37.5
//   causal_attention_prefill 128x8x8x64 bf16: level 2 29.5, level 3 13.8, level 4 5.7, PyTorch 48.0, PyTorch compile 13.0
//   causal_attention_prefill 128x9x3x64 bf16: level 2 31.5, level 3 14.0, level 4 6.1, PyTorch 47.8, PyTorch compile 14.5
//   causal_attention_prefill 2048x8x8x64 bf16: level 2 978.8, level 3 1101.8, level 4 37.8, PyTorch 76.0, PyTorch compile 34.8
//   causal_attention_prefill 4x4096x16x16x128 bf16: level 2 34106.1, level 3 79193.8, level 4 1062.8, PyTorch 1241.1, PyTorch compile 616.8
//   causal_attention_decode 255+1x8x8x64 bf16: level 2 13.6, level 3 16.7, level 4 4.4, copy 1.1, PyTorch 38.2, PyTorch compile 12.2
//   causal_attention_decode 255+1x9x3x64 bf16: level 2 13.6, level 3 16.7, level 4 6.6, copy 1.1, PyTorch 36.6, PyTorch compile 14.2
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
