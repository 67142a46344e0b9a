// Level 5: level 4's kernel, told the position by memory.
//
// See attention/level5/decode.cu: a recorded launch has to be good for every position. The angles come as the
// table of all positions, in place of the rows of these tokens.
//
// Launch: as level4.cu.
//
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit e0e5a46be, 2026-11-25):
//   causal_attention_decode 255+1x8x8x64 f32: level 2 11.7, level 3 16.7, level 4 5.3, level 5 5.3, copy 1.2, PyTorch 34.8, PyTorch compile 9.9
//   causal_attention_decode 255+1x9x3x64 f32: level 2 18.3, level 3 16.6, level 4 6.0, level 5 6.0, copy 1.1, PyTorch 39.5, PyTorch compile 14.1
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit 207e47f70, 2026-11-25):
//   causal_attention_decode 255+1x8x8x64 bf16: level 2 13.7, level 3 16.6, level 4 4.5, level 5 4.5, copy 1.1, PyTorch 31.9, PyTorch compile 7.6
//   causal_attention_decode 255+1x9x3x64 bf16: level 2 13.6, level 3 16.7, level 4 6.5, level 5 6.6, copy 1.1, PyTorch 33.2, PyTorch compile 11.7
#include "rope/level4.cuh"

// The operands of tokens that stand at `position` and behind; cos and sin are of position 0 and behind.
template <typename T>
__device__ __forceinline__ Operands<T> at(Operands<T> o, const unsigned *position) {
  o.position = *position;
  o.cos += size_t(o.position) * o.half;
  o.sin += size_t(o.position) * o.half;
  return o;
}

#define KERNEL(NAME, T)                                                                                              \
  extern "C" __global__ void __launch_bounds__(256)                                                                  \
      NAME(const T *__restrict__ q, const T *__restrict__ k, const T *__restrict__ v, const T *__restrict__ cos,     \
           const T *__restrict__ sin, T *__restrict__ y, T *__restrict__ keys, T *__restrict__ values,               \
           unsigned q_batch, unsigned q_token, unsigned kv_batch, unsigned kv_token, unsigned heads,                 \
           unsigned kv_heads, unsigned half, unsigned capacity, const unsigned *__restrict__ position) {             \
    rope_append(at(Operands<T>{q, k, v, cos, sin, y, keys, values, q_batch, q_token, kv_batch, kv_token, heads,      \
                               kv_heads, half, capacity, 0},                                                         \
                   position));                                                                                       \
  }

KERNEL(rope_append_f32_level5, float)
KERNEL(rope_append_bf16_level5, bf16)
