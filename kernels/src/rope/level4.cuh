// The device functions of level4.cu, whose header explains the idea, and of level5.cu.
#pragma once

#include "common/vector.cuh"

// The parameters of the kernels.
template <typename T>
struct Params {
  const T *q, *k, *v, *cos, *sin;
  T *y, *keys, *values;
  // Elements from one sequence, and from one token, to the next.
  unsigned q_batch_stride, q_token_stride, kv_batch_stride, kv_token_stride;
  unsigned heads, kv_heads, half_dim, capacity, position; // half_dim: D/2
};

// N elements: 16 bytes, or one.
template <int N>
struct Vector {
  float x[N];
};

template <int N, typename T>
__device__ __forceinline__ Vector<N> load(const T *p) {
  Vector<N> v;
  if constexpr (N == 1)
    v.x[0] = widen(*p);
  else
    load16(p, v.x);
  return v;
}

template <int N, typename T>
__device__ __forceinline__ void store(T *p, const Vector<N> &v) {
  if constexpr (N == 1)
    store(p, v.x[0]);
  else
    store16(p, v.x);
}

// (x₁, x₂) → (x₁·cos − x₂·sin, x₂·cos + x₁·sin): N channels of one half with those of the other.
template <int N, typename T>
__device__ __forceinline__ void rotate(const T *x, T *y, unsigned half_dim, const Vector<N> &cos,
                                       const Vector<N> &sin) {
  Vector<N> x1 = load<N>(x), x2 = load<N>(x + half_dim), y1, y2;
#pragma unroll
  for (int i = 0; i < N; i++) {
    y1.x[i] = x1.x[i] * cos.x[i] - x2.x[i] * sin.x[i];
    y2.x[i] = x2.x[i] * cos.x[i] + x1.x[i] * sin.x[i];
  }
  store<N>(y, y1);
  store<N>(y + half_dim, y2);
}

// The channels i..i + N and i + D/2.. of the heads y, y + blockDim.y, … of this block's token.
template <int N, typename T>
__device__ __forceinline__ void rotate_heads(const Params<T> &params, unsigned i) {
  size_t t = blockIdx.x, b = blockIdx.y, tokens = gridDim.x, d = 2 * params.half_dim;
  Vector<N> cos = load<N>(params.cos + t * params.half_dim + i), sin = load<N>(params.sin + t * params.half_dim + i);
  for (unsigned head = threadIdx.y; head < params.heads + params.kv_heads; head += blockDim.y) {
    if (head < params.heads) {
      size_t from = b * params.q_batch_stride + t * params.q_token_stride + head * d + i;
      size_t to = ((b * tokens + t) * params.heads + head) * d + i;
      rotate(params.q + from, params.y + to, params.half_dim, cos, sin);
    } else {
      unsigned kv_head = head - params.heads;
      size_t from = b * params.kv_batch_stride + t * params.kv_token_stride + kv_head * d + i;
      size_t to = ((b * params.kv_heads + kv_head) * params.capacity + params.position + t) * d + i;
      rotate(params.k + from, params.keys + to, params.half_dim, cos, sin);
      store<N>(params.values + to, load<N>(params.v + from));
      store<N>(params.values + to + params.half_dim, load<N>(params.v + from + params.half_dim));
    }
  }
}

template <typename T>
__device__ __forceinline__ void rope_append(const Params<T> &params) {
  constexpr unsigned PER_CHUNK = PER_16_BYTES<T>;
  unsigned strides = params.q_batch_stride | params.q_token_stride | params.kv_batch_stride | params.kv_token_stride;
  bool is_aligned = (params.half_dim | strides) % PER_CHUNK == 0 && aligned(params.q) && aligned(params.k);
  is_aligned = is_aligned && aligned(params.v) && aligned(params.cos) && aligned(params.sin);
  if (is_aligned)
    for (unsigned i = threadIdx.x * PER_CHUNK; i < params.half_dim; i += blockDim.x * PER_CHUNK)
      rotate_heads<PER_CHUNK>(params, i);
  else
    for (unsigned i = threadIdx.x; i < params.half_dim; i += blockDim.x) rotate_heads<1>(params, i);
}
