// The parameters of every attention kernel, in the order of Params::arguments in params.rs.
#pragma once

#include "common/exp2.cuh"
#include "common/vector.cuh"
#include "common/warp.cuh"

template <typename T>
struct Params {
  const T *q, *k, *v;
  unsigned q_batch, q_token;            // elements of q from one sequence to the next, and from one token to the next
  unsigned kv_batch, kv_token, kv_head; // the same of k and v, and from one head to the next
  unsigned queries, keys;               // T and S
  unsigned seen;                        // keys that query 0 sees; each later query sees one more
  unsigned heads, group, head_dim;      // H, H/Hkv and D
  float scale;                          // 1/√D
  T *y;                                 // (B, T, H·D)

  // The first channel of query t of a head.
  __device__ __forceinline__ const T *query(size_t batch, size_t t, size_t head) const {
    return q + batch * q_batch + t * q_token + head * head_dim;
  }
  // Elements from k to the first key of a head, and from v to its first value.
  __device__ __forceinline__ size_t kv(size_t batch, size_t kv_head) const {
    return batch * kv_batch + kv_head * this->kv_head;
  }
  // Number of keys that query t sees.
  __device__ __forceinline__ int visible(int t) const { return min(keys, seen + t); }
  // The first channel of the result of query t of a head.
  __device__ __forceinline__ T *result(size_t batch, size_t t, size_t head) const {
    return y + ((batch * queries + t) * heads + head) * head_dim;
  }
  // Whether every row of q, k, v and y can be read and written 16 bytes at a time.
  __device__ __forceinline__ bool whole() const {
    unsigned steps = q_batch | q_token | kv_batch | kv_token | kv_head | head_dim;
    return steps % PER_16_BYTES<T> == 0 && aligned(q) && aligned(k) && aligned(v);
  }
};

// The parameter list of a kernel, and the Params that it makes of them.
#define PARAMS(T)                                                                                                    \
  const T *q, const T *k, const T *v, unsigned q_batch, unsigned q_token, unsigned kv_batch, unsigned kv_token,      \
      unsigned kv_head, unsigned queries, unsigned keys, unsigned seen, unsigned heads, unsigned group,              \
      unsigned head_dim, float scale, T *y

#define MAKE_PARAMS(T)                                                                                               \
  Params<T> {                                                                                                        \
    q, k, v, q_batch, q_token, kv_batch, kv_token, kv_head, queries, keys, seen, heads, group, head_dim, scale, y    \
  }

// eˣ = 2^(x·log₂e): the scale of the scores includes this factor, so that the exponentials are powers of 2.
constexpr float LOG2_E = 1.4426950408889634f;
