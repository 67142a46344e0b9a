// Level 5: level 4's kernel, told the position by memory.
//
// See attention/level5/decode.cu: a recorded launch has to be good for every position. The angles come as the
// table of all positions, in place of the rows of these tokens.
//
// Launch: as level4.cu.
//
// Measured: causal_attention_decode 255+1x8x8x64 f32 at 5% of the memory rate on an NVIDIA H200; see kernels/generated/rope/level5.md.
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
