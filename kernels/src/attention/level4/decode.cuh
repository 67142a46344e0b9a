// What decode.cu of level 4, whose header says why, and decode.cu of level 5 have in common.
#pragma once

#include "attention/operands.cuh"

constexpr int WARPS = 8, THREADS = WARPS * WARP;

template <typename T, int D, int ROWS>
struct Lanes {
  static constexpr int N = PER_16_BYTES<T>;    // channels of a lane
  static constexpr int KEYS = ROWS * N > 16 ? 4 : 8; // of a group at a time, as registers allow
  static constexpr int GROUP = D / N;          // lanes that have all channels
  static constexpr int GROUPS = WARP / GROUP;  // of a warp
  static constexpr int PASS = GROUPS * KEYS;   // keys of a warp at a time
  static constexpr int SUMS = ROWS * KEYS;     // dot products of a group and a pass
  // A lane ends with KEPT of them, all of one row; COPIES lanes end with the same one.
  static constexpr int KEPT = SUMS > GROUP ? SUMS / GROUP : 1, COPIES = GROUP > SUMS ? GROUP / SUMS : 1;
  static constexpr int ROW = GROUP / ROWS;     // neighbouring lanes with scores of one row
};

// What the warps of a block tell each other, and the lanes of each.
template <typename T, int D, int ROWS>
struct Shared {
  using Lanes = Lanes<T, D, ROWS>;
  float p[WARPS][Lanes::GROUPS][ROWS][Lanes::KEYS]; // exponentials
  float scale[WARPS][ROWS];                              // of what was summed before this pass
  float m[ROWS][WARPS], l[ROWS][WARPS];                  // in the end: greatest score, sum of exponentials
  float o[ROWS][WARPS][D];                               // and sums of values
};

// 16 bytes of a row as they lie in memory: widened only where they are used, bf16 takes half the registers.
__device__ __forceinline__ uint4 load_packed(const void *p, bool is_there) {
  return is_there ? *reinterpret_cast<const uint4 *>(p) : make_uint4(0, 0, 0, 0);
}
__device__ __forceinline__ void unpack(uint4 v, float (&x)[4]) {
  x[0] = __uint_as_float(v.x), x[1] = __uint_as_float(v.y), x[2] = __uint_as_float(v.z), x[3] = __uint_as_float(v.w);
}
__device__ __forceinline__ void unpack(uint4 v, float (&x)[8]) {
  x[0] = unpack_low(v.x), x[2] = unpack_low(v.y), x[4] = unpack_low(v.z), x[6] = unpack_low(v.w);
  x[1] = unpack_high(v.x), x[3] = unpack_high(v.y), x[5] = unpack_high(v.z), x[7] = unpack_high(v.w);
}

// 2^(x − m); 0 where x is of no keys.
__device__ __forceinline__ float weight(float x, float m) { return x == -INFINITY ? 0.f : exp2_approx(x - m); }

// Sums N values over LANES lanes. In each step a lane keeps one half of its values and hands over the
// other: lane l of a group ends with the sums from l·N/LANES on, N/LANES of them, or one.
template <int LANES, int N>
__device__ __forceinline__ void sum_each(float *x) {
  if constexpr (LANES > 1 && N > 1) {
    bool upper = lane_id() & (LANES / 2);
#pragma unroll
    for (int i = 0; i < N / 2; i++) {
      float kept = upper ? x[i + N / 2] : x[i], given = upper ? x[i] : x[i + N / 2];
      x[i] = kept + __shfl_xor_sync(ALL_LANES, given, LANES / 2);
    }
    sum_each<LANES / 2, N / 2>(x);
  } else {
    x[0] = warp_sum<LANES>(x[0]);
  }
}

// The greatest x, or the sum, over the lanes that have scores of one row: ROW neighbours in each group.
template <int GROUP, int ROW>
__device__ __forceinline__ float max_of_row(float x) {
  x = warp_max<ROW>(x);
#pragma unroll
  for (int d = GROUP; d < WARP; d *= 2) x = fmaxf(x, __shfl_xor_sync(ALL_LANES, x, d));
  return x;
}
template <int GROUP, int ROW>
__device__ __forceinline__ float sum_of_row(float x) {
  x = warp_sum<ROW>(x);
#pragma unroll
  for (int d = GROUP; d < WARP; d *= 2) x += __shfl_xor_sync(ALL_LANES, x, d);
  return x;
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
  // Keys that row r sees.
  __device__ __forceinline__ int visible(const Operands<T> &o, int r) const { return has(r) ? o.visible(t(o, r)) : 0; }
};

// dots[r·KEYS + u] = q of row r · key u, of this lane's channels
template <int ROWS, int N, int KEYS>
__device__ __forceinline__ void dot(const float (&q)[ROWS][N], const uint4 (&keys)[KEYS], float (&dots)[ROWS * KEYS]) {
#pragma unroll
  for (int u = 0; u < KEYS; u++) {
    float k[N];
    unpack(keys[u], k);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      dots[r * KEYS + u] = 0.f;
#pragma unroll
      for (int e = 0; e < N; e++) dots[r * KEYS + u] += q[r][e] * k[e];
    }
  }
}

// sums of row r += p[r][u] · value u, of this lane's channels
template <int ROWS, int N, int KEYS>
__device__ __forceinline__ void weigh(const float (&p)[ROWS][KEYS], const float (&scale)[ROWS],
                                      const uint4 (&values)[KEYS], float (&sums)[ROWS][N]) {
#pragma unroll
  for (int r = 0; r < ROWS; r++)
#pragma unroll
    for (int e = 0; e < N; e++) sums[r][e] *= scale[r];
#pragma unroll
  for (int u = 0; u < KEYS; u++) {
    float v[N];
    unpack(values[u], v);
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
      for (int e = 0; e < N; e++) sums[r][e] += p[r][u] * v[e];
  }
}

// The softmax of the rows over the keys begin..end: each warp's part is left in shared memory.
template <typename T, int D, int ROWS>
__device__ __forceinline__ void attend(const Operands<T> &o, const Rows<T, ROWS> &rows, int begin, int end,
                                       Shared<T, D, ROWS> &shared) {
  using Lanes = Lanes<T, D, ROWS>;
  constexpr int N = Lanes::N, GROUP = Lanes::GROUP, GROUPS = Lanes::GROUPS, KEYS = Lanes::KEYS;
  int warp = threadIdx.x / WARP, group = lane_id() / GROUP, lane = lane_id() % GROUP, c = lane * N;
  bool has_c = c < o.head_dim;
  float q[ROWS][N], sums[ROWS][N] = {};
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    unpack(load_packed(o.query(blockIdx.z, rows.t(o, r), rows.head(o, r)) + c, rows.has(r) && has_c), q[r]);
#pragma unroll
    for (int e = 0; e < N; e++) q[r][e] *= o.scale * LOG2_E;
  }
  // Of this lane's own scores: row, first key of the group, and what is known of the row so far.
  int own = lane / Lanes::ROW, own_u = lane * Lanes::SUMS / GROUP % KEYS;
  bool is_copy = lane % Lanes::COPIES != 0, is_first = group == 0 && lane % Lanes::ROW == 0;
  int visible = min(rows.visible(o, own), end);
  float m = -INFINITY, l = 0.f;

  const T *k_from = o.k + o.kv(blockIdx.z, rows.kv_head) + c, *v_from = o.v + (k_from - o.k);
  for (int key0 = begin + warp * Lanes::PASS; key0 < end; key0 += WARPS * Lanes::PASS) {
    uint4 k[KEYS], v[KEYS];
#pragma unroll
    for (int u = 0; u < KEYS; u++) {
      unsigned key = key0 + u * GROUPS + group;
      size_t from = size_t(key) * o.kv_token;
      k[u] = load_packed(k_from + from, has_c && key < end);
      v[u] = load_packed(v_from + from, has_c && key < end);
    }
    float x[Lanes::SUMS];
    dot(q, k, x);
    sum_each<GROUP, Lanes::SUMS>(x);
    float greatest = m;
#pragma unroll
    for (int i = 0; i < Lanes::KEPT; i++) {
      if (key0 + (own_u + i) * GROUPS + group >= visible) x[i] = -INFINITY;
      greatest = fmaxf(greatest, x[i]);
    }
    greatest = max_of_row<GROUP, Lanes::ROW>(greatest);
    float scale = weight(m, greatest);
    m = greatest;
    l *= scale;
    if (is_first) shared.scale[warp][own] = scale;
#pragma unroll
    for (int i = 0; i < Lanes::KEPT; i++) {
      float p = weight(x[i], m);
      if (is_copy) continue;
      l += p;
      shared.p[warp][group][own][own_u + i] = p;
    }
    __syncwarp();
    weigh(shared.p[warp][group], shared.scale[warp], v, sums);
    __syncwarp(); // the next pass may write
  }

  l = sum_of_row<GROUP, Lanes::ROW>(l);
  if (is_first) shared.m[own][warp] = m, shared.l[own][warp] = l;
#pragma unroll
  for (int r = 0; r < ROWS; r++)
#pragma unroll
    for (int e = 0; e < N; e++) {
#pragma unroll
      for (int d = GROUP; d < WARP; d *= 2) sums[r][e] += __shfl_xor_sync(ALL_LANES, sums[r][e], d);
      if (group == 0) shared.o[r][warp][c + e] = sums[r][e];
    }
  __syncthreads();
}

// One channel of a row over all warps.
struct Part {
  float m, l, o;
};
template <typename T, int D, int ROWS>
__device__ __forceinline__ Part join(const Shared<T, D, ROWS> &shared, int r, int c) {
  Part all = {-INFINITY, 0.f, 0.f};
#pragma unroll
  for (int w = 0; w < WARPS; w++) all.m = fmaxf(all.m, shared.m[r][w]);
#pragma unroll
  for (int w = 0; w < WARPS; w++) {
    float scale = weight(shared.m[r][w], all.m);
    all.l += scale * shared.l[r][w];
    all.o += scale * shared.o[r][w][c];
  }
  return all;
}

template <typename T, int D, int ROWS>
__device__ __forceinline__ void decode(const Operands<T> &o, int split, float *partial) {
  __shared__ Shared<T, D, ROWS> shared;
  Rows<T, ROWS> rows(o);
  int last = min(ROWS, rows.count - rows.first) - 1;
  int begin = blockIdx.x * split, end = min(begin + split, rows.visible(o, last));
  attend(o, rows, begin, end, shared);

  for (int i = threadIdx.x; i < ROWS * D; i += THREADS) {
    int r = i / D, c = i % D;
    if (!rows.has(r) || c >= o.head_dim) continue;
    Part all = join(shared, r, c);
    int t = rows.t(o, r), head = rows.head(o, r);
    if (gridDim.x == 1) {
      store(o.result(blockIdx.z, t, head) + c, all.o / all.l);
      continue;
    }
    // (B, T, H, splits, D + 2): the sums, then m, then l
    size_t row = (size_t(blockIdx.z) * o.queries + t) * o.heads + head;
    float *to = partial + (row * gridDim.x + blockIdx.x) * (o.head_dim + 2);
    to[c] = all.o;
    if (c == 0) to[o.head_dim] = all.m, to[o.head_dim + 1] = all.l;
  }
}

// y = Σ o·2^(m − max m) / Σ l·2^(m − max m), over the splits of a row: a warp every eighth split, a lane
// every 32nd channel.
template <typename T>
__device__ __forceinline__ void combine(const float *partial, T *y, int splits, int d) {
  constexpr int CHANNELS = 128 / WARP;
  __shared__ float sums[WARPS][128], ls[WARPS];
  int warp = threadIdx.x / WARP, pitch = d + 2;
  const float *parts = partial + size_t(blockIdx.x) * splits * pitch;
  float m = -INFINITY, l = 0.f, o[CHANNELS] = {};
  for (int s = lane_id(); s < splits; s += WARP) m = fmaxf(m, parts[s * pitch + d]);
  m = warp_max(m);
#pragma unroll 4
  for (int s = warp; s < splits; s += WARPS) {
    const float *part = parts + s * pitch;
    float scale = weight(part[d], m);
    l += scale * part[d + 1];
#pragma unroll
    for (int i = 0; i < CHANNELS; i++)
      if (i * WARP + lane_id() < d) o[i] += scale * part[i * WARP + lane_id()];
  }
#pragma unroll
  for (int i = 0; i < CHANNELS; i++) sums[warp][i * WARP + lane_id()] = o[i];
  if (lane_id() == 0) ls[warp] = l;
  __syncthreads();
  for (int c = threadIdx.x; c < d; c += THREADS) {
    float sum = 0.f, l = 0.f;
#pragma unroll
    for (int w = 0; w < WARPS; w++) sum += sums[w][c], l += ls[w];
    store(y + size_t(blockIdx.x) * d + c, sum / l);
  }
}
