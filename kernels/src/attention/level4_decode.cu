// Level 4 for few queries: the keys are split over blocks, warps and groups of lanes.
//
// A decode step has one query a head. A block a query, as at level 3, or a tile of queries, as in
// level4.cu, would leave most of the GPU without work, and the step waits for keys and values to come
// from memory: what counts is how many bytes are on their way at a time. So a group of LANES lanes reads
// a key with 16 bytes a lane, a warp reads 32/LANES keys at a time and each group four in a row before
// it needs the first; 8 warps share a block's keys, and a long cache is split over several blocks
// ("Flash-decoding", Dao et al. 2023). Each group has its own online softmax; they are joined by
// shuffles, then in shared memory, then, of the splits, by attention_combine.
// The queries of one key head share what is read: rows are (t, head of the group), ROWS a block.
// Prediction: the bytes of keys and values once a ROWS rows, at the rate of memory for a long cache; a
// few round trips for a short one. One launch, or two where there is a second split.
//
// Launch: grid (splits, Hkv·⌈T·group/ROWS⌉, B), 256 threads. A split is `split` keys long.
// attention_combine: a warp a row of y.
//
// What would make it faster: one launch where the last block to finish joins the splits, which needs a
// counter in memory that outlives the launch.
#include "attention/operands.cuh"

constexpr int WARPS = 8;
constexpr int UNROLL = 4; // keys of a group that are on their way together

// One row's softmax over some keys: the greatest score, in powers of 2, the sum of the exponentials, and
// N channels of the sum of values that they weigh.
template <int N>
struct Part {
  float m, l, o[N];
};

// 2^(m − m′), 0 where m is of no keys.
__device__ __forceinline__ float rescale(float m, float to) { return m == -INFINITY ? 0.f : exp2f(m - to); }

// Joins the parts of lanes that are `distance` apart; both get the whole.
template <int N>
__device__ __forceinline__ void join_lanes(Part<N> &part, int distance) {
  float m = fmaxf(part.m, __shfl_xor_sync(ALL_LANES, part.m, distance));
  float scale = rescale(part.m, m);
  part.m = m;
  part.l *= scale;
  part.l += __shfl_xor_sync(ALL_LANES, part.l, distance);
#pragma unroll
  for (int c = 0; c < N; c++) {
    part.o[c] *= scale;
    part.o[c] += __shfl_xor_sync(ALL_LANES, part.o[c], distance);
  }
}

// UNROLL keys, of which this group of lanes has the scores s, join what it knows of a row.
template <int N>
__device__ __forceinline__ void add_keys(Part<N> &part, const float (&s)[UNROLL], const float (&v)[UNROLL][N]) {
  float m = part.m;
#pragma unroll
  for (int u = 0; u < UNROLL; u++) m = fmaxf(m, s[u]);
  float scale = rescale(part.m, m);
  part.m = m;
  part.l *= scale;
#pragma unroll
  for (int c = 0; c < N; c++) part.o[c] *= scale;
#pragma unroll
  for (int u = 0; u < UNROLL; u++) {
    float p = rescale(s[u], m);
    part.l += p;
#pragma unroll
    for (int c = 0; c < N; c++) part.o[c] += p * v[u][c];
  }
}

// A row of T and of a group of heads: which query of which head it is.
template <typename T>
struct Row {
  int t, head;
  bool is_one;
  __device__ __forceinline__ Row(const Operands<T> &o, int row, int kv_head)
      : t(row / o.group), head(kv_head * o.group + row % o.group), is_one(row < o.queries * o.group) {}
};

template <typename T, int D, int ROWS>
__device__ __forceinline__ void decode(const Operands<T> &o, int split, float *partial) {
  constexpr int N = PER_16_BYTES<T>, LANES = D / N, GROUPS = WARPS * WARP / LANES;
  int blocks = (o.queries * o.group + ROWS - 1) / ROWS, kv_head = blockIdx.y / blocks;
  int row0 = blockIdx.y % blocks * ROWS, group = threadIdx.x / LANES, c = threadIdx.x % LANES * N;
  int begin = blockIdx.x * split, left = int(o.head_dim) - c;
  bool whole = o.whole();

  float q[ROWS][N];
  Part<N> parts[ROWS];
  int visible[ROWS], end = 0;
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    Row<T> row(o, row0 + r, kv_head);
    load_row(o.query(blockIdx.z, row.t, row.head) + c, row.is_one ? left : 0, whole, q[r]);
    parts[r] = {-INFINITY};
    visible[r] = row.is_one ? o.visible(row.t) : 0;
    end = max(end, visible[r]);
  }
  end = min(end, begin + split);

  size_t kv = o.kv(blockIdx.z, kv_head) + c;
  for (int key0 = begin; key0 < end; key0 += UNROLL * GROUPS) {
    float k[UNROLL][N], v[UNROLL][N];
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
      int key = key0 + u * GROUPS + group;
      size_t from = kv + size_t(key) * o.kv_token;
      load_row(o.k + from, key < end ? left : 0, whole, k[u]);
      load_row(o.v + from, key < end ? left : 0, whole, v[u]);
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      float s[UNROLL];
#pragma unroll
      for (int u = 0; u < UNROLL; u++) {
        float dot = 0.f;
#pragma unroll
        for (int e = 0; e < N; e++) dot += q[r][e] * k[u][e];
        dot = warp_sum<LANES>(dot) * (o.scale * LOG2_E);
        s[u] = key0 + u * GROUPS + group < min(visible[r], end) ? dot : -INFINITY;
      }
      add_keys(parts[r], s, v);
    }
  }

  __shared__ float m[ROWS][WARPS], l[ROWS][WARPS], sums[ROWS][WARPS][D];
  int warp = threadIdx.x / WARP;
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
#pragma unroll
    for (int distance = LANES; distance < WARP; distance *= 2) join_lanes(parts[r], distance);
    if (lane_id() < LANES) {
      m[r][warp] = parts[r].m;
      l[r][warp] = parts[r].l;
#pragma unroll
      for (int e = 0; e < N; e++) sums[r][warp][c + e] = parts[r].o[e];
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < ROWS * D; i += WARPS * WARP) {
    int r = i / D, channel = i % D;
    Row<T> row(o, row0 + r, kv_head);
    if (!row.is_one || channel >= o.head_dim) continue;
    Part<1> all = {-INFINITY};
#pragma unroll
    for (int w = 0; w < WARPS; w++) all.m = fmaxf(all.m, m[r][w]);
#pragma unroll
    for (int w = 0; w < WARPS; w++) {
      float scale = rescale(m[r][w], all.m);
      all.l += scale * l[r][w];
      all.o[0] += scale * sums[r][w][channel];
    }
    if (gridDim.x == 1) {
      store(o.result(blockIdx.z, row.t, row.head) + channel, all.o[0] / all.l);
      continue;
    }
    // (B, T, H, splits, D + 2): sums, then m, then l.
    size_t place = (size_t(blockIdx.z) * o.queries + row.t) * o.heads + row.head;
    float *to = partial + (place * gridDim.x + blockIdx.x) * (o.head_dim + 2);
    to[channel] = all.o[0];
    if (channel == 0) to[o.head_dim] = all.m, to[o.head_dim + 1] = all.l;
  }
}

// y = Σ o·2^(m − max m) / Σ l·2^(m − max m), over the splits of a row.
template <typename T>
__device__ __forceinline__ void combine(const float *partial, T *y, int rows, int splits, int d) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / WARP, pitch = d + 2;
  if (row >= rows) return;
  const float *parts = partial + size_t(row) * splits * pitch;
  float m = -INFINITY, l = 0.f;
  for (int s = lane_id(); s < splits; s += WARP) m = fmaxf(m, parts[s * pitch + d]);
  m = warp_max(m);
  for (int s = lane_id(); s < splits; s += WARP) l += parts[s * pitch + d + 1] * rescale(parts[s * pitch + d], m);
  l = warp_sum(l);
  for (int c = lane_id(); c < d; c += WARP) {
    float o = 0.f;
#pragma unroll 4
    for (int s = 0; s < splits; s++) o += parts[s * pitch + c] * rescale(parts[s * pitch + d], m);
    store(y + size_t(row) * d + c, o / l);
  }
}

#define DECODE(D, ROWS, NAME, T)                                                                                     \
  extern "C" __global__ void __launch_bounds__(WARPS *WARP)                                                          \
      attention_decode_d##D##x##ROWS##_##NAME##_level4(OPERANDS(T), unsigned split, float *partial) {                \
    decode<T, D, ROWS>(TAKE_OPERANDS(T), split, partial);                                                            \
  }

#define KERNELS(NAME, T)                                                                                             \
  DECODE(16, 1, NAME, T)                                                                                             \
  DECODE(16, 4, NAME, T)                                                                                             \
  DECODE(32, 1, NAME, T)                                                                                             \
  DECODE(32, 4, NAME, T)                                                                                             \
  DECODE(64, 1, NAME, T)                                                                                             \
  DECODE(64, 4, NAME, T)                                                                                             \
  DECODE(128, 1, NAME, T)                                                                                            \
  DECODE(128, 4, NAME, T)                                                                                            \
  extern "C" __global__ void attention_combine_##NAME##_level4(const float *partial, T *y, unsigned rows,            \
                                                               unsigned splits, unsigned d) {                        \
    combine<T>(partial, y, rows, splits, d);                                                                         \
  }

KERNELS(f32, float)
KERNELS(bf16, bf16)
