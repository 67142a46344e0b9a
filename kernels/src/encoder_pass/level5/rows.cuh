// The rows of x in encoder_pass. x stays in f32 in the registers of the 96 threads that own a pair of tokens, 4 channels of
// both in each.
#pragma once

#include "encoder_pass/level5/exchange.cuh"

// Adds the moments of two groups of n numbers, the sum and the squared deviations from the mean: "Updating formulae and a
// pairwise algorithm for computing sample variances", Chan, Golub and LeVeque 1979.
__device__ __forceinline__ void join_moments(float &sum, float &deviations, int lanes, float n) {
  const float other = __shfl_xor_sync(ALL_LANES, sum, lanes), d = sum - other;
  deviations += __shfl_xor_sync(ALL_LANES, deviations, lanes) + d * d * (.5f / n);
  sum += other;
}

// Four neighbouring channels of two tokens.
struct Rows {
  float x[2][4] = {};
  unsigned slot, i, pair; // of the block's pairs; thread of the pair; pair of the cluster
  bool is_owned;          // whether there is such a pair
  float4 gain = {}, shift = {};

  __device__ explicit Rows(const Block &at)
      : slot(threadIdx.x / (C / 4)), i(threadIdx.x % (C / 4)), pair(at.rank + RANKS * slot), is_owned(pair < PAIRS) {}

  __device__ __forceinline__ void load_norm(const float *gains, const float *shifts) {
    gain = load_vector4(gains + 4 * i), shift = load_vector4(shifts + 4 * i);
  }

  // norm(x), rounded, to all blocks of the cluster. Two uses of one place of the moments are two calls apart.
  __device__ __forceinline__ void send_norm(const Block &at, unsigned place, float eps) const {
    float sum[2], deviations[2];
#pragma unroll
    for (int t = 0; t < 2; t++) {
      sum[t] = x[t][0] + x[t][1] + x[t][2] + x[t][3], deviations[t] = 0;
#pragma unroll
      for (int c = 0; c < 4; c++) {
        float d = x[t][c] - .25f * sum[t];
        deviations[t] += d * d;
      }
    }
#pragma unroll
    for (int lanes = 1; lanes < 32; lanes *= 2)
#pragma unroll
      for (int t = 0; t < 2; t++) join_moments(sum[t], deviations[t], lanes, 4 * lanes);
    const unsigned moments = at.base + Shared::MOMENTS + place * 128 + slot * 64;
    if (at.lane == 0)
      store16_shared(moments + i / 32 * 16, __float_as_uint(sum[0]), __float_as_uint(deviations[0]), __float_as_uint(sum[1]),
                     __float_as_uint(deviations[1]));
    barrier_sync<C / 4>(3 + slot);
    const uint4 of_warp[3] = {load16_shared(moments), load16_shared(moments + 16), load16_shared(moments + 32)};
    unsigned words[2][2];
#pragma unroll
    for (int t = 0; t < 2; t++) {
      float sums[3], mean = 0, variance = 0;
#pragma unroll
      for (int w = 0; w < 3; w++) {
        sums[w] = __uint_as_float(t ? of_warp[w].z : of_warp[w].x);
        variance += __uint_as_float(t ? of_warp[w].w : of_warp[w].y);
        mean += sums[w];
      }
      mean *= 1.f / C;
#pragma unroll
      for (int w = 0; w < 3; w++) {
        float d = sums[w] * (1.f / 128) - mean;
        variance += 128 * d * d;
      }
      const float scale = rsqrtf(variance * (1.f / C) + eps);
      words[t][0] = pack_bf16((x[t][0] - mean) * scale * gain.x + shift.x, (x[t][1] - mean) * scale * gain.y + shift.y);
      words[t][1] = pack_bf16((x[t][2] - mean) * scale * gain.z + shift.z, (x[t][3] - mean) * scale * gain.w + shift.w);
    }
    // Neighbouring lanes swap, so that each has 8 channels of one token.
    const bool odd = at.lane & 1;
    const unsigned a = __shfl_xor_sync(ALL_LANES, odd ? words[0][0] : words[1][0], 1);
    const unsigned b = __shfl_xor_sync(ALL_LANES, odd ? words[0][1] : words[1][1], 1);
    const uint4 row = odd ? make_uint4(a, b, words[1][0], words[1][1]) : make_uint4(words[0][0], words[0][1], a, b);
    const unsigned token = 2 * pair + odd, chunk = i / 2, swizzled = chunk % 8 ^ token % 8;
    const unsigned to = at.base + Shared::NORMED + chunk / 8 * Shared::PANEL + token * 128 + swizzled * 16;
    unsigned rank = at.rank;
#pragma unroll
    for (int r = 0; r < RANKS; r++) { // each block begins elsewhere, and ends with itself
      rank = rank + 1 == RANKS ? 0 : rank + 1;
      store_async(map_rank(to, rank), row, map_rank(at.base + Shared::NORMED_HERE, rank));
    }
  }

  // x += bias + the sums of PARTS blocks, in their order.
  template <int PARTS>
  __device__ __forceinline__ void add(const Block &at, float4 bias) {
    float y[2][4] = {{bias.x, bias.y, bias.z, bias.w}, {bias.x, bias.y, bias.z, bias.w}};
#pragma unroll 6
    for (int part = 0; part < PARTS; part++) {
      const uint4 sums = load16_shared(at.base + Shared::SUMS + (slot * RANKS + part) * Shared::SUMS_PART + i * 16);
      y[0][0] += unpack_low(sums.x), y[1][0] += unpack_high(sums.x);
      y[0][1] += unpack_low(sums.y), y[1][1] += unpack_high(sums.y);
      y[0][2] += unpack_low(sums.z), y[1][2] += unpack_high(sums.z);
      y[0][3] += unpack_low(sums.w), y[1][3] += unpack_high(sums.w);
    }
#pragma unroll
    for (int t = 0; t < 2; t++)
#pragma unroll
      for (int c = 0; c < 4; c++) x[t][c] += y[t][c];
  }
};

// Sends accumulators to the owners of their tokens: those of part number `part` of K, 8 tokens from `first_pair` on per fragment.
// The rows of the weights stand in such an order that a lane has 4 neighbouring channels in two tiles: prepared.rs.
template <int N>
__device__ __forceinline__ void send_sums(const Block &at, const float (&acc)[2][N][4], unsigned first_pair, unsigned part) {
  const unsigned chunk = at.group * 32 + at.quarter * 8 + at.lane / 4;
#pragma unroll
  for (int j = 0; j < N; j++) {
    const unsigned pair = first_pair + 4 * j + at.lane % 4;
    const unsigned slot = pair < RANKS ? 0 : 1, owner = pair < RANKS ? pair : pair - RANKS;
    const uint4 sums = make_uint4(pack_bf16(acc[0][j][0], acc[0][j][1]), pack_bf16(acc[0][j][2], acc[0][j][3]),
                                  pack_bf16(acc[1][j][0], acc[1][j][1]), pack_bf16(acc[1][j][2], acc[1][j][3]));
    const unsigned to = at.base + Shared::SUMS + (slot * RANKS + part) * Shared::SUMS_PART + chunk * 16;
    store_async(map_rank(to, owner), sums, map_rank(at.base + Shared::SUMS_HERE, owner));
  }
}
