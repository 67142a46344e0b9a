// Level 4: online softmax; a tile of queries a block, scores in registers. f32.
//
// Against level 3 (a block a query; all its scores in shared memory, then their maximum, then the sum,
// then the mean of v): a block takes BM queries, and a tile of BN keys and values in shared memory
// serves all of them, so keys and values are read BM times less often. The softmax goes along: with each
// tile the maximum m so far may rise to m′, and what was summed is scaled by exp(m − m′) ("Online
// normalizer calculation for softmax", Milakov and Gimelshein 2018; "FlashAttention", Dao et al. 2022).
// So no length is too long, and a score lives in a register from its dot product to its exponential.
// Prediction: 4·S·D FFMA operations a query at two thirds of their rate, since 256 of them go with 32
// wavefronts of shared memory; S/BM of level 3's bytes from L2.
//
//   s = q·kᵀ/√D   m′ = max(m, max s)   p = exp(s − m′)   l ← l·exp(m − m′) + Σp   o ← o·exp(m − m′) + p·v
//   y = o/l
//
// Launch: grid (⌈T/BM⌉, H, B). A warp has 16 queries, and of them a thread 4, of BN/8 keys each and D/8
// channels each: the sums over the keys of a row go by shuffles between the 8 lanes that share it, and
// no warp waits for another but for the tiles. Tiles above the diagonal are not looked at, and the last
// queries, which have the most keys, start first.
//
// What would make it faster: tensor cores, which bf16 has (level4_sm80.cu); the next tile on its way
// while this one is worked on; and a split over the keys where there are few queries (level4_decode.cu).
#include "attention/operands.cuh"

constexpr int TM = 4; // queries of a thread, 4 apart

// Queries and keys of a tile. Together they fit in the 64 KiB that a Turing GPU grants a block.
template <int D>
struct Tile {
  static constexpr int WARPS = D <= 80 ? 4 : 2, BM = 16 * WARPS, BN = D <= 80 ? 64 : 32;
  static constexpr int TN = BN / 8;                // keys of a thread, 8 apart
  static constexpr int VECTOR = D % 32 == 0 ? 4 : 2; // neighbouring channels of a thread
  static constexpr int CHUNKS = D / (8 * VECTOR);  // groups of them, 8·VECTOR apart
  // Floats from one row to the next: 8 rows of q or k, and 4 of p, lie in different banks.
  static constexpr int PITCH = D + 4, P_PITCH = BN + 8;
};

// A warp's lanes are 4 rows × 8 columns. Neighbours t and t^1 share a column and t and t^2 a row: for
// 16-byte loads that is when two quarters of the warp are served at once.
__device__ __forceinline__ int lane_row() { return (lane_id() & 1) | (lane_id() >> 1 & 2); }
__device__ __forceinline__ int lane_column() { return (lane_id() >> 1 & 1) | (lane_id() >> 2 & 6); }

// Over the 8 lanes of a row, which differ in these bits.
template <typename F>
__device__ __forceinline__ float over_row(float x, F join) {
  x = join(x, __shfl_xor_sync(ALL_LANES, x, 2));
  x = join(x, __shfl_xor_sync(ALL_LANES, x, 8));
  return join(x, __shfl_xor_sync(ALL_LANES, x, 16));
}
__device__ __forceinline__ float row_max(float x) {
  return over_row(x, [](float a, float b) { return fmaxf(a, b); });
}
__device__ __forceinline__ float row_sum(float x) {
  return over_row(x, [](float a, float b) { return a + b; });
}

// ROWS × D floats to shared memory, times `factor`; zeros beyond `rows` and beyond `d` channels.
template <int ROWS, int D, int PITCH, int THREADS>
__device__ __forceinline__ void load_tile(float *tile, const float *from, size_t stride, int rows, int d, bool whole,
                                          float factor) {
  if (!whole) { // one element at a time
    for (int i = threadIdx.x; i < ROWS * D; i += THREADS) {
      int row = i / D, c = i % D;
      tile[row * PITCH + c] = row < rows && c < d ? from[row * stride + c] * factor : 0.f;
    }
    return;
  }
#pragma unroll 4
  for (int n = 0; n < ROWS * D / 4 / THREADS; n++) {
    int i = n * THREADS + threadIdx.x, row = i / (D / 4), c = i % (D / 4) * 4;
    float4 x = row < rows && c < d ? load4(from + row * stride + c) : make_float4(0.f, 0.f, 0.f, 0.f);
    store4(tile + row * PITCH + c, make_float4(x.x * factor, x.y * factor, x.z * factor, x.w * factor));
  }
}

// s = q·kᵀ, from this thread's first row of either tile.
template <int D>
__device__ __forceinline__ void dot(const float *q, const float *k, float (&s)[TM][Tile<D>::TN]) {
  constexpr int TN = Tile<D>::TN, PITCH = Tile<D>::PITCH;
#pragma unroll 1
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

// What a thread knows of its queries: of the keys so far the greatest score, its share of the sum of
// exponentials, and of the mean of v before it is divided.
template <int D>
struct State {
  float m[TM], l[TM], o[TM][D / 8];
};

// Scores become exponentials, and what came before is scaled to the new maximum.
template <int D>
__device__ __forceinline__ void online_softmax(float (&s)[TM][Tile<D>::TN], State<D> &state) {
  constexpr int TN = Tile<D>::TN;
#pragma unroll
  for (int i = 0; i < TM; i++) {
    float m = state.m[i];
#pragma unroll
    for (int j = 0; j < TN; j++) m = fmaxf(m, s[i][j]);
    m = row_max(m);
    float scale = exp2f(state.m[i] - m);
    state.m[i] = m;
    state.l[i] *= scale;
#pragma unroll
    for (int j = 0; j < TN; j++) {
      s[i][j] = exp2f(s[i][j] - m);
      state.l[i] += s[i][j];
    }
#pragma unroll
    for (int c = 0; c < D / 8; c++) state.o[i][c] *= scale;
  }
}

// o += p·v, from this thread's first row of p and first channel of v.
template <int D>
__device__ __forceinline__ void weigh(const float *p, const float *v, float (&o)[TM][D / 8]) {
  constexpr int VECTOR = Tile<D>::VECTOR, CHUNKS = Tile<D>::CHUNKS;
#pragma unroll 1
  for (int key = 0; key < Tile<D>::BN; key += 4) {
    float a[TM][4];
#pragma unroll
    for (int i = 0; i < TM; i++) load16(p + 4 * i * Tile<D>::P_PITCH + key, a[i]);
#pragma unroll
    for (int e = 0; e < 4; e++) {
#pragma unroll
      for (int chunk = 0; chunk < CHUNKS; chunk++) {
        const float *from = v + (key + e) * D + chunk * 8 * VECTOR;
        float b[VECTOR];
        if constexpr (VECTOR == 4) {
          load16(from, b);
        } else {
          float2 two = *reinterpret_cast<const float2 *>(from);
          b[0] = two.x, b[1] = two.y;
        }
#pragma unroll
        for (int i = 0; i < TM; i++)
#pragma unroll
          for (int x = 0; x < VECTOR; x++) o[i][chunk * VECTOR + x] += a[i][e] * b[x];
      }
    }
  }
}

// y = o/l, of this thread's rows and channels.
template <int D>
__device__ __forceinline__ void write(const Operands<float> &o, int first, State<D> &state) {
  constexpr int VECTOR = Tile<D>::VECTOR;
#pragma unroll
  for (int i = 0; i < TM; i++) {
    float l = row_sum(state.l[i]);
    int t = first + 4 * i;
    if (t >= o.queries) continue;
    float *y = o.result(blockIdx.z, t, blockIdx.y);
#pragma unroll
    for (int n = 0; n < D / 8; n++) {
      int c = (n / VECTOR * 8 + lane_column()) * VECTOR + n % VECTOR;
      if (c < o.head_dim) y[c] = state.o[i][n] / l;
    }
  }
}

template <int D>
__device__ __forceinline__ void attention(const Operands<float> &o) {
  using Tile = Tile<D>;
  constexpr int BM = Tile::BM, BN = Tile::BN, PITCH = Tile::PITCH, P_PITCH = Tile::P_PITCH, THREADS = 32 * Tile::WARPS;
  constexpr int KP = BN * PITCH > BM * P_PITCH ? BN * PITCH : BM * P_PITCH;
  extern __shared__ float4 shared[];
  float *q_tile = reinterpret_cast<float *>(shared), *k_tile = q_tile + BM * PITCH, *v_tile = k_tile + KP;
  float *p_tile = k_tile; // of k nothing is left when p comes
  int row = threadIdx.x / WARP * 16 + lane_row(), column = lane_column();
  int first = (gridDim.x - 1 - blockIdx.x) * BM; // of the block's queries
  int end = o.visible(min(first + BM, int(o.queries)) - 1);
  size_t kv = o.kv(blockIdx.z, blockIdx.y / o.group);
  bool whole = o.whole();

  load_tile<BM, D, PITCH, THREADS>(q_tile, o.query(blockIdx.z, first, blockIdx.y), o.q_token, o.queries - first,
                                   o.head_dim, whole, o.scale * LOG2_E);
  State<D> state = {};
#pragma unroll
  for (int i = 0; i < TM; i++) state.m[i] = -INFINITY;

  for (int key = 0; key < end; key += BN) {
    __syncthreads(); // the tiles before are done with
    size_t from = kv + size_t(key) * o.kv_token;
    load_tile<BN, D, PITCH, THREADS>(k_tile, o.k + from, o.kv_token, end - key, o.head_dim, whole, 1.f);
    load_tile<BN, D, D, THREADS>(v_tile, o.v + from, o.kv_token, end - key, o.head_dim, whole, 1.f);
    __syncthreads();
    float s[TM][Tile::TN] = {};
    dot<D>(q_tile + row * PITCH, k_tile + column * PITCH, s);
    if (key + BN > o.visible(first)) { // a tile on the diagonal, or the last one
#pragma unroll
      for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < Tile::TN; j++)
          if (key + column + 8 * j >= o.visible(first + row + 4 * i)) s[i][j] = -INFINITY;
    }
    online_softmax<D>(s, state);
    __syncthreads(); // every warp is done with k
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
      for (int j = 0; j < Tile::TN; j++) p_tile[(row + 4 * i) * P_PITCH + column + 8 * j] = s[i][j];
    __syncwarp(); // a warp reads its own rows of p alone
    weigh<D>(p_tile + row * P_PITCH, v_tile + column * Tile::VECTOR, state.o);
  }
  write<D>(o, first + row, state);
}

#define KERNEL(D)                                                                                                    \
  extern "C" __global__ void __launch_bounds__(32 * Tile<D>::WARPS, 4) attention_d##D##_f32_level4(OPERANDS(float)) {   \
    attention<D>(TAKE_OPERANDS(float));                                                                              \
  }

KERNEL(16)
KERNEL(32)
KERNEL(64)
KERNEL(80)
KERNEL(128)
