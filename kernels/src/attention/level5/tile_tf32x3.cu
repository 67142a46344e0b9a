// Level 5 of attention, f32: the tiles of level4/tile_mma.cu, three products of TF32 in place of one product of f32.
//
// Against level4/tile_f32.cu, which has one FFMA for each multiply-add of a lane:
//   - Tensor cores take an f32 in two parts (common/split_tf32.cuh): three mma.sync m16n8k8 for a product. A warp has
//     16 queries, and scores stay in registers from the first matmul to the second, as in bf16.
//   - Four steps have accumulators of their own, which are then added in f32, because tensor cores truncate where an
//     FFMA rounds. In the second matmul four steps are the 32 keys of a tile, and the addition is the scaling of the
//     earlier accumulators: o ← o·exp(m − m′) + p·v is one FFMA.
//   - One tile of keys and one of values in shared memory, not two of each: the next keys are loaded while values are
//     multiplied, and the next values while keys are. That is half of the memory, so more blocks fit an SM.
//
// A matmul may sum in any order, and the columns of its result may stand in any order:
//     column i of p is key 2i, column 4 + i is key 2i + 1    because the lane that has their scores needs them
//     column g of the n-th v is channel 4g + n               because four n are 16 bytes, read and written at once
//
// Prediction, from the throughput of level 5's matmul and of level 4's tiles here (benches/NOTES.md): two to three times
// as fast, less the time of the exponentials, which the FFMA units no longer hide.
//
// Launch: grid (H, ⌈T/64⌉, B), 128 threads, 16 queries per warp; 32 keys at a time. Shared memory: 64 rows of q and 32
// each of k and v with a pitch of D + 4 floats, so that 8 rows of 16 bytes lie in different banks.
//
// To be faster: each of four warps splits the same keys and values into two parts. 32 queries per warp
// would do that half as often, with registers for twice the accumulators. And a warp's tiles of keys are a chain, which
// is long in a prompt of few heads: a second group of four warps could take every other tile. It would have to stand next
// to this one, because it helps a long prompt and costs many images (benches/NOTES.md).
//
// Compiled for sm_80.
//
// Measured on an NVIDIA H200: causal_attention_prefill 4x4096x16x16x128 f32 with its other launches at 81% of the fastest f32 matmul; see kernels/generated/attention/level5/tile_tf32x3.md.
#include "attention/params.cuh"
#include "attention/scores.cuh"
#include "common/split_tf32.cuh"

constexpr int WARPS = 4, THREADS = WARPS * WARP, BM = WARPS * 16, BN = 32;

template <int D>
constexpr int PITCH = D + 4; // floats

// Scores of 16 queries and BN keys, in tiles of 8 keys; and accumulators of 16 queries and D channels, in tiles of 8
// channels. The channels of a tile are every fourth one: four tiles interleave to 32 channels.
using Scores = float[1][BN / 8][4];
template <int D>
using Accumulators = float[D / 32][4][4];

// The softmax of a lane's queries g and g + 8 over the keys so far: the maximum score m, the lane's share l of the sum
// of exponentials, and its share o of Σ p·v.
template <int D>
struct State {
  float m[2] = {-INFINITY, -INFINITY}, l[2] = {};
  Accumulators<D> o = {};
};

// ROWS × D to shared memory; zeros beyond `rows` and beyond `d` channels.
template <int ROWS, int D>
__device__ __forceinline__ void load_tile(float *tile, const float *from, unsigned stride, unsigned rows, unsigned d) {
#pragma unroll
  for (unsigned n = 0; n < ROWS * D / 4 / THREADS; n++) {
    unsigned i = n * THREADS + threadIdx.x, row = i / (D / 4), c = i % (D / 4) * 4;
    bool inside = row < rows && c < d;
    copy16(shared_address(tile + row * PITCH<D> + c), from + (inside ? size_t(row) * stride + c : 0), inside);
  }
}

// s = q·kᵀ of 16 queries and BN keys
template <int D>
__device__ __forceinline__ void dot(const float *q, const float *k, Scores &s) {
  const float *q_row = q + lane_id() % 16 * PITCH<D> + lane_id() / 16 * 4;
  const float *k_row = k + (lane_id() / 16 * 8 + lane_id() % 8) * PITCH<D> + lane_id() / 8 % 2 * 4;
#pragma unroll
  for (int c = 0; c < D; c += 32) {
    Scores part = {};
#pragma unroll
    for (int step = c; step < c + 32; step += 8) {
      unsigned a[1][4], b[BN / 16][4];
      load_matrices(a[0], shared_address(q_row + step));
#pragma unroll
      for (int j = 0; j < BN / 16; j++) load_matrices(b[j], shared_address(k_row + 16 * j * PITCH<D> + step));
      SplitTf32::multiply(part, a, b);
    }
#pragma unroll
    for (int j = 0; j < BN / 8; j++)
#pragma unroll
      for (int e = 0; e < 4; e++) s[0][j][e] += part[0][j][e];
  }
}

// ANCHOR: add_weighted_values
// o = o·scale + p·v of BN keys
template <int D>
__device__ __forceinline__ void add_weighted_values(const Scores &p, const float *v, const float (&scale)[2],
                                                    Accumulators<D> &o) {
  const float *row = v + lane_id() % 4 * 2 * PITCH<D> + lane_id() / 4 * 4; // key 2i, channel 4g
#pragma unroll
  for (int chunk = 0; chunk < D / 32; chunk++) {
    float part[1][4][4] = {};
#pragma unroll
    for (int j = 0; j < BN / 8; j++) {
      unsigned a[1][4], b[2][4];
#pragma unroll
      for (int e = 0; e < 4; e++) a[0][e] = __float_as_uint(p[0][j][e % 2 * 2 + e / 2]);
      const float *at = row + 8 * j * PITCH<D> + 32 * chunk;
      float4 even = load4(at), odd = load4(at + PITCH<D>);
      b[0][0] = __float_as_uint(even.x), b[0][1] = __float_as_uint(odd.x);
      b[0][2] = __float_as_uint(even.y), b[0][3] = __float_as_uint(odd.y);
      b[1][0] = __float_as_uint(even.z), b[1][1] = __float_as_uint(odd.z);
      b[1][2] = __float_as_uint(even.w), b[1][3] = __float_as_uint(odd.w);
      SplitTf32::multiply(part, a, b);
    }
#pragma unroll
    for (int n = 0; n < 4; n++)
#pragma unroll
      for (int e = 0; e < 4; e++) o[chunk][n][e] = o[chunk][n][e] * scale[e / 2] + part[0][n][e];
  }
}
// ANCHOR_END: add_weighted_values

// y = o/l, of query `first` + g and the one 8 below.
template <int D>
__device__ __forceinline__ void write(const Params<float> &params, int first, const State<D> &state) {
#pragma unroll
  for (int h = 0; h < 2; h++) {
    float scale = 1.f / warp_sum<4>(state.l[h]);
    int t = first + lane_id() / 4 + 8 * h;
    if (t >= params.queries) continue;
    float *y = params.result(blockIdx.z, t, blockIdx.x);
#pragma unroll
    for (int e = 0; e < D / 16; e++) { // two for each chunk of 32 channels
      const auto &o = state.o[e / 2];
      int c = e / 2 * 32 + lane_id() % 4 * 8 + e % 2 * 4, column = 2 * h + e % 2;
      float4 four = make_float4(o[0][column] * scale, o[1][column] * scale, o[2][column] * scale, o[3][column] * scale);
      if (c < params.head_dim) store4(y + c, four);
    }
  }
}

template <int D>
__device__ __forceinline__ void attention(const Params<float> &params) {
  extern __shared__ float4 shared[];
  float *q_tile = reinterpret_cast<float *>(shared), *k_tile = q_tile + BM * PITCH<D>, *v_tile = k_tile + BN * PITCH<D>;
  int first = (gridDim.y - 1 - blockIdx.y) * BM, row = threadIdx.x / WARP * 16, g = lane_id() / 4;
  int end = params.visible_to(min(first + BM, int(params.queries)) - 1);
  int visible[2] = {params.visible_to(first + row + g), params.visible_to(first + row + g + 8)};
  size_t kv_offset = params.kv_offset(blockIdx.z, blockIdx.x / params.heads_of_key);
  auto load = [&](float *tile, const float *x, int key) {
    if (key < end)
      load_tile<BN, D>(tile, x + kv_offset + size_t(key) * params.kv_token_stride, params.kv_token_stride, end - key,
                       params.head_dim);
    copy_commit();
  };

  load_tile<BM, D>(q_tile, params.query(blockIdx.z, first, blockIdx.x), params.q_token_stride, params.queries - first,
                   params.head_dim);
  load(k_tile, params.k, 0);
  copy_wait<0>();
  __syncthreads();
  load(v_tile, params.v, 0);

  State<D> state;
  for (int key = 0; key < end; key += BN) {
    Scores s = {};
    dot<D>(q_tile + row * PITCH<D>, k_tile, s);
    if (key + BN > params.visible_to(first + row)) mask(s[0], key, visible); // a tile on the diagonal, or the last one
    copy_wait<0>();
    __syncthreads(); // these values are complete, and no warp reads the keys any more
    load(k_tile, params.k, key + BN);
    float scale[2];
#pragma unroll
    for (int h = 0; h < 2; h++) scale[h] = online_softmax(s[0], h, params.scale * LOG2_E, state.m[h], state.l[h]);
    add_weighted_values<D>(s, v_tile, scale, state.o);
    copy_wait<0>();
    __syncthreads(); // the next keys are complete, and no warp reads these values any more
    load(v_tile, params.v, key + BN);
  }
  write<D>(params, first + row, state);
}

// The name of an entry says D and BM. The registers of an SM are enough for three blocks, for two with D > 64: with
// fewer registers per thread the compiler would spill them to memory.
#define KERNEL(NAME, D)                                                                                              \
  extern "C" __global__ void __launch_bounds__(THREADS, D <= 64 ? 3 : 2) NAME(PARAMS(float)) {                       \
    attention<D>(MAKE_PARAMS(float));                                                                                \
  }

KERNEL(attention_d32x64_tf32x3_level5, 32)
KERNEL(attention_d64x64_tf32x3_level5, 64)
KERNEL(attention_d96x64_tf32x3_level5, 96)
KERNEL(attention_d128x64_tf32x3_level5, 128)
