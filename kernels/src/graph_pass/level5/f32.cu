// Level 5 of graph_pass, f32 on Hopper: all of the graph transformer in one launch, as bf16.cu does it, with the same bounds.
//
// Against bf16.cu:
//   - Each product of the large matmuls is three products of FP16 (split_f16.cuh), not of TF32: half the bytes, twice the
//     rate. FP16's range is enough because h, u and w are bounded by the weights: prepared.rs checks the bounds and scales w.
//     The graph's own input and edges have no bound, so what multiplies them is 3×TF32 by mma.
//   - Weights are prepared once per model: `high` and `low`, 4 bytes per weight as before, in tiles of 8 KB in the order of
//     a warpgroup's reads. So the kernel splits no weight, and a tile is one copy without a tensor map.
//   - q, k, v and edges are f32. Vectors of the next layer come once those of this one have been read: there is room for one.
//
// Prediction: 2.1 MB of weights per block take 25 us from L2 (11 TB/s for all blocks, too bold), wgmma 14, shared memory 26, the
// rest 24, partly at once: 50 to 60 us. benches/NOTES.md has the outcome, 53 us: the copies hide within the matmuls.
// To be faster: the warps of a warpgroup wait for each other after each tile of 8 KB, and 96 KB in flight are a fifth of a layer.
// But neither a fourth tile in flight nor a warp that goes on was faster. Attention takes as long as q, k, v and skip.
//
// Launch: grid (graphs), block 512, Shared::BYTES as dynamic shared memory; Params by value.
//
// Compiled for sm_90a.
#include "common/activation.cuh"
#include "graph_pass/level5/f32_attend.cuh"

// x = input·Wᵢₙᵀ + b in 3×TF32, 16 channels of 16 nodes per warp. A lane reads 16 neighbours of 4 rows: K's order is free.
__device__ __forceinline__ void project_input(const Block &at, const Params &params, unsigned first, unsigned nodes) {
  unsigned w16 = 4 * at.group + at.warp, channel = w16 % 8 * 16 + at.lane / 4, node = w16 / 8 * 16 + at.lane / 4;
  unsigned t = at.lane % 4;
  float4 w[2][4], x[2][4];
#pragma unroll
  for (int h = 0; h < 2; h++)
#pragma unroll
    for (int i = 0; i < 4; i++) {
      w[h][i] = load4(params.proj_in_w + (channel + 8 * h) * INPUTS + 16 * t + 4 * i);
      x[h][i] = make_float4(0.f, 0.f, 0.f, 0.f);
      if (node + 8 * h < nodes) x[h][i] = load4(params.x + size_t(first + node + 8 * h) * INPUTS + 16 * t + 4 * i);
    }
  const float bias[2] = {load_at_once(params.proj_in_b + channel), load_at_once(params.proj_in_b + channel + 8)};
  float big[2][4] = {}, small[2][2][4] = {};
#pragma unroll
  for (int i = 0; i < 8; i++) {
    auto pick = [&](const float4 &v, int b) { return i % 2 == 0 ? (b == 0 ? v.x : v.y) : (b == 0 ? v.z : v.w); };
    unsigned a_high[4], a_low[4];
#pragma unroll
    for (int k = 0; k < 4; k++) split_tf32(pick(w[k % 2][i / 2], k / 2), a_high[k], a_low[k]);
#pragma unroll
    for (int n = 0; n < 2; n++) {
      unsigned b_high[2], b_low[2];
#pragma unroll
      for (int k = 0; k < 2; k++) split_tf32(pick(x[n][i / 2], k), b_high[k], b_low[k]);
      mma_tf32(small[n][0], a_low, b_high[0], b_high[1]);
      mma_tf32(small[n][1], a_high, b_low[0], b_low[1]);
      mma_tf32(big[n], a_high, b_high[0], b_high[1]);
    }
  }
#pragma unroll
  for (int n = 0; n < 2; n++)
#pragma unroll
    for (int i = 0; i < 4; i++)
      *at.x(w16 / 8 * 16 + 8 * n + 2 * t + i % 2, channel + 8 * (i / 2)) =
          big[n][i] + ((small[n][0][i] + small[n][1][i]) + bias[i / 2]);
}

// q, k, v and skip, one of them per warpgroup; x += skip. q's scale and bias have the factor of the scores.
__device__ __forceinline__ void project(Block &at) {
  const float *bias = at.vectors() + Vectors::QKV_B + CHANNELS * at.group;
  const float scale = at.vectors()[Vectors::QKV_SCALE + at.group];
#pragma unroll
  for (int m = 0; m < 2; m++) {
    float big[8][4], small[4][4];
    at.multiply(big, small, at.base + Shared::H);
    const float b[2] = {bias[64 * m + at.channel(0)], bias[64 * m + at.channel(1)]};
    float *q = reinterpret_cast<float *>(at.shared + Shared::Q) + at.group * NODES * Shared::PITCH;
    float *to = (at.group == 3 ? at.x(0, 0) : q) + 64 * m;
#pragma unroll
    for (int j = 0; j < 4; j++)
#pragma unroll
      for (int i = 0; i < 4; i++) {
        float *p = to + at.node(j, i % 2) * Shared::PITCH + at.channel(i / 2);
        float y = fmaf(at.sum(big, small, j, i), scale, b[i / 2]);
        *p = at.group == 3 ? *p + y : y;
      }
  }
}

// u = gelu(h·wᵀ + b), 64 channels per warpgroup.
__device__ __forceinline__ void expand(Block &at) {
  const float *bias = at.vectors() + Vectors::UP_B + 64 * at.group;
  float big[8][4], small[4][4];
  at.multiply(big, small, at.base + Shared::H);
  const float scale = at.vectors()[Vectors::UP_SCALE], b[2] = {bias[at.channel(0)], bias[at.channel(1)]};
  unsigned to = at.base + Shared::U + at.group * Shared::PANEL;
#pragma unroll
  for (int j = 0; j < 4; j += 2) {
    unsigned high[4], low[4]; // matrices (j, h), (j + 1, h)
#pragma unroll
    for (int k = 0; k < 4; k++) {
      float y[2];
#pragma unroll
      for (int i = 0; i < 2; i++) y[i] = gelu(fmaf(at.sum(big, small, j + k / 2, 2 * (k % 2) + i), scale, b[k % 2]));
      split_f16(y[0], y[1], high[k], low[k]);
    }
    unsigned node = 8 * (j + at.lane / 16) + at.lane % 8, chunk = 2 * at.warp + at.lane / 8 % 2;
    unsigned address = to + swizzled(node, chunk);
    store_matrices_transposed(address, high[0], high[1], high[2], high[3]);
    store_matrices_transposed(address + NODES * 128, low[0], low[1], low[2], low[3]);
  }
  fence_proxy_async();
}

// x += u·wᵀ + b. Warpgroups g and g + 2 have the same 64 channels, and half of K each.
__device__ __forceinline__ void reduce(Block &at) {
  unsigned half = at.group % 2;
  float big[8][4], small[4][4];
  at.multiply(big, small, at.base + Shared::U + at.group / 2 * 2 * Shared::PANEL);
  float4 *part = reinterpret_cast<float4 *>(at.shared + Shared::PARTS + half * 8192) + 32 * at.warp + at.lane;
  if (at.group >= 2) {
#pragma unroll
    for (int j = 0; j < 4; j++)
      part[128 * j] = make_float4(at.sum(big, small, j, 0), at.sum(big, small, j, 1), at.sum(big, small, j, 2),
                                  at.sum(big, small, j, 3));
    barrier_arrive<256>(7 + half);
    return;
  }
  const float *bias = at.vectors() + Vectors::DOWN_B + 64 * half;
  const float scale = at.vectors()[Vectors::DOWN_SCALE], b[2] = {bias[at.channel(0)], bias[at.channel(1)]};
  barrier_sync<256>(7 + half);
#pragma unroll
  for (int j = 0; j < 4; j++) {
    float4 other = part[128 * j];
    const float o[4] = {other.x, other.y, other.z, other.w};
#pragma unroll
    for (int i = 0; i < 4; i++)
      *at.x(at.node(j, i % 2), 64 * half + at.channel(i / 2)) += fmaf(at.sum(big, small, j, i) + o[i], scale, b[i / 2]);
  }
}

// The last phase's weights, loaded before the phase that comes before it.
struct AtEnd {
  float4 head, norm_w, norm_b;
  __device__ __forceinline__ void load(const Params &params, unsigned warp, unsigned lane) {
    head = load4_early(params.head_w + (warp < params.classes ? warp : 0) * CHANNELS + 4 * lane);
    norm_w = load4_early(params.norm_w + 4 * lane), norm_b = load4_early(params.norm_b + 4 * lane);
  }
};

// The mean of the graph's nodes, its norm, and the head: a warp per class.
__device__ __forceinline__ void classify(const Block &at, const Params &params, const AtEnd &at_end, unsigned nodes) {
  const unsigned warp = 4 * at.group + at.warp, first = 4 * at.lane;
  float4 head = at_end.head;
  float *sums = reinterpret_cast<float *>(at.shared + Shared::H); // (4, channels)
  sums[threadIdx.x] = sum_nodes(at, nodes);
  __syncthreads();
#pragma unroll 1
  for (unsigned k = warp; k < params.classes; k += WARPS) {
    if (k != warp) head = load4(params.head_w + k * CHANNELS + first);
    float y = logit(sums, first, nodes, params.eps, at_end.norm_w, at_end.norm_b, head);
    if (at.lane == 0) params.logits[blockIdx.x * params.classes + k] = y + params.head_b[k];
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) graph_pass_f32_level5(const __grid_constant__ Params params) {
  extern __shared__ __align__(1024) unsigned char shared[];
  Block at{{shared_address(shared), shared, __shfl_sync(ALL_LANES, threadIdx.x / 128, 0),
            __shfl_sync(ALL_LANES, threadIdx.x / 32 % 4, 0), threadIdx.x % WARP},
           params.tiles, params.layer_count * LAYER_TILES};
  at.tiles += at.group * TILE;
  const unsigned nodes_begin = params.offsets[blockIdx.x], nodes_end = params.offsets[blockIdx.x + 1];
  if (threadIdx.x == 0) {
    for (unsigned i = 0; i < GROUPS * STAGES; i++) mbarrier_init(at.base + Shared::FULL + 8 * i, 1);
    for (unsigned i = 0; i < 2; i++) mbarrier_init(at.base + Shared::VECTORS_FULL + 8 * i, 1);
    fence_mbarrier_init();
  }
  __syncthreads();
#pragma unroll
  for (unsigned s = 0; s < STAGES; s++) {
    if (at.warp == 0 && at.lane == 0) at.request(s);
    at.requested();
  }
  if (threadIdx.x == WARP) load_vectors(params, at.base, 0, 0), load_vectors(params, at.base, 0, 1);
  __syncwarp();

  const unsigned nodes = nodes_end - nodes_begin, edges_begin = params.row_ptr[nodes_begin];
  const unsigned first_edge = load_index(params.row_ptr + nodes_begin + min(threadIdx.x, nodes)) - edges_begin;
  const unsigned edge_count = params.row_ptr[nodes_end] - edges_begin;
  const bool has_edge = threadIdx.x < edge_count;
  unsigned source = 0;
  if (has_edge) source = load_index(params.col_idx + edges_begin + threadIdx.x) - nodes_begin;
#pragma unroll
  for (unsigned i = 0; i < 4; i++) {
    unsigned chunk = threadIdx.x + THREADS * i;
    if (chunk < 4 * edge_count)
      copy16(at.base + Shared::EDGES + 16 * edge_chunk(chunk / 4, chunk % 4),
             params.edges + size_t(edges_begin) * FEATURES + chunk * 4, true);
  }
  copy_commit();
  project_input(at, params, nodes_begin, nodes);
  if (threadIdx.x <= NODES) reinterpret_cast<unsigned *>(shared + Shared::ROWS)[threadIdx.x] = first_edge;
  if (has_edge) shared[Shared::SOURCES + threadIdx.x] = (unsigned char)source;
  copy_wait<0>();
  __syncthreads();

  AtEnd at_end;
#pragma unroll 1
  for (unsigned l = 0; l < params.layer_count; l++) {
    mbarrier_wait(at.base + Shared::VECTORS_FULL, l % 2);
    norm(at, at.vectors() + Vectors::NORM1_W, at.vectors() + Vectors::NORM1_B, params.eps);
    __syncthreads();
    float4 fragment[4]; // needed after project
#pragma unroll
    for (int i = 0; i < 4; i++)
      fragment[i] = load4_early(params.edge_fragments + (((l * HEADS + at.warp) * 4 + i) * 32 + at.lane) * 4);
    project(at);
    __syncthreads();
    attend(at, fragment, params.eps);
    __syncthreads();
    if (threadIdx.x == WARP) load_vectors(params, at.base, l + 1, 0);
    __syncwarp();
    mbarrier_wait(at.base + Shared::VECTORS_FULL + 8, l % 2);
    expand(at);
    barrier_sync<256>(5 + at.group / 2); // groups that read each other's channels
    at_end.load(params, 4 * at.group + at.warp, at.lane); // used after the last layer
    reduce(at);
    __syncthreads();
    if (threadIdx.x == WARP) load_vectors(params, at.base, l + 1, 1);
    __syncwarp();
  }
  classify(at, params, at_end, nodes);
}
