// Level 5 of rope: level 4's kernel, which reads the position from the device's memory.
//
// A recorded launch has to be good for every position: see attention/level5/decode.cu. The angles are the table of all
// positions, not only the rows of these tokens.
//
// Launch: as level4.cu.
//
// Measured on an NVIDIA H200: causal_attention_decode 4096+1x8x8x64 f32 with its other launches at 46% of the memory bandwidth; see kernels/generated/rope/level5.md.
#include "rope/level4.cuh"

// The parameters of tokens that stand at `position` and after; cos and sin begin at position 0.
template <typename T>
__device__ __forceinline__ Params<T> at_position(Params<T> params, const unsigned *position) {
  params.position = *position;
  params.cos += size_t(params.position) * params.half_dim;
  params.sin += size_t(params.position) * params.half_dim;
  return params;
}

#define KERNEL(NAME, T)                                                                                              \
  extern "C" __global__ void __launch_bounds__(256)                                                                  \
      NAME(const T *__restrict__ q, const T *__restrict__ k, const T *__restrict__ v, const T *__restrict__ cos,     \
           const T *__restrict__ sin, T *__restrict__ y, T *__restrict__ keys, T *__restrict__ values,               \
           unsigned q_batch_stride, unsigned q_token_stride, unsigned kv_batch_stride, unsigned kv_token_stride,     \
           unsigned heads, unsigned kv_heads, unsigned half_dim, unsigned capacity,                                  \
           const unsigned *__restrict__ position) {                                                                  \
    Params<T> params{q, k, v, cos, sin, y, keys, values, q_batch_stride, q_token_stride, kv_batch_stride,            \
                     kv_token_stride, heads, kv_heads, half_dim, capacity, 0};                                       \
    rope_append(at_position(params, position));                                                                      \
  }

KERNEL(rope_append_f32_level5, float)
KERNEL(rope_append_bf16_level5, bf16)
