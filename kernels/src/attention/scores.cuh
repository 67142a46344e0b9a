// Scores of a tile on tensor cores, as the result of an mma has them: what level 4 in bf16 and level 5 share.
#pragma once

#include "common/exp2.cuh"
#include "common/warp.cuh"

// Keys from `visible` on get no weight: those that query g, or g + 8, does not see.
template <int N>
__device__ __forceinline__ void mask(float (&s)[N][4], int key, const int (&visible)[2]) {
#pragma unroll
  for (int j = 0; j < N; j++)
#pragma unroll
    for (int e = 0; e < 4; e++)
      if (key + 8 * j + lane_id() % 4 * 2 + e % 2 >= visible[e / 2]) s[j][e] = -INFINITY;
}

// Scores of query g, or g + 8 with h = 1, become exponentials; m is the greatest so far, l this lane's share of the
// sum. What came before has to be scaled by what is returned, to the new maximum.
template <int N>
__device__ __forceinline__ float online_softmax(float (&s)[N][4], int h, float factor, float &m, float &l) {
  float most = s[0][2 * h];
#pragma unroll
  for (int j = 0; j < N; j++) most = fmaxf(most, fmaxf(s[j][2 * h], s[j][2 * h + 1]));
  most = fmaxf(m, warp_max<4>(most) * factor);
  float scale = exp2_approx(m - most);
  m = most;
  l *= scale;
#pragma unroll
  for (int j = 0; j < N; j++)
#pragma unroll
    for (int e = 2 * h; e < 2 * h + 2; e++) {
      s[j][e] = exp2_approx(s[j][e] * factor - most);
      l += s[j][e];
    }
  return scale;
}
