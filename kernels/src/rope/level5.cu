// Level 5: level 4's kernel, told the position by memory.
//
// See attention/level5_decode.cu: a recorded launch has to be good for every position. The angles come as the
// table of all positions, in place of the rows of these tokens.
//
// Launch: as level4.cu.
//
// Measured on an NVIDIA H200, microseconds on the device (workbook ops, commit c8f721f33, 2026-11-22):
//   causal_attention_decode 255+1x8x8x64 f32: level 2 24.1, level 3 37.4, level 4 10.8, level 5 12.8, copy 3.2, PyTorch 70.8, PyTorch compile 37.8
//   causal_attention_decode 255+1x9x3x64 f32: level 2 34.7, level 3 38.9, level 4 12.8, level 5 14.3, copy 2.9, PyTorch 59.6, PyTorch compile 40.4
//   causal_attention_decode 255+1x8x8x64 bf16: level 2 25.6, level 3 35.8, level 4 9.7, level 5 12.1, copy 2.9, PyTorch 49.0, PyTorch compile 12.8
//   causal_attention_decode 255+1x9x3x64 bf16: level 2 25.2, level 3 37.6, level 4 13.1, level 5 14.5, copy 2.9, PyTorch 46.3, PyTorch compile 15.3
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
