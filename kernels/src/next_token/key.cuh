// A logit and its index as one integer, the key: the maximum of keys is the choice of the most probable token.
//
// The logit's bits are flipped so that they sort as integers. They stand above the index, which is flipped so that of
// equal logits the lowest index has the largest key.
#pragma once

#include "common/warp.cuh"

typedef unsigned long long Key;

// Ascending as integers where the logits ascend, and where they are equal the indices descend. NaN is above all.
__device__ __forceinline__ Key key_of(float x, unsigned i) {
  unsigned bits = __float_as_uint(x + 0.f); // -0 becomes +0
  unsigned ordered = isnan(x) ? ~0u : (bits & 0x80000000u) ? ~bits : bits | 0x80000000u;
  return Key(ordered) << 32 | ~i;
}

__device__ __forceinline__ unsigned index_of(Key key) { return ~unsigned(key); }

__device__ __forceinline__ bool is_nan(Key key) { return unsigned(key >> 32) == ~0u; }

__device__ __forceinline__ Key warp_max(Key key) {
#pragma unroll
  for (int d = WARP / 2; d > 0; d /= 2) key = max(key, __shfl_xor_sync(ALL_LANES, key, d));
  return key;
}
