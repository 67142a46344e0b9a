// The parameters that most attention kernels begin with, in the order of Params::arguments in params.rs.
#pragma once

#include "common/exp2.cuh"
#include "common/vector.cuh"
#include "common/warp.cuh"

template <typename T>
struct Params {
  const T *q, *k, *v;
  unsigned q_batch_stride, q_token_stride;   // elements of q from one sequence, and from one token, to the next
  unsigned kv_batch_stride, kv_token_stride; // the same of k and of v
  unsigned kv_head_stride;                   // elements of k, and of v, from one head to the next
  unsigned queries, keys;                    // T and S
  unsigned visible_to_first;                 // keys that query 0 sees; each later query sees one more
  unsigned heads, heads_of_key, head_dim;    // H, H/Hkv (query heads that read one key head) and D
  float scale;                               // 1/√D
  T *y;                                      // (B, T, H·D)

  // The first channel of query t of a head.
  __device__ __forceinline__ const T *query(size_t batch, size_t t, size_t head) const {
    return q + batch * q_batch_stride + t * q_token_stride + head * head_dim;
  }
  // Elements from k to the first key of a head, and from v to its first value.
  __device__ __forceinline__ size_t kv_offset(size_t batch, size_t kv_head) const {
    return batch * kv_batch_stride + kv_head * kv_head_stride;
  }
  // Number of keys that query t sees.
  __device__ __forceinline__ int visible_to(int t) const { return min(keys, visible_to_first + t); }
  // The first channel of the result of query t of a head.
  __device__ __forceinline__ T *result(size_t batch, size_t t, size_t head) const {
    return y + ((batch * queries + t) * heads + head) * head_dim;
  }
  // Whether every row of q, k and v is 16-byte aligned. Rows of y are too, then: its memory is a tensor of its own.
  __device__ __forceinline__ bool is_aligned() const {
    unsigned strides = q_batch_stride | q_token_stride | kv_batch_stride | kv_token_stride | kv_head_stride;
    return (strides | head_dim) % PER_16_BYTES<T> == 0 && aligned(q) && aligned(k) && aligned(v);
  }
};

// The parameter list of a kernel, and the Params that it makes of them.
#define PARAMS(T)                                                                                                    \
  const T *q, const T *k, const T *v, unsigned q_batch_stride, unsigned q_token_stride, unsigned kv_batch_stride,    \
      unsigned kv_token_stride, unsigned kv_head_stride, unsigned queries, unsigned keys, unsigned visible_to_first, \
      unsigned heads, unsigned heads_of_key, unsigned head_dim, float scale, T *y

#define MAKE_PARAMS(T)                                                                                               \
  Params<T> {                                                                                                        \
    q, k, v, q_batch_stride, q_token_stride, kv_batch_stride, kv_token_stride, kv_head_stride, queries, keys,        \
        visible_to_first, heads, heads_of_key, head_dim, scale, y                                                    \
  }

// eˣ = 2^(x·log₂e): the scale of the scores includes this factor, so that the exponentials are powers of 2.
constexpr float LOG2_E = 1.4426950408889634f;

// 2^(score − m). A score of −∞ stands for no key and has the weight 0, also where m is −∞ and the difference NaN.
__device__ __forceinline__ float softmax_weight(float score, float m) {
  return score == -INFINITY ? 0.f : exp2_approx(score - m);
}
