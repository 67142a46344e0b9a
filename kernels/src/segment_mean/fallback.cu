// Level 4 of segment_mean, for rows that level4.cu cannot take: C is no multiple of 4, or x is not 16-byte aligned.
//
//   y[g][c] = Σᵢ x[i][c] / n,   i from offsets[g] to offsets[g+1], n of them; 0 if n = 0
//
// A lane has one channel, as at level 3. The eight warps of a block take the nodes of a graph in turn, and add their sums
// in shared memory. A long graph is not split over blocks.
//
// Launch: grid (G, ⌈C/32⌉), block 256. Shared memory: 1 KiB.
#include "common/vector.cuh"
#include "common/warp.cuh"

constexpr int WARPS = 8;

// x (N, C), y (G, C).
template <typename T>
__device__ __forceinline__ void mean_of_channels(const T *x, const unsigned *offsets, T *y, int channels) {
  __shared__ float sums[WARPS][WARP];
  const unsigned graph = blockIdx.x, begin = offsets[graph], end = offsets[graph + 1];
  const int warp = threadIdx.x / WARP, lane = lane_id(), channel = blockIdx.y * WARP + lane;
  float sum = 0.f;
#pragma unroll 1
  for (unsigned row = channel < channels ? begin + warp : end; row < end; row += WARPS)
    sum += widen(x[size_t(row) * channels + channel]);
  sums[warp][lane] = sum;
  __syncthreads();
  if (warp > 0 || channel >= channels) return;
  for (int other = 1; other < WARPS; other++) sum += sums[other][lane];
  store(y + size_t(graph) * channels + channel, begin == end ? 0.f : sum / float(end - begin));
}

extern "C" __global__ void __launch_bounds__(WARPS *WARP)
    segment_mean_f32_level4_fallback(const float *x, const unsigned *offsets, float *y, int channels) {
  mean_of_channels(x, offsets, y, channels);
}

extern "C" __global__ void __launch_bounds__(WARPS *WARP)
    segment_mean_bf16_level4_fallback(const bf16 *x, const unsigned *offsets, bf16 *y, int channels) {
  mean_of_channels(x, offsets, y, channels);
}
