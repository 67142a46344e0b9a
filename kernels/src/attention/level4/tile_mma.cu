// Level 4 of attention, bf16: the tiles of tile_f32.cu on tensor cores.
//
// Against tile_f32.cu:
//   - Both matmuls are mma.sync m16n8k16: 2048 multiply-adds of bf16 in one instruction of a warp, accumulated in f32.
//     A warp has 16 queries as the left operand in registers.
//   - The accumulators of q·kᵀ, 16 queries × 8 keys, lie in the lanes just as p·v wants its left operand, 16 queries ×
//     16 keys: two tiles of scores side by side. So the exponentials are packed to bf16 in their registers, and p never
//     goes through shared memory ("FlashAttention-2", Dao 2023).
//   - cp.async copies keys and values to shared memory without registers, the next tile while this one is multiplied.
// Prediction: limited by mma.sync and by the reads of its right operands from shared memory, 8 bytes per lane for each
// mma; the exponentials, one for 2·D multiply-adds, are the next limit.
//
// Fragments, for lane = 4·g + i: the left operand has rows g and g + 8, columns 2i, 2i + 1, 2i + 8 and
// 2i + 9; the right one rows 2i, 2i + 1, 2i + 8 and 2i + 9, column g; the result rows g and g + 8,
// columns 2i and 2i + 1. ldmatrix brings four 8 × 8 blocks at once in that form, or transposed.
//
// Launch: grid (H, ⌈T/64⌉, B), 128 threads, 16 queries per warp; 64 keys at a time. Shared memory: q, and twice k and
// v, 64 rows each with a pitch of D + 8, so that 8 rows of 16 bytes lie in different banks.
//
// To be faster: 32 queries per warp halve the reads of keys and values from shared memory. Hopper's wgmma
// reads both operands from there, for four warps at once, as level5/tile_wgmma.cu does.
//
// Compiled for sm_80.
//
// Measured on an NVIDIA H200: causal_attention_prefill 4x4096x16x16x128 bf16 with its other launches at 33% of the fastest bf16 matmul; see kernels/generated/attention/level4/tile_mma.md.
#include "attention/params.cuh"
#include "attention/scores.cuh"
#include "common/mma.cuh"

constexpr int WARPS = 4, THREADS = WARPS * WARP, BM = WARPS * 16, BN = 64;

template <int D>
constexpr int PITCH = D + 8; // elements

// As copy16 of mma.cuh, but `from` is not converted to an address of global memory, which is the same number.
__device__ __forceinline__ void copy16(bf16 *to, const bf16 *from, bool is_there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"(shared_address(to)), "l"(from), "r"(is_there ? 16 : 0)
               : "memory");
}

// ROWS × D to shared memory; zeros beyond `rows` and beyond `d` channels.
template <int ROWS, int D>
__device__ __forceinline__ void load_tile(bf16 *tile, const bf16 *from, unsigned stride, unsigned rows, unsigned d,
                                          bool is_aligned) {
  if (!is_aligned) { // one element at a time, and complete when this returns
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < ROWS * D; i += THREADS) {
      unsigned row = i / D, c = i % D;
      tile[row * PITCH<D> + c] = row < rows && c < d ? from[size_t(row) * stride + c] : bf16{0};
    }
    return;
  }
#pragma unroll
  for (unsigned n = 0; n < ROWS * D / 8 / THREADS; n++) {
    unsigned i = n * THREADS + threadIdx.x, row = i / (D / 8), c = i % (D / 8) * 8;
    bool is_there = row < rows && c < d;
    copy16(tile + row * PITCH<D> + c, from + (is_there ? size_t(row) * stride + c : 0), is_there);
  }
}

// Scores of 16 queries and BN keys, in tiles of 8 keys.
using Scores = float[BN / 8][4];

// The softmax of a lane's queries g and g + 8 over the keys so far: the maximum score m, the lane's share l of the sum
// of exponentials, and its share o of Σ p·v.
template <int D>
struct State {
  float m[2] = {-INFINITY, -INFINITY}, l[2] = {}, o[D / 8][4] = {};
};

// s = q·kᵀ of 16 queries and BN keys
template <int D>
__device__ __forceinline__ void dot(const unsigned (&q)[D / 16][4], const bf16 *k, Scores &s) {
  const bf16 *row = k + (lane_id() / 16 * 8 + lane_id() % 8) * PITCH<D> + lane_id() / 8 % 2 * 8;
#pragma unroll
  for (int c = 0; c < D / 16; c++)
#pragma unroll
    for (int j = 0; j < BN / 8; j += 2) {
      unsigned b[4]; // channels 16c.. and 16c + 8.. of the keys 8j.. and 8j + 8..
      load_matrices(b, shared_address(row + 8 * j * PITCH<D> + 16 * c));
      mma(s[j], q[c], b[0], b[1]);
      mma(s[j + 1], q[c], b[2], b[3]);
    }
}

// Turns scores into exponentials, and scales l and o to the new maximum.
template <int D>
__device__ __forceinline__ void online_softmax(Scores &s, float factor, State<D> &state) {
#pragma unroll
  for (int h = 0; h < 2; h++) { // queries g and g + 8
    float scale = online_softmax(s, h, factor, state.m[h], state.l[h]);
#pragma unroll
    for (int c = 0; c < D / 8; c++) state.o[c][2 * h] *= scale, state.o[c][2 * h + 1] *= scale;
  }
}

// o += p·v of BN keys
template <int D>
__device__ __forceinline__ void add_weighted_values(const Scores &p, const bf16 *v, float (&o)[D / 8][4]) {
  const bf16 *row = v + lane_id() % 16 * PITCH<D> + lane_id() / 16 * 8;
#pragma unroll
  for (int j = 0; j < BN / 8; j += 2) {
    unsigned a[4];
#pragma unroll
    for (int e = 0; e < 4; e++) a[e] = pack_bf16(p[j + e / 2][e % 2 * 2], p[j + e / 2][e % 2 * 2 + 1]);
#pragma unroll
    for (int c = 0; c < D / 8; c += 2) {
      unsigned b[4]; // keys 8j.. and 8j + 8.. of the channels 8c.. and 8c + 8..
      load_matrices_transposed(b, shared_address(row + 8 * j * PITCH<D> + 8 * c));
      mma(o[c], a, b[0], b[1]);
      mma(o[c + 1], a, b[2], b[3]);
    }
  }
}

// y = o/l, of query `first` + g and the one 8 below.
template <int D>
__device__ __forceinline__ void write(const Params<bf16> &params, int first, const State<D> &state) {
#pragma unroll
  for (int h = 0; h < 2; h++) {
    float scale = 1.f / warp_sum<4>(state.l[h]);
    int t = first + lane_id() / 4 + 8 * h;
    if (t >= params.queries) continue;
    bf16 *y = params.result(blockIdx.z, t, blockIdx.x);
#pragma unroll
    for (int j = 0; j < D / 8; j++) {
      int c = 8 * j + lane_id() % 4 * 2;
      float low = state.o[j][2 * h] * scale, high = state.o[j][2 * h + 1] * scale;
      if (params.head_dim % 2 == 0) {
        if (c < params.head_dim) *reinterpret_cast<unsigned *>(y + c) = pack_bf16(low, high);
      } else {
        if (c < params.head_dim) store(y + c, low);
        if (c + 1 < params.head_dim) store(y + c + 1, high);
      }
    }
  }
}

template <int D>
__device__ __forceinline__ void attention(const Params<bf16> &params) {
  constexpr int TILE = BN * PITCH<D>;
  extern __shared__ float4 shared[];
  bf16 *k_tiles = reinterpret_cast<bf16 *>(shared), *v_tiles = k_tiles + 2 * TILE, *q_tile = v_tiles + 2 * TILE;
  int first = (gridDim.y - 1 - blockIdx.y) * BM, row = threadIdx.x / WARP * 16, g = lane_id() / 4;
  int end = params.visible_to(min(first + BM, int(params.queries)) - 1);
  int visible[2] = {params.visible_to(first + row + g), params.visible_to(first + row + g + 8)};
  size_t kv_offset = params.kv_offset(blockIdx.z, blockIdx.x / params.heads_of_key);
  bool is_aligned = params.is_aligned();
  auto load_keys = [&](int key, int stage) {
    size_t from = kv_offset + size_t(key) * params.kv_token_stride;
    auto load = [&](bf16 *tiles, const bf16 *x) {
      load_tile<BN, D>(tiles + stage * TILE, x + from, params.kv_token_stride, end - key, params.head_dim, is_aligned);
    };
    load(k_tiles, params.k);
    load(v_tiles, params.v);
    copy_commit();
  };

  load_tile<BM, D>(q_tile, params.query(blockIdx.z, first, blockIdx.x), params.q_token_stride, params.queries - first,
                   params.head_dim, is_aligned);
  load_keys(0, 0);
  copy_wait<0>();
  __syncthreads();
  unsigned q[D / 16][4];
#pragma unroll
  for (int c = 0; c < D / 16; c++)
    load_matrices(q[c], shared_address(q_tile + (row + lane_id() % 16) * PITCH<D> + 16 * c + lane_id() / 16 * 8));

  State<D> state;
  for (int key = 0, stage = 0; key < end; key += BN, stage ^= 1) {
    if (key + BN < end) load_keys(key + BN, stage ^ 1);
    Scores s = {};
    dot<D>(q, k_tiles + stage * TILE, s);
    if (key + BN > params.visible_to(first)) mask(s, key, visible); // a tile on the diagonal, or the last one
    online_softmax<D>(s, params.scale * LOG2_E, state);
    add_weighted_values<D>(s, v_tiles + stage * TILE, state.o);
    copy_wait<0>();
    __syncthreads(); // the next tile is complete, and no warp reads this one any more
  }
  write<D>(params, first + row, state);
}

// The name of an entry says D and BM. The registers of an SM are enough for three blocks, for two with D = 128.
#define KERNEL(NAME, D)                                                                                              \
  extern "C" __global__ void __launch_bounds__(THREADS, D <= 80 ? 3 : 2) NAME(PARAMS(bf16)) {                        \
    attention<D>(MAKE_PARAMS(bf16));                                                                                 \
  }

KERNEL(attention_d16x64_bf16_level4, 16)
KERNEL(attention_d32x64_bf16_level4, 32)
KERNEL(attention_d64x64_bf16_level4, 64)
KERNEL(attention_d80x64_bf16_level4, 80)
KERNEL(attention_d128x64_bf16_level4, 128)
