// Shared by both kernels of a block of the language model: a cluster of C blocks for one token.
//
// A kernel reads x and the partial sums that the clusters of the launch before have left (the first, a row of the embedding), adds
// them, and leaves partial sums of its own. Everything is in f32, and added in the order of the clusters: the bits are the same in
// each run. Two pairs of x and partial sums take turns, so that no launch writes what another one still reads.
#pragma once

#include "common/activation.cuh"
#include "common/hopper.cuh"
#include "common/overlap.cuh"
#include "common/warp.cuh"

// Blocks of a cluster, warps and threads of a block, channels of a head, channels inside the MLP, clusters of mlp.cu.
constexpr int C = 4, WARPS = 12, THREADS = WARPS * WARP, D = 64, F = 1536, MLP_CLUSTERS = 16;

// Whether a gain, and keys and values, are copied to shared memory: in f32 there are too few registers for them next to the
// weights, which take twice as many as in bf16. The copies (cp.async) take none.
template <class E>
constexpr bool COPIES = sizeof(E) == 4;

// x of the launch before, with its partial sums, and this launch's: (H), (clusters, H).
struct Sums {
  const float *x, *parts;
  float *x_out, *parts_out;
};

// Writes 16 bytes to the place of `to` in the block of this rank.
__device__ __forceinline__ void send(float *to, unsigned rank, float4 v, unsigned barrier) {
  const uint4 bits = {__float_as_uint(v.x), __float_as_uint(v.y), __float_as_uint(v.z), __float_as_uint(v.w)};
  store_async(map_rank(shared_address(to), rank), bits, map_rank(barrier, rank));
}

// One thread makes a barrier for one phase, in which `bytes` come from the blocks of the cluster.
__device__ __forceinline__ void expect(unsigned barrier, unsigned bytes) {
  mbarrier_init(barrier, 1);
  mbarrier_arrive_expect_tx(barrier, bytes);
}

// Waits until they are there, and can be read.
__device__ __forceinline__ void await(unsigned barrier) {
  __syncwarp();
  mbarrier_wait_cluster(barrier, 0);
}

// The elements of 16 bytes in f32. One instruction per element also in PTX, where a move for each would be a tenth of the text.
__device__ __forceinline__ void unpack(uint4 v, float (&x)[8]) {
  const unsigned pairs[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (int i = 0; i < 4; i++) {
    asm("shl.b32 %0, %1, 16;" : "=f"(x[2 * i]) : "r"(pairs[i]));
    asm("and.b32 %0, %1, 0xffff0000;" : "=f"(x[2 * i + 1]) : "r"(pairs[i]));
  }
}
__device__ __forceinline__ void unpack(uint4 v, float (&x)[4]) { unpack16<float>(v, x); }

// __shfl_xor_sync and warp_sum, without the moves to registers of words.
__device__ __forceinline__ float of_lane_xor(float x, int d) {
  float other;
  asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, -1;" : "=f"(other) : "f"(x), "r"(d));
  return other;
}
template <int WIDTH = WARP>
__device__ __forceinline__ float sum_lanes(float x) {
#pragma unroll
  for (int d = WIDTH / 2; d > 0; d /= 2) x += of_lane_xor(x, d);
  return x;
}

// Loads 16 bytes where it stands.
__device__ __forceinline__ uint4 load16_here(const void *p) {
  uint4 v;
  asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
  return v;
}

// N floats of shared memory, 4 of them at p, the next 4 at `next`.
__device__ __forceinline__ void load_floats(const float *p, const float *next, float (&v)[8]) {
  const float4 a = *reinterpret_cast<const float4 *>(p), b = *reinterpret_cast<const float4 *>(next);
  v[0] = a.x, v[1] = a.y, v[2] = a.z, v[3] = a.w, v[4] = b.x, v[5] = b.y, v[6] = b.z, v[7] = b.w;
}
__device__ __forceinline__ void load_floats(const float *p, const float *, float (&v)[4]) {
  const float4 a = *reinterpret_cast<const float4 *>(p);
  v[0] = a.x, v[1] = a.y, v[2] = a.z, v[3] = a.w;
}

// Loads 8 bytes where it stands.
__device__ __forceinline__ float2 load2_at_once(const float *p) {
  float2 v;
  asm volatile("ld.volatile.global.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "l"(p));
  return v;
}

// Columns c and c + 1 of x plus N partial sums, all N + 1 loads in flight.
template <int N>
__device__ __forceinline__ float2 sum_of_parts(const Sums &p, int c, int h) {
  float2 v[N + 1];
  v[0] = load2_at_once(p.x + c);
#pragma unroll
  for (int i = 0; i < N; i++) v[i + 1] = load2_at_once(p.parts + i * h + c);
#pragma unroll
  for (int i = 1; i <= N; i++) v[0].x += v[i].x, v[0].y += v[i].y;
  return v[0];
}

// Where column c of x lies in shared memory: columns 0 to 3 of all chunks of 8, then columns 4 to 7, so that neighbouring lanes
// read neighbouring 16 bytes. In f32 a lane has chunks of 4.
template <class E, int H>
__device__ __forceinline__ int place(int c) {
  if constexpr (PER_16_BYTES<E> == 4) return c;
  return (c >> 2 & 1) * (H / 2) + (c >> 3) * 4 + (c & 3);
}

// The launch's x in each block, from `pair(c)`: columns c and c + 1. The first cluster writes it for the next launch, a quarter
// per block. Also waits for copies of this kernel, whose bytes all threads can read then.
template <class E, int H, class Pair>
__device__ __forceinline__ void take_x(const Sums &p, float *x, unsigned cluster, unsigned rank, Pair pair) {
  const int c = threadIdx.x * 2;
  if (c < H) {
    const float2 v = pair(c);
    *reinterpret_cast<float2 *>(x + place<E, H>(c)) = v;
    if (cluster == 0 && c / (H / C) == rank) *reinterpret_cast<float2 *>(p.x_out + c) = v;
  }
  if constexpr (COPIES<E>) copy_wait<0>();
  __syncthreads();
}

// A warp's ROWS rows of a weight with H columns, and the norm's gain: requested before x is there.
template <class E, int H, int ROWS>
struct Rows {
  static constexpr int N = PER_16_BYTES<E>, CHUNKS = (H / N + WARP - 1) / WARP;
  uint4 w[ROWS][CHUNKS], gain[CHUNKS];

  // `row(j)` is the row of w that is the warp's j-th. f32 copies the gain to `copy` (H).
  template <class Row>
  __device__ __forceinline__ void load(const E *from, const E *gains, float *copy, Row row) {
#pragma unroll
    for (int j = 0; j < ROWS; j++)
#pragma unroll
      for (int c = 0; c < CHUNKS; c++) w[j][c] = load16_here(from + size_t(row(j)) * H + column(c));
    if constexpr (COPIES<E>) {
      const int t = threadIdx.x * N;
      if (t < H) copy16(shared_address(copy + t), gains + t, true);
    } else {
#pragma unroll
      for (int c = 0; c < CHUNKS; c++) gain[c] = load16_here(gains + column(c));
    }
  }

  // Their products with norm(x); all lanes get them. The norm is a factor: x² is added on the way.
  __device__ __forceinline__ void times_norm(const float *x, const float *copy, float eps, float (&dots)[ROWS]) const {
    float squares = 0.f;
#pragma unroll
    for (int j = 0; j < ROWS; j++) dots[j] = 0.f;
#pragma unroll
    for (int c = 0; c < CHUNKS; c++) {
      const bool inside = (c + 1) * WARP <= H / N || lane_id() < LAST;
      const float *at = x + column(c) / N * 4;
      float h[N], gains[N];
      load_floats(at, at + H / 2, h);
      if constexpr (COPIES<E>) load_floats(copy + column(c), nullptr, gains);
      else unpack(gain[c], gains);
#pragma unroll
      for (int v = 0; v < N; v++) h[v] = inside ? h[v] : 0.f, squares += h[v] * h[v], h[v] *= gains[v];
#pragma unroll
      for (int j = 0; j < ROWS; j++) {
        float weight[N];
        unpack(w[j][c], weight);
#pragma unroll
        for (int v = 0; v < N; v++) dots[j] += h[v] * weight[v];
      }
    }
    const float scale = rsqrtf(sum_lanes(squares) * (1.f / H) + eps);
#pragma unroll
    for (int j = 0; j < ROWS; j++) dots[j] = sum_lanes(dots[j]) * scale;
  }

 private:
  static constexpr int LAST = H / N % WARP; // lanes with a part of the last chunk, if not all; the others load one of theirs

  __device__ __forceinline__ int column(int c) const {
    return (c * WARP + ((c + 1) * WARP <= H / N ? lane_id() : lane_id() % (LAST ? LAST : WARP))) * N;
  }
};

// This block's `count` values to their place in all blocks, 16 bytes per thread.
__device__ __forceinline__ void all_gather(const float *mine, float *all, int count, unsigned rank, unsigned barrier) {
  __syncthreads();
  const int t = threadIdx.x;
  if (t < count) send(all + rank * count + t / C * 4, t % C, reinterpret_cast<const float4 *>(mine)[t / C], barrier);
  await(barrier);
}

// The block's part of the last matmul: H / C rows of w, and G · CHUNKS · N of its columns. G lanes share a row.
template <class E, int H, int G, int CHUNKS>
struct Slice {
  static constexpr int N = PER_16_BYTES<E>;
  static constexpr int ROWS = H / C, PER_PASS = WARPS * (WARP / G), PASSES = (ROWS + PER_PASS - 1) / PER_PASS;
  uint4 w[PASSES][CHUNKS];

  __device__ __forceinline__ void load(const E *from, unsigned stride) {
#pragma unroll
    for (int i = 0; i < PASSES; i++)
#pragma unroll
      for (int c = 0; c < CHUNKS; c++)
        w[i][c] = load16_here(from + size_t(min(row(i), ROWS - 1)) * stride + (c * G + lane_id() % G) * N);
  }

  __device__ __forceinline__ void write(const float *v, float *out) const {
    float sums[PASSES][2] = {};
#pragma unroll
    for (int c = 0; c < CHUNKS; c++) {
      float h[N];
      const float *at = v + (c * G + lane_id() % G) * N;
      load_floats(at, at + 4, h);
#pragma unroll
      for (int i = 0; i < PASSES; i++) {
        float weight[N];
        unpack(w[i][c], weight);
#pragma unroll
        for (int e = 0; e < N; e++) sums[i][e % 2] += h[e] * weight[e];
      }
    }
#pragma unroll
    for (int i = 0; i < PASSES; i++) {
      const float sum = sum_lanes<G>(sums[i][0] + sums[i][1]);
      if (lane_id() % G == 0 && row(i) < ROWS) out[row(i)] = sum;
    }
  }

 private:
  __device__ __forceinline__ int row(int pass) const { return pass * PER_PASS + int(threadIdx.x) / G; }
};
