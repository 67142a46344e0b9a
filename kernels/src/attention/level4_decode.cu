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

constexpr int WARPS = 8, THREADS = WARPS * WARP;

// A lane has N channels of every row; LANES of them, a group, have them all.
template <typename T, int D>
constexpr int LANES = D / PER_16_BYTES<T>;

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
template <int UNROLL, int N>
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

// The rows of a block: ROWS of the T·group queries of one key head.
template <typename T, int ROWS>
struct Rows {
  int kv_head, first, count;
  __device__ __forceinline__ explicit Rows(const Operands<T> &o) : count(o.queries * o.group) {
    int blocks = (count + ROWS - 1) / ROWS;
    kv_head = blockIdx.y / blocks;
    first = blockIdx.y % blocks * ROWS;
  }
  __device__ __forceinline__ bool has(int r) const { return first + r < count; }
  __device__ __forceinline__ int t(const Operands<T> &o, int r) const { return (first + r) / o.group; }
  __device__ __forceinline__ int head(const Operands<T> &o, int r) const {
    return kv_head * o.group + (first + r) % o.group;
  }
};

// This group's keys of begin..end, UNROLL of them on their way together.
template <bool WHOLE, int UNROLL, typename T, int D, int ROWS, int N>
__device__ __forceinline__ void attend(const Operands<T> &o, const Rows<T, ROWS> &rows, int begin, int end,
                                       Part<N> (&parts)[ROWS]) {
  constexpr int GROUPS = THREADS / LANES<T, D>;
  int group = threadIdx.x / LANES<T, D>, c = threadIdx.x % LANES<T, D> * N, left = int(o.head_dim) - c;
  float q[ROWS][N];
  int visible[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    int t = rows.t(o, r);
    load_row<WHOLE>(o.query(blockIdx.z, t, rows.head(o, r)) + c, rows.has(r) ? left : 0, q[r]);
    visible[r] = rows.has(r) ? min(o.visible(t), end) : 0;
  }
  size_t kv = o.kv(blockIdx.z, rows.kv_head) + c;
  for (int key0 = begin + group; key0 - group < end; key0 += UNROLL * GROUPS) {
    float k[UNROLL][N], v[UNROLL][N];
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
      int key = key0 + u * GROUPS;
      size_t from = kv + size_t(key) * o.kv_token;
      load_row<WHOLE>(o.k + from, key < end ? left : 0, k[u]);
      load_row<WHOLE>(o.v + from, key < end ? left : 0, v[u]);
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      float s[UNROLL];
#pragma unroll
      for (int u = 0; u < UNROLL; u++) {
        float dot = 0.f;
#pragma unroll
        for (int e = 0; e < N; e++) dot += q[r][e] * k[u][e];
        dot = warp_sum<LANES<T, D>>(dot) * (o.scale * LOG2_E);
        s[u] = key0 + u * GROUPS < visible[r] ? dot : -INFINITY;
      }
      add_keys(parts[r], s, v);
    }
  }
}

// The parts of all groups of a block: m, l and D sums of each row and warp, in shared memory.
template <int D, int ROWS>
struct Joined {
  float m[ROWS][WARPS], l[ROWS][WARPS], o[ROWS][WARPS][D];

  template <int N>
  __device__ __forceinline__ void join(Part<N> (&parts)[ROWS]) {
    int warp = threadIdx.x / WARP, c = lane_id() * N;
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
#pragma unroll
      for (int distance = D / N; distance < WARP; distance *= 2) join_lanes(parts[r], distance);
      if (c >= D) continue;
      m[r][warp] = parts[r].m;
      l[r][warp] = parts[r].l;
#pragma unroll
      for (int e = 0; e < N; e++) o[r][warp][c + e] = parts[r].o[e];
    }
    __syncthreads();
  }

  // One channel of a row.
  __device__ __forceinline__ Part<1> part(int r, int channel) const {
    Part<1> all = {-INFINITY};
#pragma unroll
    for (int w = 0; w < WARPS; w++) all.m = fmaxf(all.m, m[r][w]);
#pragma unroll
    for (int w = 0; w < WARPS; w++) {
      float scale = rescale(m[r][w], all.m);
      all.l += scale * l[r][w];
      all.o[0] += scale * o[r][w][channel];
    }
    return all;
  }
};

template <typename T, int D, int ROWS>
__device__ __forceinline__ void decode(const Operands<T> &o, int split, float *partial) {
  Rows<T, ROWS> rows(o);
  int last = min(rows.first + ROWS, rows.count) - 1 - rows.first;
  int begin = blockIdx.x * split, end = min(begin + split, o.visible(rows.t(o, last)));
  Part<PER_16_BYTES<T>> parts[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; r++) parts[r] = {-INFINITY};
  if (o.whole())
    attend<true, 4, T, D>(o, rows, begin, end, parts);
  else
    attend<false, 1, T, D>(o, rows, begin, end, parts);

  __shared__ Joined<D, ROWS> joined;
  joined.join(parts);
  for (int i = threadIdx.x; i < ROWS * D; i += THREADS) {
    int r = i / D, c = i % D;
    if (!rows.has(r) || c >= o.head_dim) continue;
    Part<1> all = joined.part(r, c);
    int t = rows.t(o, r), head = rows.head(o, r);
    if (gridDim.x == 1) {
      store(o.result(blockIdx.z, t, head) + c, all.o[0] / all.l);
      continue;
    }
    // (B, T, H, splits, D + 2): the sums, then m, then l
    size_t row = (size_t(blockIdx.z) * o.queries + t) * o.heads + head;
    float *to = partial + (row * gridDim.x + blockIdx.x) * (o.head_dim + 2);
    to[c] = all.o[0];
    if (c == 0) to[o.head_dim] = all.m, to[o.head_dim + 1] = all.l;
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
  extern "C" __global__ void __launch_bounds__(THREADS)                                                          \
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
