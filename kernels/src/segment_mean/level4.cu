// Level 4 of segment_mean: 16 bytes per lane in f32 and 8 in bf16, shuffles, and long graphs split over blocks.
//
//   y[g][c] = Σᵢ x[i][c] / n,   i from offsets[g] to offsets[g+1], n of them; 0 if n = 0
//
// Compared with level 3. A lane reads four channels at once, so a warp moves 512 bytes of f32 with one
// instruction. With up to 64 channels a warp reads several nodes at once, and shuffles add their
// lanes; the warps of a block exchange their sums in shared memory once. And a graph of many nodes is
// split over blocks: each writes its sum to memory, and a second launch adds them. Level 3 has ⌈C/32⌉
// blocks for a graph, 4 of 132 SMs for C = 128.
// Prediction: as level 3 on many small graphs, where launch overhead dominates; memory-bound on one large graph.
//
// Launch: grid (G, ⌈C/(4·lanes_per_node)⌉, splits), block 256. lanes_per_node lanes share a node, a power of two up to 32.
// C is a multiple of 4 and x is 16-byte aligned; the host launches fallback.cu for all others.
// Shared memory: 4 KiB. Bytes: (N·C + G·C) elements and the offsets, and 8·G·splits·C with splits.
//
// To be faster: every graph has the same number of splits, so one large graph among many small ones has one block.
//
// Measured on an NVIDIA H200: segment_mean 4096x128 f32 at 24% of the memory bandwidth; see kernels/generated/segment_mean/level4.md.

#include "common/vector.cuh"
#include "common/warp.cuh"

constexpr int WARPS = 8;
constexpr int CHANNELS_PER_LOAD = 4; // channels in one load of a lane

__device__ __forceinline__ float4 operator+(float4 a, float4 b) {
  return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

// The sum of rows `begin` to `end` of x, for the four channels from `channel` on. Warp 0 gets it.
template <typename T>
__device__ float4 sum_rows(const T *__restrict__ x, unsigned begin, unsigned end, int channels, int channel,
                           int lanes_per_node) {
  __shared__ float4 sums[WARPS][WARP];
  int warp = threadIdx.x / WARP, lane = lane_id();
  unsigned step = WARPS * WARP / lanes_per_node;

  float4 sum = make_float4(0.f, 0.f, 0.f, 0.f);
  unsigned first = channel < channels ? begin + threadIdx.x / lanes_per_node : end;
#pragma unroll 8 // eight reads in flight before the first is needed
  for (unsigned row = first; row < end; row += step) sum = sum + load4(x + size_t(row) * channels + channel);

  // Add the nodes that a warp reads at once, then the warps.
  for (int d = WARP / 2; d >= lanes_per_node; d /= 2) {
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

// Writes sum·scale to four channels. Lanes of warp 0 with the same channels have the same sum; the first writes.
template <typename T>
__device__ void store_row(T *__restrict__ row, float4 sum, float scale, int channels, int channel,
                          int lanes_per_node) {
  if (threadIdx.x >= lanes_per_node || channel >= channels) return;
  float values[CHANNELS_PER_LOAD] = {sum.x * scale, sum.y * scale, sum.z * scale, sum.w * scale};
#pragma unroll
  for (int i = 0; i < CHANNELS_PER_LOAD; i++) store(row + channel + i, values[i]);
}

// The first of the four channels of this thread.
__device__ __forceinline__ int first_channel(int lanes_per_node) {
  return CHANNELS_PER_LOAD * (blockIdx.y * lanes_per_node + threadIdx.x % lanes_per_node);
}

// 1 / nodes, and 0 for a graph without nodes.
__device__ __forceinline__ float reciprocal(unsigned nodes) { return nodes == 0 ? 0.f : 1.f / float(nodes); }

// One block per graph. x (N, C), y (G, C).
template <typename T>
__device__ void segment_mean(const T *x, const unsigned *offsets, T *y, int channels, int lanes_per_node) {
  unsigned graph = blockIdx.x, begin = offsets[graph], end = offsets[graph + 1];
  int channel = first_channel(lanes_per_node);
  float4 sum = sum_rows(x, begin, end, channels, channel, lanes_per_node);
  store_row(y + size_t(graph) * channels, sum, reciprocal(end - begin), channels, channel, lanes_per_node);
}

// One block per split of a graph: the sum of its nodes. sums (G, splits, C), in f32.
template <typename T>
__device__ void sum_split(const T *x, const unsigned *offsets, float *sums, int channels, int lanes_per_node) {
  unsigned graph = blockIdx.x, first = offsets[graph], nodes = offsets[graph + 1] - first;
  unsigned long long part = blockIdx.z, parts = gridDim.z;
  unsigned begin = first + unsigned(nodes * part / parts), end = first + unsigned(nodes * (part + 1) / parts);
  int channel = first_channel(lanes_per_node);
  float4 sum = sum_rows(x, begin, end, channels, channel, lanes_per_node);
  store_row(sums + (graph * parts + part) * channels, sum, 1.f, channels, channel, lanes_per_node);
}

// One block per graph: the mean from the sums of its splits.
template <typename T>
__device__ void mean_of_splits(const float *sums, const unsigned *offsets, T *y, int splits, int channels,
                               int lanes_per_node) {
  unsigned graph = blockIdx.x, begin = graph * splits;
  int channel = first_channel(lanes_per_node);
  float4 sum = sum_rows(sums, begin, begin + splits, channels, channel, lanes_per_node);
  const unsigned nodes = offsets[graph + 1] - offsets[graph];
  store_row(y + size_t(graph) * channels, sum, reciprocal(nodes), channels, channel, lanes_per_node);
}

#define SEGMENT_MEAN(NAME, T)                                                                                          \
  extern "C" __global__ void __launch_bounds__(WARPS *WARP)                                                            \
      NAME(const T *x, const unsigned *offsets, T *y, int channels, int lanes_per_node) {                              \
    segment_mean(x, offsets, y, channels, lanes_per_node);                                                             \
  }
#define SPLIT(NAME, T)                                                                                                 \
  extern "C" __global__ void __launch_bounds__(WARPS *WARP)                                                            \
      NAME(const T *x, const unsigned *offsets, float *sums, int channels, int lanes_per_node) {                       \
    sum_split(x, offsets, sums, channels, lanes_per_node);                                                             \
  }
#define JOIN(NAME, T)                                                                                                  \
  extern "C" __global__ void __launch_bounds__(WARPS *WARP)                                                            \
      NAME(const float *sums, const unsigned *offsets, T *y, int splits, int channels, int lanes_per_node) {           \
    mean_of_splits(sums, offsets, y, splits, channels, lanes_per_node);                                                \
  }

SEGMENT_MEAN(segment_mean_f32_level4, float)
SPLIT(segment_mean_split_f32_level4, float)
JOIN(segment_mean_join_f32_level4, float)
SEGMENT_MEAN(segment_mean_bf16_level4, bf16)
SPLIT(segment_mean_split_bf16_level4, bf16)
JOIN(segment_mean_join_bf16_level4, bf16)
