// The attention of a block of encoder_pass: 16 queries of a head, a warp with the 32 keys of each cluster.
//
// k and v come through global memory, as fragments for `mma`. There is no flag: a warp reads them until none is NONE, so that
// what it waits for is what it needs. All loads of k and v are in flight together.
#pragma once

#include "common/exp2.cuh"
#include "encoder_pass/level5/exchange.cuh"

// 32 keys, or values, of a head: four groups of 16 channels by two of 16 tokens.
using Fragments = uint4[4][2];

__device__ __forceinline__ void load_fragments(Fragments &x, const uint4 *from) {
#pragma unroll
  for (int a = 0; a < 4; a++)
#pragma unroll
    for (int b = 0; b < 2; b++) x[a][b] = load_shared_by_all(from + (a * 2 + b) * 32);
}

// Whether a lane of the warp misses some.
__device__ __forceinline__ bool are_missing(const Fragments &x) {
  unsigned most = 0;
#pragma unroll
  for (int a = 0; a < 4; a++)
#pragma unroll
    for (int b = 0; b < 2; b++) most = max(most, largest(x[a][b]));
  return __any_sync(ALL_LANES, most == NONE);
}

// exp(q·kᵀ/√D − m)·v of the keys of cluster `warp`, with m and the sum of the exponentials, to shared memory. `kv` is that of
// the head.
__device__ __forceinline__ void attend(const Block &at, const uint4 *kv) {
  const uint4 *from = kv + at.warp * 2 * KV_BLOCK + at.lane;
  Fragments k, v;
  long long start = 0;
  while (true) {
    load_fragments(k, from);
    load_fragments(v, from + KV_BLOCK);
    if (!are_missing(k)) break;
    check_time(start);
  }
  const unsigned c = at.lane % 4;
  float scores[4][4] = {}, m[2] = {-3e38f, -3e38f}, sum[2] = {}, o[8][4] = {};
#pragma unroll
  for (int a = 0; a < 4; a++) {
    const uint4 q = load16_shared(at.base + Shared::QUERIES + a * 512 + at.lane * 16);
    const unsigned of_q[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
    for (int t = 0; t < 4; t++) {
      const uint4 of_k = k[a][t / 2];
      if (t % 2) mma(scores[t], of_q, of_k.z, of_k.w);
      else mma(scores[t], of_q, of_k.x, of_k.y);
    }
  }
  constexpr float FACTOR = 0.125f * 1.44269504f; // log₂(e)/√D
#pragma unroll
  for (int t = 0; t < 4; t++)
#pragma unroll
    for (int e = 0; e < 4; e++) {
      if (at.warp * ROWS + 8 * t + 2 * c + e % 2 >= TOKENS) scores[t][e] = -3e38f;
      m[e / 2] = fmaxf(m[e / 2], scores[t][e]);
    }
#pragma unroll
  for (int h = 0; h < 2; h++) m[h] = warp_max<4>(m[h]) * FACTOR;
#pragma unroll
  for (int t = 0; t < 4; t++)
#pragma unroll
    for (int e = 0; e < 4; e++) {
      scores[t][e] = exp2_approx(scores[t][e] * FACTOR - m[e / 2]);
      sum[e / 2] += scores[t][e];
    }
  while (are_missing(v)) {
    load_fragments(v, from + KV_BLOCK);
    check_time(start);
  }
#pragma unroll
  for (int t = 0; t < 2; t++) {
    const unsigned p[4] = {pack_bf16(scores[2 * t][0], scores[2 * t][1]), pack_bf16(scores[2 * t][2], scores[2 * t][3]),
                           pack_bf16(scores[2 * t + 1][0], scores[2 * t + 1][1]),
                           pack_bf16(scores[2 * t + 1][2], scores[2 * t + 1][3])};
#pragma unroll
    for (int a = 0; a < 4; a++) {
      mma(o[2 * a], p, v[a][t].x, v[a][t].z);
      mma(o[2 * a + 1], p, v[a][t].y, v[a][t].w);
    }
  }
#pragma unroll
  for (int h = 0; h < 2; h++) sum[h] = warp_sum<4>(sum[h]);
  const unsigned to = at.base + Shared::PARTS + at.warp * Shared::PARTS_WARP + at.lane / 4 * Shared::PARTS_PITCH + c * 8;
#pragma unroll
  for (int a = 0; a < 8; a++) {
    store8_shared(to + a * 32, __float_as_uint(o[a][0]), __float_as_uint(o[a][1]));
    store8_shared(to + a * 32 + 8 * Shared::PARTS_PITCH, __float_as_uint(o[a][2]), __float_as_uint(o[a][3]));
  }
  if (c < 2)
    store8_shared(at.base + Shared::SOFTMAX + (at.warp * 16 + at.lane / 4 + 8 * c) * 8, __float_as_uint(c ? m[1] : m[0]),
                  __float_as_uint(c ? sum[1] : sum[0]));
}

// Joins the clusters' parts to 16 rows of the head. 256 threads have 4 channels of a row each.
__device__ __forceinline__ void join_parts(const Block &at, const unsigned char *shared) {
  const unsigned row = threadIdx.x / 16, c = threadIdx.x % 16;
  float scales[CLUSTERS], sums[CLUSTERS], most = -3e38f, total = 0;
#pragma unroll
  for (int w = 0; w < CLUSTERS; w++) {
    const float2 part = *reinterpret_cast<const float2 *>(shared + Shared::SOFTMAX + (w * 16 + row) * 8);
    scales[w] = part.x, sums[w] = part.y, most = fmaxf(most, part.x);
  }
#pragma unroll
  for (int w = 0; w < CLUSTERS; w++) {
    scales[w] = exp2_approx(scales[w] - most);
    total += sums[w] * scales[w];
  }
  float4 o = {};
#pragma unroll
  for (int w = 0; w < CLUSTERS; w++) {
    const unsigned from = Shared::PARTS + w * Shared::PARTS_WARP + row * Shared::PARTS_PITCH + c * 16;
    const float4 part = *reinterpret_cast<const float4 *>(shared + from);
    o.x += part.x * scales[w], o.y += part.y * scales[w], o.z += part.z * scales[w], o.w += part.w * scales[w];
  }
  total = 1.f / total;
  store8_shared(at.base + Shared::ATTENDED + row * 128 + (c / 2 ^ row % 8) * 16 + c % 2 * 8,
                pack_bf16(o.x * total, o.y * total), pack_bf16(o.z * total, o.w * total));
  fence_proxy_async();
}
