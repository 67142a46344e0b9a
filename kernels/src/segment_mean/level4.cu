// segment_mean, level 4: 16 bytes a lane, shuffles, and long graphs split over blocks.
//
//   y[g][c] = Σᵢ x[i][c] / n,   i from offsets[g] to offsets[g+1], n of them; 0 if n = 0
//
// Against level 3. A lane reads four channels at once, so a warp moves 512 bytes of f32 with one
// instruction. With fewer than 128 channels a warp takes several nodes side by side, and its lanes are
// added by shuffles; only the warps of a block meet in shared memory, once. And a graph of many nodes is
// split over blocks: each leaves its sum in memory, and a second launch adds them. Level 3 has ⌈C/32⌉
// blocks for a graph, 4 of 132 multiprocessors for C = 128.
// Prediction: as level 3 on many small graphs, where a launch is all; on one large graph the rate of memory.
//
// Launch: grid (G, ⌈C/(4·lanes)⌉, splits), block 256; `lanes` that share a node, a power of two up to 32.
// Shared memory: 4 KiB. Bytes: (N·C + G·C) elements and the offsets, and 8·G·splits·C with splits.
//
// To be faster: the splits are as many for each graph; one large graph among many small ones has one block.
//
// Measured: segment_mean 4096x128 f32 at 24% of the memory rate on an NVIDIA H200; see kernels/generated/segment_mean/level4.md.

#include "common/vector.cuh"
#include "common/warp.cuh"

constexpr int WARPS = 8;
constexpr int VECTOR = 4; // channels of a lane

__device__ __forceinline__ float4 operator+(float4 a, float4 b) {
  return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

// The elements at p that exist, `count` of them or four, and zeros behind them.
template <typename T>
__device__ __forceinline__ float4 load_up_to_4(const T *p, int count) {
  return make_float4(count > 0 ? widen(p[0]) : 0.f, count > 1 ? widen(p[1]) : 0.f, count > 2 ? widen(p[2]) : 0.f,
                     count > 3 ? widen(p[3]) : 0.f);
}

// Warp 0 gets the sum of rows `begin` to `end` of x over the channels that its first `lanes` lanes hold.
template <typename T>
__device__ float4 sum_rows(const T *__restrict__ x, unsigned begin, unsigned end, int channels, int channel,
                           int lanes) {
  __shared__ float4 sums[WARPS][WARP];
  int warp = threadIdx.x / WARP, lane = lane_id(), count = channels - channel;
  bool whole = channels % VECTOR == 0 && aligned<VECTOR * sizeof(T)>(x);
  unsigned step = WARPS * WARP / lanes;

  float4 sum = make_float4(0.f, 0.f, 0.f, 0.f);
  auto add = [&](unsigned row, auto load) { sum = sum + load(x + size_t(row) * channels + channel); };
  unsigned first = count > 0 ? begin + threadIdx.x / lanes : end;
  if (whole) {
#pragma unroll 8 // eight reads in flight before the first is needed
    for (unsigned row = first; row < end; row += step) add(row, [](const T *p) { return load4(p); });
  } else {
#pragma unroll 1
    for (unsigned row = first; row < end; row += step) add(row, [=](const T *p) { return load_up_to_4(p, count); });
  }

  // Over the nodes that a warp holds side by side, then over the warps.
  for (int d = WARP / 2; d >= lanes; d /= 2) {
    sum.x += __shfl_xor_sync(ALL_LANES, sum.x, d);
    sum.y += __shfl_xor_sync(ALL_LANES, sum.y, d);
    sum.z += __shfl_xor_sync(ALL_LANES, sum.z, d);
    sum.w += __shfl_xor_sync(ALL_LANES, sum.w, d);
  }
  sums[warp][lane] = sum;
  __syncthreads();
  for (int other = 1; other < WARPS && warp == 0; other++) sum = sum + sums[other][lane];
  return sum;
}

// sum·scale to the channels that exist. Lanes of warp 0 that hold the same channels agree; the first writes.
template <typename T>
__device__ void store_row(T *__restrict__ row, float4 sum, float scale, int channels, int channel, int lanes) {
  if (threadIdx.x >= lanes) return;
  float values[VECTOR] = {sum.x * scale, sum.y * scale, sum.z * scale, sum.w * scale};
#pragma unroll
  for (int i = 0; i < VECTOR; i++)
    if (channel + i < channels) store(row + channel + i, values[i]);
}

__device__ __forceinline__ int first_channel(int lanes) {
  return VECTOR * (blockIdx.y * lanes + threadIdx.x % lanes);
}

__device__ __forceinline__ float share(unsigned nodes) { return nodes == 0 ? 0.f : 1.f / float(nodes); }

// One block per graph. x (N, C), y (G, C).
template <typename T>
__device__ void segment_mean(const T *x, const unsigned *offsets, T *y, int channels, int lanes) {
  unsigned graph = blockIdx.x, begin = offsets[graph], end = offsets[graph + 1];
  int channel = first_channel(lanes);
  float4 sum = sum_rows(x, begin, end, channels, channel, lanes);
  store_row(y + size_t(graph) * channels, sum, share(end - begin), channels, channel, lanes);
}

// A block a share of a graph. sums (G, splits, C), in f32.
template <typename T>
__device__ void split(const T *x, const unsigned *offsets, float *sums, int channels, int lanes) {
  unsigned graph = blockIdx.x, first = offsets[graph], nodes = offsets[graph + 1] - first;
  unsigned long long part = blockIdx.z, parts = gridDim.z;
  unsigned begin = first + unsigned(nodes * part / parts), end = first + unsigned(nodes * (part + 1) / parts);
  int channel = first_channel(lanes);
  float4 sum = sum_rows(x, begin, end, channels, channel, lanes);
  store_row(sums + (graph * parts + part) * channels, sum, 1.f, channels, channel, lanes);
}

// A block a graph: the mean from the sums of its shares.
template <typename T>
__device__ void join(const float *sums, const unsigned *offsets, T *y, int splits, int channels, int lanes) {
  unsigned graph = blockIdx.x, begin = graph * splits;
  int channel = first_channel(lanes);
  float4 sum = sum_rows(sums, begin, begin + splits, channels, channel, lanes);
  store_row(y + size_t(graph) * channels, sum, share(offsets[graph + 1] - offsets[graph]), channels, channel, lanes);
}

#define SEGMENT_MEAN(NAME, T)                                                                                          \
  extern "C" __global__ void __launch_bounds__(WARPS *WARP) segment_mean_##NAME##_level4(                              \
      const T *x, const unsigned *offsets, T *y, int channels, int lanes) {                                            \
    segment_mean(x, offsets, y, channels, lanes);                                                                      \
  }                                                                                                                    \
  extern "C" __global__ void __launch_bounds__(WARPS *WARP) segment_mean_split_##NAME##_level4(                        \
      const T *x, const unsigned *offsets, float *sums, int channels, int lanes) {                                     \
    split(x, offsets, sums, channels, lanes);                                                                          \
  }                                                                                                                    \
  extern "C" __global__ void __launch_bounds__(WARPS *WARP) segment_mean_join_##NAME##_level4(                         \
      const float *sums, const unsigned *offsets, T *y, int splits, int channels, int lanes) {                         \
    join(sums, offsets, y, splits, channels, lanes);                                                                   \
  }

SEGMENT_MEAN(f32, float)
SEGMENT_MEAN(bf16, bf16)
