// What level4.cu, whose header says why, and level5.cu have in common.
#pragma once

#include "common/vector.cuh"

// What the kernel reads and writes.
template <typename T>
struct Operands {
  const T *q, *k, *v, *cos, *sin;
  T *y, *keys, *values;
  // Elements from one sequence, and from one token, to the next.
  unsigned q_batch, q_token, kv_batch, kv_token;
  unsigned heads, kv_heads, half, capacity, position;
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
__device__ __forceinline__ void rotate(const T *x, T *y, unsigned half, const Vector<N> &cos, const Vector<N> &sin) {
  Vector<N> x1 = load<N>(x), x2 = load<N>(x + half), y1, y2;
#pragma unroll
  for (int i = 0; i < N; i++) {
    y1.x[i] = x1.x[i] * cos.x[i] - x2.x[i] * sin.x[i];
    y2.x[i] = x2.x[i] * cos.x[i] + x1.x[i] * sin.x[i];
  }
  store<N>(y, y1);
  store<N>(y + half, y2);
}

// The channels i..i + N and i + D/2.. of the heads y, y + blockDim.y, … of this block's token.
template <int N, typename T>
__device__ __forceinline__ void rotate_heads(const Operands<T> &o, unsigned i) {
  size_t t = blockIdx.x, b = blockIdx.y, tokens = gridDim.x, d = 2 * o.half;
  Vector<N> cos = load<N>(o.cos + t * o.half + i), sin = load<N>(o.sin + t * o.half + i);
  for (unsigned head = threadIdx.y; head < o.heads + o.kv_heads; head += blockDim.y) {
    if (head < o.heads) {
      size_t from = b * o.q_batch + t * o.q_token + head * d + i;
      size_t to = ((b * tokens + t) * o.heads + head) * d + i;
      rotate(o.q + from, o.y + to, o.half, cos, sin);
    } else {
      unsigned kv_head = head - o.heads;
      size_t from = b * o.kv_batch + t * o.kv_token + kv_head * d + i;
      size_t to = ((b * o.kv_heads + kv_head) * o.capacity + o.position + t) * d + i;
      rotate(o.k + from, o.keys + to, o.half, cos, sin);
      store<N>(o.values + to, load<N>(o.v + from));
      store<N>(o.values + to + o.half, load<N>(o.v + from + o.half));
    }
  }
}

template <typename T>
__device__ __forceinline__ void rope_append(const Operands<T> &o) {
  constexpr unsigned N = PER_16_BYTES<T>;
  bool whole = (o.half | o.q_batch | o.q_token | o.kv_batch | o.kv_token) % N == 0;
  whole = whole && aligned(o.q) && aligned(o.k) && aligned(o.v) && aligned(o.cos) && aligned(o.sin);
  if (whole)
    for (unsigned i = threadIdx.x * N; i < o.half; i += blockDim.x * N) rotate_heads<N>(o, i);
  else
    for (unsigned i = threadIdx.x; i < o.half; i += blockDim.x) rotate_heads<1>(o, i);
}
