// Level 4 of rope: q and k rotated, k and v appended, 16 bytes per thread.
//
// Against level 3 (one block per head, 4 bytes per load): one block per token. A thread holds 16 bytes of
// cosines and of sines in registers and rotates that part of one head after another with them, so the angles
// are read once per token and not once per head, and each load and store moves 16 bytes.
// Prediction: the bytes of level 3, a quarter of its instructions in f32 and an eighth in bf16; at the
// few tokens of a decode step both wait for one round trip to memory and are equal.
//
// Launch: grid (T, B); block (16-byte chunks of half a head, heads), which steps over the rest of both. Where the
// halves of a head are not 16-byte aligned, a thread takes one element in place of a chunk.
//
// To be faster: nothing here, it moves what it must; the matmul before it could rotate in
// its epilogue, and save q's and k's way to memory and back.
//
// Measured on an NVIDIA H200: causal_attention_prefill 4x4096x16x16x128 f32 with its other launches at 38% of the fastest f32 matmul; see kernels/generated/rope/level4.md.
#include "rope/level4.cuh"

#define KERNEL(NAME, T)                                                                                              \
  extern "C" __global__ void __launch_bounds__(256)                                                                  \
      NAME(const T *__restrict__ q, const T *__restrict__ k, const T *__restrict__ v, const T *__restrict__ cos,     \
           const T *__restrict__ sin, T *__restrict__ y, T *__restrict__ keys, T *__restrict__ values,               \
           unsigned q_batch_stride, unsigned q_token_stride, unsigned kv_batch_stride, unsigned kv_token_stride,     \
           unsigned heads, unsigned kv_heads, unsigned half_dim, unsigned capacity, unsigned position) {             \
    rope_append(Params<T>{q, k, v, cos, sin, y, keys, values, q_batch_stride, q_token_stride, kv_batch_stride,       \
                          kv_token_stride, heads, kv_heads, half_dim, capacity, position});                          \
  }

KERNEL(rope_append_f32_level4, float)
KERNEL(rope_append_bf16_level4, bf16)
