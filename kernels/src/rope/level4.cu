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
// Measured on an NVIDIA H200, microseconds on the device (workbook ops, commit c719d4dc6, 2026-11-22):
//   causal_attention_prefill 128x8x8x64 f32: level 2 56.9, level 3 18.9, level 4 14.3, PyTorch 60.8, PyTorch compile 23.8
//   causal_attention_prefill 128x9x3x64 f32: level 2 59.0, level 3 16.9, level 4 12.6, PyTorch 59.1, PyTorch compile 31.2
//   causal_attention_prefill 2048x8x8x64 f32: level 2 1282.1, level 3 1125.2, level 4 203.1, PyTorch 348.6, PyTorch compile 295.3
//   causal_attention_prefill 4x4096x16x16x128 f32: level 2 46141.2, level 3 78730.5, level 4 9844.4, PyTorch 7190.5, PyTorch compile 6469.2
//   causal_attention_decode 255+1x8x8x64 f32: level 2 19.0, level 3 19.9, level 4 11.1, copy 3.0, PyTorch 71.9, PyTorch compile 37.2
//   causal_attention_decode 255+1x9x3x64 f32: level 2 25.6, level 3 19.9, level 4 8.7, copy 2.9, PyTorch 61.5, PyTorch compile 40.2
//   causal_attention_prefill 128x8x8x64 bf16: level 2 52.5, level 3 18.4, level 4 11.3, PyTorch 58.9, PyTorch compile 13.0
//   causal_attention_prefill 128x9x3x64 bf16: level 2 56.4, level 3 17.1, level 4 8.9, PyTorch 58.5, PyTorch compile 15.6
//   causal_attention_prefill 2048x8x8x64 bf16: level 2 999.6, level 3 1101.8, level 4 40.9, PyTorch 90.2, PyTorch compile 35.6
//   causal_attention_prefill 4x4096x16x16x128 bf16: level 2 34025.3, level 3 79213.0, level 4 1064.7, PyTorch 1266.3, PyTorch compile 615.7
//   causal_attention_decode 255+1x8x8x64 bf16: level 2 20.0, level 3 20.0, level 4 7.1, copy 2.8, PyTorch 49.4, PyTorch compile 12.8
//   causal_attention_decode 255+1x9x3x64 bf16: level 2 20.2, level 3 19.9, level 4 9.4, copy 2.8, PyTorch 46.4, PyTorch compile 14.9
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
