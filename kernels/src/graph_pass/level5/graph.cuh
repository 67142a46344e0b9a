// A block of the graph transformer's pass in either dtype: sizes, a thread's place, and what both kernels compute in f32.
#pragma once

#include "common/warp.cuh"

constexpr unsigned NODES = 32, INPUTS = 64, CHANNELS = 128, HIDDEN = 256, HEADS = 4, HEAD_DIM = 32, FEATURES = 16;
constexpr unsigned MAX_EDGES = 448; // of a graph
constexpr unsigned WARPS = 16, THREADS = WARPS * WARP;

// A thread's place in the block.
struct Place {
  unsigned base;              // shared memory's address
  unsigned char *shared;      // the same, as a pointer
  unsigned group, warp, lane; // warpgroup, warp in it, lane

  // The accumulators' channel in a tile of 64 rows of w, and node: acc[j][2·h + i] is of channel(h), node(j, i).
  __device__ unsigned channel(unsigned h) const { return 16 * warp + 8 * h + lane / 4; }
  __device__ unsigned node(unsigned j, unsigned i) const { return 8 * j + 2 * (lane % 4) + i; }
};

// Whether all lanes have a whole batch of edges left.
template <bool VALUE>
struct Full {
  static constexpr bool value = VALUE;
};

__device__ __forceinline__ float rsqrt_approx(float x) {
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// For the norm before attention, 16 lanes per row: v = x − mean of the lane's channels, 4 from `first` and from first + 64
// on. Returns 1/σ.
template <class Block>
__device__ __forceinline__ float centre(const Block &at, unsigned row, unsigned first, float eps, float (&v)[8]) {
  float4 low = *reinterpret_cast<const float4 *>(at.x(row, first));
  float4 high = *reinterpret_cast<const float4 *>(at.x(row, first + 64));
  // The sums are those of differences from the row's first element: as exact as a second pass over them.
  const float pivot = *at.x(row, 0), x[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
  float squared[8];
#pragma unroll
  for (int i = 0; i < 8; i++) v[i] = x[i] - pivot, squared[i] = v[i] * v[i];
  auto sum = [](const float(&x)[8]) { return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7])); };
  float total = sum(v), squares = sum(squared);
#pragma unroll
  for (int d = 8; d > 0; d /= 2) {
    total += __shfl_xor_sync(ALL_LANES, total, d);
    squares += __shfl_xor_sync(ALL_LANES, squares, d);
  }
  const float mean = total * (1.f / CHANNELS), variance = fmaxf(squares * (1.f / CHANNELS) - mean * mean, 0.f);
  const float scale = rsqrt_approx(variance + eps);
#pragma unroll
  for (int i = 0; i < 8; i++) v[i] -= mean;
  return scale;
}

// For the norm after attention: writes the sum and the squared deviations of a head of a node. Four lanes have 8 channels y
// each, with this sum. Two groups of n numbers with sums s and t have together the squared deviations of each, and
// (s − t)²/2n: nothing is lost, however far the mean is from 0.
__device__ __forceinline__ void write_moments(float2 *moments, unsigned lane, const float (&y)[8], float sum) {
  float deviations = 0.f;
#pragma unroll
  for (int i = 0; i < 8; i++) deviations += (y[i] - sum * .125f) * (y[i] - sum * .125f);
#pragma unroll
  for (int d = 1; d <= 2; d *= 2) {
    float other = __shfl_xor_sync(ALL_LANES, sum, d), difference = sum - other;
    deviations += __shfl_xor_sync(ALL_LANES, deviations, d) + difference * difference * (1.f / (16 * d));
    sum += other;
  }
  if (lane % 4 == 0) *moments = make_float2(sum, deviations);
}

// Mean and 1/σ of a node from the moments of its heads.
__device__ __forceinline__ float2 read_moments(const float2 *moments, float eps) {
  const float4 one = reinterpret_cast<const float4 *>(moments)[0], two = reinterpret_cast<const float4 *>(moments)[1];
  const float mean = ((one.x + one.z) + (two.x + two.z)) * (1.f / CHANNELS);
  auto squared = [&](float sum) { float d = sum * (1.f / HEAD_DIM) - mean; return d * d; };
  const float variance = ((one.y + one.w) + (two.y + two.w)) * (1.f / CHANNELS) +
                         ((squared(one.x) + squared(one.z)) + (squared(two.x) + squared(two.z))) * (1.f / HEADS);
  return make_float2(mean, rsqrt_approx(variance + eps));
}

// The sum of x over the graph's nodes, a quarter of them per warpgroup: this thread's of the (4, channels).
template <class Block>
__device__ __forceinline__ float sum_nodes(const Block &at, unsigned nodes) {
  unsigned c = threadIdx.x % CHANNELS;
  float sum = 0.f;
#pragma unroll
  for (unsigned i = 0; i < NODES / 4; i++) {
    unsigned node = NODES / 4 * at.group + i;
    float value = *at.x(node, c);
    sum += node < nodes ? value : 0.f;
  }
  return sum;
}

// A warp computes a class's logit without the bias: the mean of the nodes from these sums, its norm, and a row of the head.
// A lane has 4 channels from `first` on.
__device__ __forceinline__ float logit(const float *sums, unsigned first, unsigned nodes, float eps,
                                       const float4 &norm_w, const float4 &norm_b, const float4 &head) {
  float v[4] = {}, total = 0.f, squares = 0.f;
  for (int part = 0; part < 4; part++) {
    float4 s = *reinterpret_cast<const float4 *>(sums + part * CHANNELS + first);
    v[0] += s.x, v[1] += s.y, v[2] += s.z, v[3] += s.w;
  }
  float inverse = nodes > 0 ? 1.f / nodes : 0.f;
#pragma unroll
  for (int i = 0; i < 4; i++) v[i] *= inverse, total += v[i];
  float mean = warp_sum(total) * (1.f / CHANNELS);
#pragma unroll
  for (int i = 0; i < 4; i++) v[i] -= mean, squares += v[i] * v[i];
  float scale = rsqrtf(warp_sum(squares) * (1.f / CHANNELS) + eps);
  float y = (v[0] * scale * norm_w.x + norm_b.x) * head.x + (v[1] * scale * norm_w.y + norm_b.y) * head.y +
            (v[2] * scale * norm_w.z + norm_b.z) * head.z + (v[3] * scale * norm_w.w + norm_b.w) * head.w;
  return warp_sum(y);
}
