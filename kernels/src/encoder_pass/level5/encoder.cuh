// The sizes of the vision transformer `s16`, and the moments of the rows of its x.
#pragma once

#include "common/vector.cuh"
#include "common/warp.cuh"

// Tokens, channels, channels inside the MLP, channels of a head.
constexpr int TOKENS = 197, C = 384, F = 1536, D = 64;

// ANCHOR: moments
// LayerNorm needs mean and variance of each row of x. Who writes x has its elements in registers, so it also writes their
// moments, for each PART of 32 columns: the sum, and the sum of the squared deviations from the mean. Unlike sums of
// squares, these can be added without cancellation: "Updating formulae and a pairwise algorithm for computing sample
// variances", Chan, Golub and LeVeque 1979.
constexpr int PART = 32, PARTS = C / PART;

// The moments of a part. Each of 16 / PAIRS neighbouring lanes has PAIRS pairs of its elements.
template <int PAIRS>
__device__ __forceinline__ float2 moments_of(const unsigned (&pairs)[PAIRS]) {
  float sum = 0, deviations = 0;
#pragma unroll
  for (int i = 0; i < PAIRS; i++) sum += unpack_low(pairs[i]) + unpack_high(pairs[i]);
  const float mean = sum * (.5f / PAIRS);
#pragma unroll
  for (int i = 0; i < PAIRS; i++) {
    float a = unpack_low(pairs[i]) - mean, b = unpack_high(pairs[i]) - mean;
    deviations += a * a + b * b;
  }
#pragma unroll
  for (int lanes = 1; lanes < 16 / PAIRS; lanes *= 2) { // two groups of n elements
    const float n = 2 * PAIRS * lanes, other = __shfl_xor_sync(ALL_LANES, sum, lanes), d = sum - other;
    deviations += __shfl_xor_sync(ALL_LANES, deviations, lanes) + d * d * (.5f / n);
    sum += other;
  }
  return make_float2(sum, deviations);
}
// ANCHOR_END: moments
