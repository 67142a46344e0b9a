// Level 4 of attention, f32: online softmax; one tile of queries per block, scores in registers.
//
// Level 3 has one block per query: all its scores lie in shared memory, then come their maximum, their sum, and the
// mean of v. Here a block takes BM queries, and a tile of BN keys and values in shared memory serves all of them, so
// keys and values are read BM times less often. The softmax is computed tile by tile: each tile may raise the maximum
// m so far to m′, and the accumulators are scaled by exp(m − m′) ("Online normalizer calculation for softmax", Milakov
// and Gimelshein 2018; "FlashAttention", Dao et al. 2022). So no sequence is too long, and a score stays in a register
// from its dot product to its exponential. The next tile is loaded into registers while this one is multiplied.
// Prediction: a warp reads 12 times 16 bytes per lane from shared memory, 40 wavefronts, for 128 FFMA, 32 cycles. So both
// units are about equally busy, the FFMA units at least half of the time; 1/BM of level 3's bytes from L2.
//
//   s = q·kᵀ/√D   m′ = max(m, max s)   p = exp(s − m′)   l ← l·exp(m − m′) + Σp   o ← o·exp(m − m′) + p·v
//   y = o/l
//
// Launch: grid (H, ⌈T/BM⌉, B). A warp has 4·TM queries. A thread has TM of them, and for each BN/8 keys and D/8
// channels. Shuffles between the 8 lanes that share a query find the maximum and the sum over its keys, so that warps
// wait for each other only where a tile changes, and before p takes the place of k. TM is 4; where that makes fewer
// blocks than a GPU has room for, TM is 1, and four times as many blocks (twice with D = 128) take a quarter of the
// time each. Tiles above the diagonal are skipped, and the last queries, which have the most keys, start first.
//
// To be faster: tensor cores, which bf16 has (tile_mma.cu), and f32 with each operand split in two
// (level5/tile_tf32x3.cu); a split over the keys where there are few queries (decode.cu).
//
// Measured on an NVIDIA H200: causal_attention_prefill 4x4096x16x16x128 f32 with its other launches at 38% of the fastest f32 matmul; see kernels/generated/attention/level4/tile_f32.md.
#include "attention/params.cuh"

// A tile of BM queries and BN keys. It fits in the 64 KiB of shared memory that a block has on a Turing GPU.
template <int D, int TM>
struct QkTile {
  static constexpr int WARPS = D <= 80 || TM == 1 ? 4 : 2, THREADS = WARP * WARPS;
  static constexpr int BM = WARPS * 4 * TM, BN = D <= 80 ? 64 : 32;
  static constexpr int TN = BN / 8;                             // keys of a thread, 8 apart
  static constexpr int CHANNELS_PER_LOAD = D % 32 == 0 ? 4 : 2; // neighbouring channels of a thread
  static constexpr int CHUNKS = D / (8 * CHANNELS_PER_LOAD);    // groups of them, 8·CHANNELS_PER_LOAD apart
  // Floats from one row to the next: 8 rows of q or k, and 4 of p, lie in different banks.
  static constexpr int PITCH = D + 4, P_PITCH = BN + 8;
};

// A warp's lanes are 4 rows × 8 columns; the rows of a thread are 4 apart.
__device__ __forceinline__ int lane_row() { return lane_id() / 8; }
__device__ __forceinline__ int lane_column() { return lane_id() % 8; }

// ROWS × D floats in flight from global to shared memory, 16 bytes at a time, through registers. `fetch` starts the
// loads and `put` waits for them; work between the two hides their latency.
template <int ROWS, int D, int PITCH, int THREADS>
struct TileInFlight {
  static constexpr int COUNT = (ROWS * D / 4 + THREADS - 1) / THREADS;
  float4 x[COUNT];

  // Zeros beyond `rows` and beyond `d` channels.
  __device__ __forceinline__ void fetch(const float *from, unsigned stride, unsigned rows, unsigned d) {
#pragma unroll
    for (unsigned n = 0; n < COUNT; n++) {
      unsigned i = n * THREADS + threadIdx.x, row = i / (D / 4), c = i % (D / 4) * 4;
      x[n] = row < rows && c < d ? load4(from + size_t(row) * stride + c) : make_float4(0.f, 0.f, 0.f, 0.f);
    }
  }
  __device__ __forceinline__ void put(float *tile, float factor) const {
#pragma unroll
    for (unsigned n = 0; n < COUNT; n++) {
      unsigned i = n * THREADS + threadIdx.x;
      float4 y = make_float4(x[n].x * factor, x[n].y * factor, x[n].z * factor, x[n].w * factor);
      if (i < ROWS * D / 4) store4(tile + i / (D / 4) * PITCH + i % (D / 4) * 4, y);
    }
  }
  // `fetch` and `put` one element at a time, for rows that are not 16-byte aligned.
  static __device__ __forceinline__ void copy(float *tile, float factor, const float *from, unsigned stride,
                                              unsigned rows, unsigned d) {
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < ROWS * D; i += THREADS) {
      unsigned row = i / D, c = i % D;
      tile[row * PITCH + c] = row < rows && c < d ? from[size_t(row) * stride + c] * factor : 0.f;
    }
  }
};

// s = q·kᵀ, from this thread's first row of either tile.
template <int D, int TM>
__device__ __forceinline__ void dot(const float *q, const float *k, float (&s)[TM][QkTile<D, TM>::TN]) {
  constexpr int TN = QkTile<D, TM>::TN, PITCH = QkTile<D, TM>::PITCH;
#pragma unroll 4
  for (int c = 0; c < D; c += 4) {
    float4 b[TN];
#pragma unroll
    for (int j = 0; j < TN; j++) b[j] = load4(k + 8 * j * PITCH + c);
#pragma unroll
    for (int i = 0; i < TM; i++) {
      float4 a = load4(q + 4 * i * PITCH + c);
#pragma unroll
      for (int j = 0; j < TN; j++) {
        s[i][j] += a.x * b[j].x;
        s[i][j] += a.y * b[j].y;
        s[i][j] += a.z * b[j].z;
        s[i][j] += a.w * b[j].w;
      }
    }
  }
}

// The softmax of a thread's queries over the keys so far: the maximum score m, the thread's share l of the sum of
// exponentials, and its share o of Σ p·v.
template <int D, int TM>
struct State {
  float m[TM], l[TM] = {}, o[TM][D / 8] = {};
  __device__ __forceinline__ State() {
#pragma unroll
    for (int i = 0; i < TM; i++) m[i] = -INFINITY;
  }
};

// Turns scores into exponentials, and scales l and o to the new maximum.
template <int D, int TM>
__device__ __forceinline__ void online_softmax(float (&s)[TM][QkTile<D, TM>::TN], State<D, TM> &state) {
  constexpr int TN = QkTile<D, TM>::TN;
#pragma unroll
  for (int i = 0; i < TM; i++) {
    float m = state.m[i];
#pragma unroll
    for (int j = 0; j < TN; j++) m = fmaxf(m, s[i][j]);
    m = warp_max<8>(m);
    float scale = exp2_approx(state.m[i] - m);
    state.m[i] = m;
    state.l[i] *= scale;
#pragma unroll
    for (int j = 0; j < TN; j++) {
      s[i][j] = exp2_approx(s[i][j] - m);
      state.l[i] += s[i][j];
    }
#pragma unroll
    for (int c = 0; c < D / 8; c++) state.o[i][c] *= scale;
  }
}

// o += p·v, from this thread's first row of p and first channel of v.
template <int D, int TM>
__device__ __forceinline__ void add_weighted_values(const float *p, const float *v, float (&o)[TM][D / 8]) {
  using Shape = QkTile<D, TM>;
  constexpr int CHANNELS_PER_LOAD = Shape::CHANNELS_PER_LOAD;
#pragma unroll 2
  for (int key = 0; key < Shape::BN; key += 4) {
    float a[TM][4];
#pragma unroll
    for (int i = 0; i < TM; i++) load16(p + 4 * i * Shape::P_PITCH + key, a[i]);
#pragma unroll
    for (int e = 0; e < 4; e++) {
#pragma unroll
      for (int chunk = 0; chunk < Shape::CHUNKS; chunk++) {
        const float *from = v + (key + e) * D + chunk * 8 * CHANNELS_PER_LOAD;
        float b[CHANNELS_PER_LOAD];
        if constexpr (CHANNELS_PER_LOAD == 4) {
          load16(from, b);
        } else {
          float2 two = *reinterpret_cast<const float2 *>(from);
          b[0] = two.x, b[1] = two.y;
        }
#pragma unroll
        for (int i = 0; i < TM; i++)
#pragma unroll
          for (int x = 0; x < CHANNELS_PER_LOAD; x++) o[i][chunk * CHANNELS_PER_LOAD + x] += a[i][e] * b[x];
      }
    }
  }
}

// y = o/l, of this thread's rows and channels.
template <int D, int TM>
__device__ __forceinline__ void write(const Params<float> &params, int first, const State<D, TM> &state) {
  constexpr int CHANNELS_PER_LOAD = QkTile<D, TM>::CHANNELS_PER_LOAD;
#pragma unroll
  for (int i = 0; i < TM; i++) {
    float scale = 1.f / warp_sum<8>(state.l[i]);
    int t = first + 4 * i;
    if (t >= params.queries) continue;
    float *y = params.result(blockIdx.z, t, blockIdx.x);
#pragma unroll
    for (int n = 0; n < D / 8; n++) {
      int c = (n / CHANNELS_PER_LOAD * 8 + lane_column()) * CHANNELS_PER_LOAD + n % CHANNELS_PER_LOAD;
      if (c < params.head_dim) y[c] = state.o[i][n] * scale;
    }
  }
}

// Sets the scores of keys that a query does not see to −∞.
template <int D, int TM>
__device__ __forceinline__ void mask(const Params<float> &params, int key, int t, float (&s)[TM][QkTile<D, TM>::TN]) {
#pragma unroll
  for (int i = 0; i < TM; i++)
#pragma unroll
    for (int j = 0; j < QkTile<D, TM>::TN; j++)
      if (key + 8 * j >= params.visible_to(t + 4 * i)) s[i][j] = -INFINITY;
}

template <int D, int TM>
__device__ __forceinline__ void attention(const Params<float> &params) {
  using Shape = QkTile<D, TM>;
  constexpr int BM = Shape::BM, BN = Shape::BN, PITCH = Shape::PITCH, P_PITCH = Shape::P_PITCH;
  constexpr int KP = BN * PITCH > BM * P_PITCH ? BN * PITCH : BM * P_PITCH;
  using Q = TileInFlight<BM, D, PITCH, Shape::THREADS>;
  using K = TileInFlight<BN, D, PITCH, Shape::THREADS>;
  using V = TileInFlight<BN, D, D, Shape::THREADS>;
  extern __shared__ float4 shared[];
  float *q_tile = reinterpret_cast<float *>(shared), *k_tile = q_tile + BM * PITCH, *v_tile = k_tile + KP;
  int row = threadIdx.x / WARP * 4 * TM + lane_row(), column = lane_column();
  int first = (gridDim.y - 1 - blockIdx.y) * BM; // of the block's queries
  int end = params.visible_to(min(first + BM, int(params.queries)) - 1);
  float *p = k_tile + row * P_PITCH; // p takes the place of k, once k is used
  const float *q_from = params.query(blockIdx.z, first, blockIdx.x);
  size_t kv_offset = params.kv_offset(blockIdx.z, blockIdx.x / params.heads_of_key);
  size_t tile_stride = size_t(BN) * params.kv_token_stride; // elements from a tile of keys to the next
  const float *k_from = params.k + kv_offset, *v_from = params.v + kv_offset;
  bool is_aligned = params.is_aligned();
  K k;
  V v;
  if (is_aligned) {
    Q q;
    q.fetch(q_from, params.q_token_stride, params.queries - first, params.head_dim);
    k.fetch(k_from, params.kv_token_stride, end, params.head_dim);
    v.fetch(v_from, params.kv_token_stride, end, params.head_dim);
    q.put(q_tile, params.scale * LOG2_E);
  } else {
    Q::copy(q_tile, params.scale * LOG2_E, q_from, params.q_token_stride, params.queries - first, params.head_dim);
  }

  State<D, TM> state;
  for (int key = 0; key < end; key += BN, k_from += tile_stride, v_from += tile_stride) {
    __syncthreads(); // no warp reads the earlier tiles any more
    if (is_aligned) {
      k.put(k_tile, 1.f);
      v.put(v_tile, 1.f);
    } else {
      K::copy(k_tile, 1.f, k_from, params.kv_token_stride, end - key, params.head_dim);
      V::copy(v_tile, 1.f, v_from, params.kv_token_stride, end - key, params.head_dim);
    }
    __syncthreads();
    if (is_aligned && key + BN < end) {
      k.fetch(k_from + tile_stride, params.kv_token_stride, end - key - BN, params.head_dim);
      v.fetch(v_from + tile_stride, params.kv_token_stride, end - key - BN, params.head_dim);
    }
    float s[TM][Shape::TN] = {};
    dot<D, TM>(q_tile + row * PITCH, k_tile + column * PITCH, s);
    if (key + BN > params.visible_to(first)) // a tile on the diagonal, or the last one
      mask<D, TM>(params, key + column, first + row, s);
    online_softmax<D, TM>(s, state);
    __syncthreads(); // no warp reads k any more
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
      for (int j = 0; j < Shape::TN; j++) p[4 * i * P_PITCH + column + 8 * j] = s[i][j];
    __syncwarp(); // a warp reads only its own rows of p
    add_weighted_values<D, TM>(p, v_tile + column * Shape::CHANNELS_PER_LOAD, state.o);
  }
  write<D, TM>(params, first + row, state);
}

// The name of an entry says D and QUERIES.
#define KERNEL(NAME, D, TM, QUERIES)                                                                                 \
  extern "C" __global__ void __launch_bounds__(QkTile<D, TM>::THREADS, TM == 1 ? 3 : 2) NAME(PARAMS(float)) {        \
    static_assert(QkTile<D, TM>::BM == QUERIES);                                                                     \
    attention<D, TM>(MAKE_PARAMS(float));                                                                            \
  }

KERNEL(attention_d16x16_f32_level4, 16, 1, 16)
KERNEL(attention_d16x64_f32_level4, 16, 4, 64)
KERNEL(attention_d32x16_f32_level4, 32, 1, 16)
KERNEL(attention_d32x64_f32_level4, 32, 4, 64)
KERNEL(attention_d64x16_f32_level4, 64, 1, 16)
KERNEL(attention_d64x64_f32_level4, 64, 4, 64)
KERNEL(attention_d80x16_f32_level4, 80, 1, 16)
KERNEL(attention_d80x64_f32_level4, 80, 4, 64)
KERNEL(attention_d128x16_f32_level4, 128, 1, 16)
KERNEL(attention_d128x32_f32_level4, 128, 4, 32)
