// Mask and softmax of scores in the accumulators of an mma: level 4's tiles in bf16 and level 5's share them.
#pragma once

#include "common/exp2.cuh"
#include "common/warp.cuh"

// Sets the scores of keys that query g, or g + 8, does not see to −∞: the keys from `visible` on.
template <int N>
__device__ __forceinline__ void mask(float (&s)[N][4], int key, const int (&visible)[2]) {
#pragma unroll
  for (int j = 0; j < N; j++)
#pragma unroll
    for (int e = 0; e < 4; e++)
      if (key + 8 * j + lane_id() % 4 * 2 + e % 2 >= visible[e / 2]) s[j][e] = -INFINITY;
}

// Turns the scores of query g, or of g + 8 with h = 1, into exponentials. m is the maximum so far and l this lane's
// share of the sum of exponentials. Returns the factor that scales earlier accumulators to the new maximum.
template <int N>
__device__ __forceinline__ float online_softmax(float (&s)[N][4], int h, float factor, float &m, float &l) {
  float new_m = s[0][2 * h];
#pragma unroll
  for (int j = 0; j < N; j++) new_m = fmaxf(new_m, fmaxf(s[j][2 * h], s[j][2 * h + 1]));
  new_m = fmaxf(m, warp_max<4>(new_m) * factor);
  float scale = exp2_approx(m - new_m);
  m = new_m;
  l *= scale;
#pragma unroll
  for (int j = 0; j < N; j++)
#pragma unroll
    for (int e = 2 * h; e < 2 * h + 2; e++) {
      s[j][e] = exp2_approx(s[j][e] * factor - new_m);
      l += s[j][e];
    }
  return scale;
}
