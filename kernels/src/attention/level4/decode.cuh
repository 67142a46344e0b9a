// The device functions of level4/decode.cu, whose header explains the idea, and of level5/decode.cu.
#pragma once

#include "attention/params.cuh"

constexpr int WARPS = 8, THREADS = WARPS * WARP;

// How a warp's lanes share keys. A group of lanes reads one key, and the lanes of a warp are several such groups.
// Heads have up to D channels, and ROWS rows read the same keys.
template <typename T, int D, int ROWS>
struct DecodeLayout {
  static constexpr int CHANNELS_PER_LANE = PER_16_BYTES<T>;
  static constexpr int LANES_PER_GROUP = D / CHANNELS_PER_LANE, GROUPS_PER_WARP = WARP / LANES_PER_GROUP;
  // A pass loads KEYS_PER_GROUP keys and their values into registers: 8, or 4 where the rows need many registers.
  static constexpr int KEYS_PER_GROUP = ROWS * CHANNELS_PER_LANE > 16 ? 4 : 8;
  static constexpr int KEYS_PER_PASS = GROUPS_PER_WARP * KEYS_PER_GROUP; // of a warp
  static constexpr int SCORES_PER_GROUP = ROWS * KEYS_PER_GROUP;
  // After reduce_scatter, a lane has SCORES_PER_LANE scores of one row; LANES_PER_SCORE neighbours have the same score.
  static constexpr int SCORES_PER_LANE = SCORES_PER_GROUP > LANES_PER_GROUP ? SCORES_PER_GROUP / LANES_PER_GROUP : 1;
  static constexpr int LANES_PER_SCORE = LANES_PER_GROUP > SCORES_PER_GROUP ? LANES_PER_GROUP / SCORES_PER_GROUP : 1;
  static constexpr int LANES_PER_ROW = LANES_PER_GROUP / ROWS; // neighbours in a group with scores of one row
};

// State that the lanes of a warp, and in the end the warps of a block, exchange.
template <typename T, int D, int ROWS>
struct Shared {
  using Layout = DecodeLayout<T, D, ROWS>;
  float p[WARPS][Layout::GROUPS_PER_WARP][ROWS][Layout::KEYS_PER_GROUP]; // exponentials of a pass
  float scale[WARPS][ROWS];             // by which a pass scales the earlier accumulators
  float m[ROWS][WARPS], l[ROWS][WARPS]; // of each warp, in the end: maximum score, sum of exponentials,
  float o[ROWS][WARPS][D];              // and sum of weighted values
};

// 16 bytes of a row as they lie in memory. They are widened only where they are used: bf16 takes half the registers.
__device__ __forceinline__ uint4 load_packed(const void *p, bool is_there) {
  return is_there ? *reinterpret_cast<const uint4 *>(p) : make_uint4(0, 0, 0, 0);
}

// Sums N values over LANES lanes. In each step a lane keeps one half of its values and sends the other: lane l of a
// group ends with the sums from l·N/LANES on, N/LANES of them, or one.
template <int LANES, int N>
__device__ __forceinline__ void reduce_scatter(float *x) {
  if constexpr (LANES > 1 && N > 1) {
    bool upper = lane_id() & (LANES / 2);
#pragma unroll
    for (int i = 0; i < N / 2; i++) {
      float mine = upper ? x[i + N / 2] : x[i], sent = upper ? x[i] : x[i + N / 2];
      x[i] = mine + __shfl_xor_sync(ALL_LANES, sent, LANES / 2);
    }
    reduce_scatter<LANES / 2, N / 2>(x);
  } else {
    x[0] = warp_sum<LANES>(x[0]);
  }
}

// The maximum of x, or its sum, over the lanes that have scores of one row: LANES_PER_ROW neighbours in each group.
template <int LANES_PER_GROUP, int LANES_PER_ROW>
__device__ __forceinline__ float max_of_row(float x) {
  x = warp_max<LANES_PER_ROW>(x);
#pragma unroll
  for (int d = LANES_PER_GROUP; d < WARP; d *= 2) x = fmaxf(x, __shfl_xor_sync(ALL_LANES, x, d));
  return x;
}
template <int LANES_PER_GROUP, int LANES_PER_ROW>
__device__ __forceinline__ float sum_of_row(float x) {
  x = warp_sum<LANES_PER_ROW>(x);
#pragma unroll
  for (int d = LANES_PER_GROUP; d < WARP; d *= 2) x += __shfl_xor_sync(ALL_LANES, x, d);
  return x;
}

// The rows of a block: ROWS of the T·H/Hkv queries of one key head, in the order of t.
template <typename T, int ROWS>
struct QueryRows {
  int kv_head, first, count;
  __device__ __forceinline__ explicit QueryRows(const Params<T> &params) : count(params.queries * params.heads_of_key) {
    int blocks = (count + ROWS - 1) / ROWS; // of a key head, in each split of its keys
    kv_head = blockIdx.y / blocks;
    first = blockIdx.y % blocks * ROWS;
  }
  __device__ __forceinline__ bool has(int r) const { return first + r < count; }
  __device__ __forceinline__ int t(const Params<T> &params, int r) const { return (first + r) / params.heads_of_key; }
  __device__ __forceinline__ int head(const Params<T> &params, int r) const {
    return kv_head * params.heads_of_key + (first + r) % params.heads_of_key;
  }
  // Number of keys that row r sees.
  __device__ __forceinline__ int visible_to(const Params<T> &params, int r) const {
    return has(r) ? params.visible_to(t(params, r)) : 0;
  }
};

// dots[r·KEYS + u] = (query r)·(key u), over this lane's channels
template <class T, int ROWS, int N, int KEYS>
__device__ __forceinline__ void dot(const float (&q)[ROWS][N], const uint4 (&keys)[KEYS], float (&dots)[ROWS * KEYS]) {
#pragma unroll
  for (int u = 0; u < KEYS; u++) {
    float k[N];
    unpack16<T>(keys[u], k);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      dots[r * KEYS + u] = 0.f;
#pragma unroll
      for (int e = 0; e < N; e++) dots[r * KEYS + u] += q[r][e] * k[e];
    }
  }
}

// o[r] = o[r]·scale[r] + Σ p[r][u]·value u, over this lane's channels
template <class T, int ROWS, int N, int KEYS>
__device__ __forceinline__ void add_weighted_values(const float (&p)[ROWS][KEYS], const float (&scale)[ROWS],
                                                    const uint4 (&values)[KEYS], float (&o)[ROWS][N]) {
#pragma unroll
  for (int r = 0; r < ROWS; r++)
#pragma unroll
    for (int e = 0; e < N; e++) o[r][e] *= scale[r];
#pragma unroll
  for (int u = 0; u < KEYS; u++) {
    float v[N];
    unpack16<T>(values[u], v);
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
      for (int e = 0; e < N; e++) o[r][e] += p[r][u] * v[e];
  }
}

// Softmax-weighted values of the rows, over the keys begin..end. Each warp leaves its part in shared memory.
template <typename T, int D, int ROWS>
__device__ __forceinline__ void attend(const Params<T> &params, const QueryRows<T, ROWS> &rows, int begin, int end,
                                       Shared<T, D, ROWS> &shared) {
  using Layout = DecodeLayout<T, D, ROWS>;
  constexpr int N = Layout::CHANNELS_PER_LANE, LANES = Layout::LANES_PER_GROUP, GROUPS = Layout::GROUPS_PER_WARP;
  constexpr int KEYS = Layout::KEYS_PER_GROUP, SCORES = Layout::SCORES_PER_GROUP;
  constexpr int LANES_OF_ROW = Layout::LANES_PER_ROW;
  int warp = threadIdx.x / WARP, lane_group = lane_id() / LANES, lane = lane_id() % LANES, c = lane * N;
  bool has_c = c < params.head_dim;
  float q[ROWS][N], o[ROWS][N] = {};
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    const T *query = params.query(blockIdx.z, rows.t(params, r), rows.head(params, r));
    unpack16<T>(load_packed(query + c, rows.has(r) && has_c), q[r]);
#pragma unroll
    for (int e = 0; e < N; e++) q[r][e] *= params.scale * LOG2_E;
  }
  // The scores that this lane has after reduce_scatter are of row `my_row` and of the group's keys from
  // `my_first_of_group` on. Of lanes with the same score, one adds its exponential and stores it; others are copies.
  // m is the maximum score of that row so far, l this lane's share of its sum of exponentials.
  int my_row = lane / LANES_OF_ROW, my_first_of_group = lane * SCORES / LANES % KEYS;
  bool is_copy = lane % Layout::LANES_PER_SCORE != 0, is_first = lane_group == 0 && lane % LANES_OF_ROW == 0;
  int visible = min(rows.visible_to(params, my_row), end);
  float m = -INFINITY, l = 0.f;

  // k and v have the same strides.
  const T *k_from = params.k + params.kv_offset(blockIdx.z, rows.kv_head) + c, *v_from = params.v + (k_from - params.k);
  for (int key0 = begin + warp * Layout::KEYS_PER_PASS; key0 < end; key0 += WARPS * Layout::KEYS_PER_PASS) {
    uint4 k[KEYS], v[KEYS];
#pragma unroll
    for (int u = 0; u < KEYS; u++) {
      unsigned key = key0 + u * GROUPS + lane_group;
      size_t from = size_t(key) * params.kv_token_stride;
      k[u] = load_packed(k_from + from, has_c && key < end);
      v[u] = load_packed(v_from + from, has_c && key < end);
    }
    float scores[SCORES];
    dot<T>(q, k, scores);
    reduce_scatter<LANES, SCORES>(scores);
    float new_m = m;
#pragma unroll
    for (int i = 0; i < Layout::SCORES_PER_LANE; i++) {
      if (key0 + (my_first_of_group + i) * GROUPS + lane_group >= visible) scores[i] = -INFINITY;
      new_m = fmaxf(new_m, scores[i]);
    }
    new_m = max_of_row<LANES, LANES_OF_ROW>(new_m);
    float scale = softmax_weight(m, new_m);
    m = new_m;
    l *= scale;
    if (is_first) shared.scale[warp][my_row] = scale;
#pragma unroll
    for (int i = 0; i < Layout::SCORES_PER_LANE; i++) {
      float p = softmax_weight(scores[i], m);
      if (is_copy) continue;
      l += p;
      shared.p[warp][lane_group][my_row][my_first_of_group + i] = p;
    }
    __syncwarp();
    add_weighted_values<T>(shared.p[warp][lane_group], shared.scale[warp], v, o);
    __syncwarp(); // the next pass may write p and scale
  }

  l = sum_of_row<LANES, LANES_OF_ROW>(l);
  if (is_first) shared.m[my_row][warp] = m, shared.l[my_row][warp] = l;
#pragma unroll
  for (int r = 0; r < ROWS; r++)
#pragma unroll
    for (int e = 0; e < N; e++) {
#pragma unroll
      for (int d = LANES; d < WARP; d *= 2) o[r][e] += __shfl_xor_sync(ALL_LANES, o[r][e], d);
      if (lane_group == 0) shared.o[r][warp][c + e] = o[r][e];
    }
  __syncthreads();
}

// One channel of a row, combined over the warps of a block: the maximum score, the sum of exponentials, and Σ p·v.
struct Part {
  float m, l, o;
};
template <typename T, int D, int ROWS>
__device__ __forceinline__ Part combine_warps(const Shared<T, D, ROWS> &shared, int r, int c) {
  Part all = {-INFINITY, 0.f, 0.f};
#pragma unroll
  for (int w = 0; w < WARPS; w++) all.m = fmaxf(all.m, shared.m[r][w]);
#pragma unroll
  for (int w = 0; w < WARPS; w++) {
    float scale = softmax_weight(shared.m[r][w], all.m);
    all.l += scale * shared.l[r][w];
    all.o += scale * shared.o[r][w][c];
  }
  return all;
}

template <typename T, int D, int ROWS>
__device__ __forceinline__ void decode(const Params<T> &params, int keys_per_split, float *partial) {
  __shared__ Shared<T, D, ROWS> shared;
  QueryRows<T, ROWS> rows(params);
  int last = min(ROWS, rows.count - rows.first) - 1; // it sees the most keys: rows are in the order of t
  int begin = blockIdx.x * keys_per_split, end = min(begin + keys_per_split, rows.visible_to(params, last));
  attend(params, rows, begin, end, shared);

  for (int i = threadIdx.x; i < ROWS * D; i += THREADS) {
    int r = i / D, c = i % D;
    if (!rows.has(r) || c >= params.head_dim) continue;
    Part all = combine_warps(shared, r, c);
    int t = rows.t(params, r), head = rows.head(params, r);
    if (gridDim.x == 1) {
      store(params.result(blockIdx.z, t, head) + c, all.o / all.l);
      continue;
    }
    // (B, T, H, splits, D + 2): Σ p·v, then m, then l
    size_t row = (size_t(blockIdx.z) * params.queries + t) * params.heads + head;
    float *to = partial + (row * gridDim.x + blockIdx.x) * (params.head_dim + 2);
    to[c] = all.o;
    if (c == 0) to[params.head_dim] = all.m, to[params.head_dim + 1] = all.l;
  }
}

// y = Σ o·2^(m − max m) / Σ l·2^(m − max m), over the splits of a row. A warp takes every eighth split, a lane every
// 32nd channel.
template <typename T>
__device__ __forceinline__ void combine_splits(const float *partial, T *y, int splits, int head_dim) {
  constexpr int CHANNELS = 128 / WARP;
  __shared__ float sums[WARPS][128], ls[WARPS];
  int warp = threadIdx.x / WARP, pitch = head_dim + 2;
  const float *parts = partial + size_t(blockIdx.x) * splits * pitch;
  float m = -INFINITY, l = 0.f, o[CHANNELS] = {};
  for (int s = lane_id(); s < splits; s += WARP) m = fmaxf(m, parts[s * pitch + head_dim]);
  m = warp_max(m);
#pragma unroll 4
  for (int s = warp; s < splits; s += WARPS) {
    const float *part = parts + s * pitch;
    float scale = softmax_weight(part[head_dim], m);
    l += scale * part[head_dim + 1];
#pragma unroll
    for (int i = 0; i < CHANNELS; i++)
      if (i * WARP + lane_id() < head_dim) o[i] += scale * part[i * WARP + lane_id()];
  }
#pragma unroll
  for (int i = 0; i < CHANNELS; i++) sums[warp][i * WARP + lane_id()] = o[i];
  if (lane_id() == 0) ls[warp] = l;
  __syncthreads();
  for (int c = threadIdx.x; c < head_dim; c += THREADS) {
    float sum = 0.f, l = 0.f;
#pragma unroll
    for (int w = 0; w < WARPS; w++) sum += sums[w][c], l += ls[w];
    store(y + size_t(blockIdx.x) * head_dim + c, sum / l);
  }
}
