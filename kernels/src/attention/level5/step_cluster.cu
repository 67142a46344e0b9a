// Level 5 of attention, for a decode step on Hopper: one launch rotates q and k, appends k and v to the cache, and
// computes the attention of each query to the keys of the cache and to the new ones.
//
// Against rope/level5.cu, decode.cu and, for more than 256 keys, attention_combine: three launches of 2 to 3 µs each,
// two of which wait for a few KB that the one before has written.
//   - A cluster of 8 blocks, or 4, shares the rows of a key head: ROWS queries that read the same keys. The keys are dealt
//     out over the blocks, the warps and the groups of lanes of a warp, so that a cache of 256 keys has a few loads per
//     lane, all in flight at once. One block per head would use 3 SMs of 132 for a model with 3 key heads.
//   - Each block rotates q for itself. The new keys go from registers to the scores; the cache gets them, too.
//   - The blocks exchange their parts through distributed shared memory: block i gets from each block its part of the
//     i-th share of the result, and writes it. A barrier of the cluster takes 0.2 µs, a launch 0.7 at least.
//   - In a decode step the position, the angles and the first keys and values are in flight while the kernel that
//     computes q, k and v still runs (common/overlap.cuh). Older keys of the cache are those of earlier steps. The first
//     loads do not wait for the position: they read what the bucket has room for, and what is not seen is left out later.
// Every lane of a group gets the group's scores by a butterfly, and each group has a softmax of its own. Groups, warps
// and blocks are combined at the end. The result does not depend on the order in which they finish.
//
// Prediction: 2.2 µs per launch in a chain at 256 keys, as in a program of its own on an H200, in place of 5 to 8 µs for
// two or three launches. A long cache waits for memory once per 512 keys in bf16 (D = 64), where decode.cu has more
// blocks: from some 2048 keys on that is faster, and level 5's table says where.
// Outcome: `workbook ablation`, and book/chapters/level5.md.
//
// Bytes moved: 4 or 2 times (2·B·Hkv·S·D, each key and value once per ROWS queries, + 2·B·T·(H + 2·Hkv)·D). Launch: grid
// (8, Hkv·⌈T·H/Hkv/ROWS⌉, B) in clusters of 8, or (4, Hkv, B) in clusters of 4 for one row; 128 threads.
//
// To be faster: larger clusters, 16 blocks with an opt-in; keys of the next pass by bulk copies.
//
// Compiled for sm_90: clusters.
//
// Measured on an NVIDIA H200: causal_attention_decode 255+1x8x8x64 f32 at 10% of the memory bandwidth; see kernels/generated/attention/level5/step_cluster.md.
#include "attention/params.cuh"
#include "common/cluster.cuh"
#include "common/overlap.cuh"

constexpr int WARPS = 4, THREADS = WARPS * WARP;

// Blocks of a cluster that has ROWS rows. Where each query has a key head of its own, there are as many clusters as
// heads, so that 4 blocks each are enough.
template <int ROWS>
constexpr int BLOCKS = ROWS == 1 ? 4 : 8;

// The operands of a step: S keys are in the cache, and T new ones follow them.
template <typename T>
struct Step {
  const T *q, *k, *v;          // (B, T, H, D) and (B, T, Hkv, D), views
  const T *cos, *sin;          // (positions, D/2)
  T *keys, *values;            // (B, Hkv, capacity, D)
  T *y;                        // (B, T, H·D)
  const unsigned *position;    // of the first of the T tokens
  unsigned q_batch_stride, q_token_stride, kv_batch_stride, kv_token_stride;
  unsigned tokens, heads, kv_heads, half_dim, capacity; // half_dim: D/2
  unsigned early;                                       // keys of the first pass that may be loaded before S is known
  float scale;                                          // 1/√D
};

// Heads of up to D channels: a group of lanes reads a key together, 16 bytes per lane, and has KEYS_PER_GROUP keys and
// their values at a time. In a pass, the cluster loads KEYS_PER_CLUSTER_PASS keys.
template <typename T, int D, int ROWS>
struct Layout {
  static constexpr int CHANNELS_PER_LANE = PER_16_BYTES<T>, KEYS_PER_GROUP = 32 / BLOCKS<ROWS>;
  static constexpr int LANES_PER_GROUP = D / CHANNELS_PER_LANE, GROUPS_PER_WARP = WARP / LANES_PER_GROUP;
  static constexpr int KEYS_PER_CLUSTER_PASS = BLOCKS<ROWS> * WARPS * GROUPS_PER_WARP * KEYS_PER_GROUP;
};

// A message from one block to another: for a part of one row of y, the maximum score, the sum of exponentials, and Σ p·v.
template <int ELEMENTS>
struct Message {
  float m, l, o[ELEMENTS];
};

// Memory through which the warps of a block exchange, and the parts that come from the blocks.
template <int D, int ROWS>
struct ClusterShared {
  static constexpr int ELEMENTS = ROWS * D / BLOCKS<ROWS>; // of y for each block, all of one row
  float m[ROWS][WARPS], l[ROWS][WARPS], o[ROWS][WARPS][D];
  Message<ELEMENTS> parts[BLOCKS<ROWS>];
};

// A partial softmax: of ROWS rows, over the keys so far. For each row, m is the maximum score, l the sum of exponentials,
// and o this lane's N channels of Σ p·v. The lanes of a group have the same m and l.
template <int ROWS, int N>
struct Softmax {
  float m[ROWS], l[ROWS], o[ROWS][N];

  __device__ __forceinline__ Softmax() {
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      m[r] = -INFINITY, l[r] = 0.f;
#pragma unroll
      for (int i = 0; i < N; i++) o[r][i] = 0.f;
    }
  }

  // Adds KEYS keys, of which row r sees key u if sees(r, u). The value of an unseen key must be finite: 0·NaN is NaN.
  template <class T, int LANES, int KEYS, class Sees>
  __device__ __forceinline__ void add(const float (&q)[ROWS][N], const uint4 (&keys)[KEYS], const uint4 (&values)[KEYS],
                                      Sees sees) {
    float scores[ROWS][KEYS];
#pragma unroll
    for (int u = 0; u < KEYS; u++) {
      float k[N];
      unpack16<T>(keys[u], k);
#pragma unroll
      for (int r = 0; r < ROWS; r++) {
        scores[r][u] = 0.f;
#pragma unroll
        for (int i = 0; i < N; i++) scores[r][u] += q[r][i] * k[i];
      }
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      float new_m = m[r];
#pragma unroll
      for (int u = 0; u < KEYS; u++) {
        scores[r][u] = warp_sum<LANES>(scores[r][u]);
        if (!sees(r, u)) scores[r][u] = -INFINITY;
        new_m = fmaxf(new_m, scores[r][u]);
      }
      scale(r, new_m);
#pragma unroll
      for (int u = 0; u < KEYS; u++) scores[r][u] = softmax_weight(scores[r][u], new_m), l[r] += scores[r][u];
    }
#pragma unroll
    for (int u = 0; u < KEYS; u++) {
      float v[N];
      unpack16<T>(values[u], v);
#pragma unroll
      for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int i = 0; i < N; i++) o[r][i] += scores[r][u] * v[i];
    }
  }

  // Scales what row r has to a new maximum.
  __device__ __forceinline__ void scale(int r, float new_m) {
    float factor = softmax_weight(m[r], new_m);
    m[r] = new_m, l[r] *= factor;
#pragma unroll
    for (int i = 0; i < N; i++) o[r][i] *= factor;
  }

  // Combines the groups of a warp, LANES lanes each: all get the result.
  template <int LANES>
  __device__ __forceinline__ void combine_groups() {
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      float all = m[r];
#pragma unroll
      for (int d = LANES; d < WARP; d *= 2) all = fmaxf(all, __shfl_xor_sync(ALL_LANES, all, d));
      scale(r, all);
#pragma unroll
      for (int d = LANES; d < WARP; d *= 2) {
        l[r] += __shfl_xor_sync(ALL_LANES, l[r], d);
#pragma unroll
        for (int i = 0; i < N; i++) o[r][i] += __shfl_xor_sync(ALL_LANES, o[r][i], d);
      }
    }
  }
};

// One lane's channels of a head: 16 bytes from channel c on, those of the other half that they are rotated with, and the
// angles. (x₁, x₂) → (x₁·cos − x₂·sin, x₂·cos + x₁·sin), rounded as rope/level5.cu writes it.
template <typename T>
struct Rotation {
  static constexpr int PER_CHUNK = PER_16_BYTES<T>;
  unsigned c, other;
  bool is_upper, has_c;

  __device__ __forceinline__ Rotation(unsigned c, unsigned half_dim)
      : c(c), other(c < half_dim ? c + half_dim : c - half_dim), is_upper(c >= half_dim), has_c(c < 2 * half_dim) {}

  __device__ __forceinline__ uint4 operator()(const uint4 (&x)[2], uint4 cos16, uint4 sin16) const {
    float mine[PER_CHUNK], others[PER_CHUNK], cos[PER_CHUNK], sin[PER_CHUNK];
    unpack16<T>(x[0], mine), unpack16<T>(x[1], others), unpack16<T>(cos16, cos), unpack16<T>(sin16, sin);
#pragma unroll
    for (int i = 0; i < PER_CHUNK; i++) mine[i] = mine[i] * cos[i] + (is_upper ? others[i] : -others[i]) * sin[i];
    return pack16(mine);
  }
  // Requests both parts of a head.
  __device__ __forceinline__ void load(const T *head, bool is_there, uint4 (&x)[2]) const {
    x[0] = load16_through_l1(head + c, is_there && has_c);
    x[1] = load16_through_l1(head + other, is_there && has_c);
  }
};

// The work of a cluster: up to ROWS rows of y.
template <typename T, int D, int ROWS>
__device__ __forceinline__ void step(const Step<T> &p) {
  using L = Layout<T, D, ROWS>;
  constexpr int N = L::CHANNELS_PER_LANE, LANES = L::LANES_PER_GROUP, KEYS = L::KEYS_PER_GROUP;
  constexpr int ELEMENTS = ClusterShared<D, ROWS>::ELEMENTS;
  __shared__ ClusterShared<D, ROWS> shared;
  cluster_start();
  const unsigned rank = cluster_rank(), warp = threadIdx.x / WARP, lane_group = lane_id() / LANES;
  const unsigned head_dim = 2 * p.half_dim, c = lane_id() % LANES * N, batch = blockIdx.z;
  // A row is a query (t, head) that reads this key head. There are `rows`, and a cluster has ROWS of them.
  const unsigned heads_of_key = p.heads / p.kv_heads, rows = p.tokens * heads_of_key;
  const unsigned clusters_per_kv_head = (rows + ROWS - 1) / ROWS;
  const unsigned kv_head = blockIdx.y / clusters_per_kv_head, first = blockIdx.y % clusters_per_kv_head * ROWS;
  // Whether this cluster has row r, its token and its head.
  auto has = [&](int r) { return first + r < rows; };
  auto token = [&](int r) { return (first + r) / heads_of_key; };
  auto head = [&](int r) { return kv_head * heads_of_key + (first + r) % heads_of_key; };
  const Rotation<T> rotation(c, p.half_dim);

  // Before the wait: what no kernel before this one in the step writes.
  const unsigned position = *static_cast<const volatile unsigned *>(p.position);
  const size_t cache = (size_t(batch) * p.kv_heads + kv_head) * p.capacity * head_dim;
  uint4 keys[KEYS], values[KEYS];
  auto key_of = [&](unsigned pass, int u) {
    return pass * L::KEYS_PER_CLUSTER_PASS + ((u * BLOCKS<ROWS> + rank) * WARPS + warp) * L::GROUPS_PER_WARP + lane_group;
  };
  auto load_pass = [&](unsigned pass, unsigned end) {
#pragma unroll
    for (int u = 0; u < KEYS; u++) {
      const unsigned key = key_of(pass, u);
      const bool is_there = rotation.has_c && key < end;
      const size_t at = cache + size_t(key) * head_dim + c;
      keys[u] = load16_at_once(p.keys + at, is_there);
      values[u] = load16_at_once(p.values + at, is_there);
    }
  };
  load_pass(0, p.early);
  uint4 cos[ROWS], sin[ROWS];
  auto load_angles = [&](unsigned t, uint4 &cos, uint4 &sin, bool is_there) {
    const size_t at = size_t(position + t) * p.half_dim + (rotation.is_upper ? c - p.half_dim : c);
    cos = load16_at_once(p.cos + at, is_there && rotation.has_c);
    sin = load16_at_once(p.sin + at, is_there && rotation.has_c);
  };
#pragma unroll
  for (int r = 0; r < ROWS; r++) load_angles(token(r), cos[r], sin[r], has(r));
  // New token j belongs to block j, whose first warp loads its key and value.
  const bool has_new = rank < p.tokens && warp == 0;
  uint4 new_cos, new_sin;
  load_angles(rank, new_cos, new_sin, has_new && lane_group == 0);

  wait_for_previous(); // from here on: what the kernel before wrote
  let_next_start();    // not before: the next kernel's weights would compete with the keys
  uint4 q_parts[ROWS][2], new_key[2], new_value[1];
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    const T *query = p.q + size_t(batch) * p.q_batch_stride + size_t(token(r)) * p.q_token_stride + head(r) * head_dim;
    rotation.load(query, has(r), q_parts[r]);
  }
  const size_t from = size_t(batch) * p.kv_batch_stride + size_t(rank) * p.kv_token_stride + kv_head * head_dim;
  rotation.load(p.k + from, has_new && lane_group == 0, new_key);
  new_value[0] = load16_through_l1(p.v + from + c, has_new && lane_group == 0 && rotation.has_c);

  float q[ROWS][N];
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    unpack16<T>(rotation(q_parts[r], cos[r], sin[r]), q[r]);
#pragma unroll
    for (int i = 0; i < N; i++) q[r][i] *= p.scale * LOG2_E;
  }
  Softmax<ROWS, N> softmax;
  if (has_new) {
    const uint4 key[1] = {rotation(new_key, new_cos, new_sin)};
    softmax.template add<T, LANES>(q, key, new_value, [&](int r, int) { return lane_group == 0 && rank <= token(r); });
    new_key[0] = key[0];
  }
  // From the position on, the bucket holds no numbers.
#pragma unroll
  for (int u = 0; u < KEYS; u++)
    if (key_of(0, u) >= position) values[u] = make_uint4(0, 0, 0, 0);
  // Where nothing was loaded early, the pass before the first has no key: key_of wraps to more than any position.
  for (unsigned pass = p.early == 0 ? -1u : 0;;) {
    softmax.template add<T, LANES>(q, keys, values, [&](int, int u) { return key_of(pass, u) < position; });
    if (++pass * L::KEYS_PER_CLUSTER_PASS >= position) break;
    load_pass(pass, position);
  }

  // The groups of a warp, then the warps of the block, then the blocks of the cluster.
  softmax.template combine_groups<LANES>();
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    if (lane_id() == 0) shared.m[r][warp] = softmax.m[r], shared.l[r][warp] = softmax.l[r];
#pragma unroll
    for (int i = 0; i < N; i++)
      if (lane_group == 0) shared.o[r][warp][c + i] = softmax.o[r][i];
  }
  __syncthreads();
  cluster_wait(); // all blocks run
#pragma unroll
  for (int i = threadIdx.x; i < ROWS * D; i += THREADS) {
    const int r = i / D, element = i % ELEMENTS;
    float m = -INFINITY, l = 0.f, o = 0.f;
#pragma unroll
    for (int w = 0; w < WARPS; w++) m = fmaxf(m, shared.m[r][w]);
#pragma unroll
    for (int w = 0; w < WARPS; w++) {
      const float factor = softmax_weight(shared.m[r][w], m);
      l += factor * shared.l[r][w], o += factor * shared.o[r][w][i % D];
    }
    Message<ELEMENTS> &part = shared.parts[rank];
    store_remote(&part.o[element], i / ELEMENTS, o);
    if (element == 0) store_remote(&part.m, i / ELEMENTS, m), store_remote(&part.l, i / ELEMENTS, l);
  }
  cluster_arrive();
  cluster_wait();

  // One of the clusters that share the key head appends: now that no block of it reads this place early.
  if (has_new && first == 0 && lane_group == 0 && rotation.has_c) {
    const size_t at = cache + size_t(position + rank) * head_dim + c;
    *reinterpret_cast<uint4 *>(p.keys + at) = new_key[0];
    *reinterpret_cast<uint4 *>(p.values + at) = new_value[0];
  }
  if (threadIdx.x >= ELEMENTS) return;
  const int i = rank * ELEMENTS + threadIdx.x, r = i / D;
  float m = -INFINITY, l = 0.f, o = 0.f;
#pragma unroll
  for (int b = 0; b < BLOCKS<ROWS>; b++) m = fmaxf(m, shared.parts[b].m);
#pragma unroll
  for (int b = 0; b < BLOCKS<ROWS>; b++) {
    const float factor = softmax_weight(shared.parts[b].m, m);
    l += factor * shared.parts[b].l, o += factor * shared.parts[b].o[threadIdx.x];
  }
  if (has(r) && i % D < head_dim)
    store(p.y + ((size_t(batch) * p.tokens + token(r)) * p.heads + head(r)) * head_dim + i % D, o / l);
}

// Heads of up to D channels, and ROWS rows per cluster.
#define STEP(NAME, T, D, ROWS)                                                                                       \
  extern "C" __global__ void __cluster_dims__(BLOCKS<ROWS>, 1, 1) __launch_bounds__(THREADS)                         \
      NAME(const T *q, const T *k, const T *v, const T *cos, const T *sin, T *keys, T *values, T *y,                 \
           const unsigned *position, unsigned q_batch_stride, unsigned q_token_stride, unsigned kv_batch_stride,     \
           unsigned kv_token_stride, unsigned tokens, unsigned heads, unsigned kv_heads, unsigned half_dim,          \
           unsigned capacity, unsigned early, float scale) {                                                         \
    step<T, D, ROWS>(Step<T>{q, k, v, cos, sin, keys, values, y, position, q_batch_stride, q_token_stride,           \
                             kv_batch_stride, kv_token_stride, tokens, heads, kv_heads, half_dim, capacity, early,   \
                             scale});                                                                                \
  }

STEP(attention_step_d32x1_f32_level5, float, 32, 1)
STEP(attention_step_d32x4_f32_level5, float, 32, 4)
STEP(attention_step_d64x1_f32_level5, float, 64, 1)
STEP(attention_step_d64x4_f32_level5, float, 64, 4)
STEP(attention_step_d128x1_f32_level5, float, 128, 1)
STEP(attention_step_d128x4_f32_level5, float, 128, 4)
STEP(attention_step_d32x1_bf16_level5, bf16, 32, 1)
STEP(attention_step_d32x4_bf16_level5, bf16, 32, 4)
STEP(attention_step_d64x1_bf16_level5, bf16, 64, 1)
STEP(attention_step_d64x4_bf16_level5, bf16, 64, 4)
STEP(attention_step_d128x1_bf16_level5, bf16, 128, 1)
STEP(attention_step_d128x4_bf16_level5, bf16, 128, 4)
