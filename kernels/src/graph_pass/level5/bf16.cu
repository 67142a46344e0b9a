// Level 5 of graph_pass, bf16 on Hopper: all of the graph transformer in one launch, one block per graph.
//   x = x·Wᵢₙᵀ + b; for each layer: x += attention(norm(x)) + skip, x += MLP(norm(x)); head(norm(mean of x))
// for the sizes in graph.cuh, graphs of at most 32 nodes and 448 edges, and no edge between two of them. All tensors
// are contiguous and 16-byte aligned; sums, softmax and x are f32.
//
// Against the chain of level 5, six launches a layer and four more: no phase waits for a launch, and no activation
// goes to the L2 cache and back.
//   - Between two attentions every op is local to a row, and attention is local to a graph. So the rows of a graph
//     never leave the SM: x stays in shared memory in f32, and so do q, k, v and the hidden rows of the MLP.
//   - Weights are the same for all blocks. They come as tiles by TMA, requested one to three phases early: bf16.cuh.
//   - wgmma computes yᵀ = w·xᵀ. The left operand of wgmma has 64 rows: w has many, and the graph only 32, which
//     are the columns here. Otherwise half of each wgmma would be empty.
//   - All 16 warps take part in each phase: norm; q, k, v and skip; attention and norm (bf16_attend.cuh); up and GELU; down.
//
// Prediction: 1.06 MB of weights per block are 136 MB for 128 graphs, 25 us at 5.5 TB/s from L2, and 34 MFLOP per SM take
// about as long at the rate that mma reached: 40 to 50 us. benches/NOTES.md has the outcome, step by step.
// Where it loses: with fewer graphs than SMs, the others idle; one more graph than SMs takes twice as long.
// To be faster: attention waits for conflicting banks of shared memory, because sources are random; wgmma reads 2 KB
// of w for 32 columns, and two graphs per block would share them.
//
// Launch: grid (graphs), block 512, Shared::BYTES as dynamic shared memory; Params by value.
//
// Compiled for sm_90a.
#include "common/activation.cuh"
#include "graph_pass/level5/bf16_attend.cuh"

// As load16_at_once, 4 bytes.
__device__ __forceinline__ unsigned load4_at_once(const unsigned *p, bool inside) {
  unsigned x = 0;
  asm volatile("{ .reg .pred inside;\n"
               "  setp.ne.u32 inside, %2, 0;\n"
               "  @inside ld.volatile.global.u32 %0, [%1]; }"
               : "+r"(x)
               : "l"(p), "r"(unsigned(inside)));
  return x;
}

// acc (+)= w·xᵀ, 64 rows and columns of w by a panel of x; the first call of a sum has ADD = false.
template <bool ADD, int N>
__device__ __forceinline__ void multiply_panel(float (&acc)[N][4], unsigned w, unsigned x) {
  unsigned long long a = matrix_descriptor(w), b = matrix_descriptor(x);
  wgmma_fence();
  wgmma<ADD>(acc, a, b);
#pragma unroll
  for (int i = 1; i < 4; i++) wgmma<true>(acc, a + 2 * i, b + 2 * i);
}

// Writes yᵀ, 64 channels of all nodes, as bf16 rows of nodes. `address(node, chunk)` is that of 8 channels.
template <class Address>
__device__ __forceinline__ void write_rows(const Block &at, const float (&y)[4][4], Address address) {
#pragma unroll
  for (int j = 0; j < 4; j += 2) {
    unsigned l = at.lane, node = 8 * (j + l / 16) + l % 8, chunk = 2 * at.warp + l / 8 % 2;
    store_matrices_transposed(address(node, chunk), pack_bf16(y[j][0], y[j][1]), pack_bf16(y[j][2], y[j][3]),
                              pack_bf16(y[j + 1][0], y[j + 1][1]), pack_bf16(y[j + 1][2], y[j + 1][3]));
  }
}

// q, k, v and skip, one of them per warpgroup; x += skip. q gets the factor of the scores.
__device__ __forceinline__ void project(Block &at, const unsigned char *bias) {
  float acc[2][4][4], b[2][2], skip[2][4][4];
  at.await_tile(at.group);
#pragma unroll
  for (int m = 0; m < 2; m++) multiply_panel<false>(acc[m], at.tile(at.group) + m * HALF_TILE, at.base + Shared::H);
  at.await_tile(4 + at.group);
#pragma unroll
  for (int m = 0; m < 2; m++)
    multiply_panel<true>(acc[m], at.tile(4 + at.group) + m * HALF_TILE, at.base + Shared::H + Shared::PANEL);
  wgmma_commit();
#pragma unroll
  for (int m = 0; m < 2; m++) {
#pragma unroll
    for (int h = 0; h < 2; h++) b[m][h] = shared_bf16(bias, CHANNELS * at.group + 64 * m + at.channel(h));
    if (at.group == 3) at.read_x<true>(skip[m], b[m], 64 * m, 0);
  }
  wgmma_wait<0>();
  if (at.group == 3) {
#pragma unroll
    for (int m = 0; m < 2; m++) at.write_x(acc[m], skip[m], 64 * m, 0);
    return;
  }
  float scale = at.group == 0 ? 1.44269504f * 0.176776695f : 1.f; // log2(e)/sqrt(32): weights are powers of 2
#pragma unroll
  for (int m = 0; m < 2; m++) {
#pragma unroll
    for (int j = 0; j < 4; j++)
#pragma unroll
      for (int i = 0; i < 4; i++) acc[m][j][i] = (acc[m][j][i] + b[m][i / 2]) * scale;
    unsigned to = at.base + Shared::Q + at.group * NODES * Shared::PITCH + m * 128;
    write_rows(at, acc[m], [&](unsigned node, unsigned chunk) { return to + node * Shared::PITCH + chunk * 16; });
  }
}

// u = gelu(h·wᵀ + b), 64 channels per warpgroup.
__device__ __forceinline__ void expand(Block &at, const unsigned char *bias) {
  float acc[4][4];
  unsigned half = at.group / 2, rows = at.group % 2 * HALF_TILE;
  at.await_tile(half);
  multiply_panel<false>(acc, at.tile(half) + rows, at.base + Shared::H);
  at.await_tile(2 + half);
  multiply_panel<true>(acc, at.tile(2 + half) + rows, at.base + Shared::H + Shared::PANEL);
  wgmma_commit();
  float b[2] = {shared_bf16(bias, 64 * at.group + at.channel(0)), shared_bf16(bias, 64 * at.group + at.channel(1))};
  wgmma_wait<0>();
#pragma unroll
  for (int j = 0; j < 4; j++)
#pragma unroll
    for (int i = 0; i < 4; i++) {
      acc[j][i] += b[i / 2];
      acc[j][i] = gelu(acc[j][i]);
    }
  unsigned to = at.base + Shared::U + at.group * Shared::PANEL;
  write_rows(at, acc, [&](unsigned node, unsigned chunk) { return to + node * 128 + (chunk ^ node % 8) * 16; });
  fence_proxy_async();
}

// x = or += y·wᵀ + b, where y has PANELS panels: 64 channels of 16 nodes per warpgroup.
template <bool ADD, unsigned PANELS>
__device__ __forceinline__ void reduce(Block &at, unsigned y, const float (&bias)[2]) {
  float acc[2][4], x[2][4];
  unsigned half = at.group % 2, first_node = at.group / 2 * 16;
  y += first_node * 128;
  at.await_tile(0);
  multiply_panel<false>(acc, at.tile(0) + half * HALF_TILE, y);
#pragma unroll
  for (unsigned i = 1; i < PANELS; i++) {
    at.await_tile(i);
    multiply_panel<true>(acc, at.tile(i) + half * HALF_TILE, y + i * Shared::PANEL);
  }
  wgmma_commit();
  at.read_x<ADD>(x, bias, 64 * half, first_node);
  wgmma_wait<0>();
  at.write_x(acc, x, 64 * half, first_node);
}

// The last phase's weights, loaded first, by loads that stay where they are.
struct AtEnd {
  uint2 w[3];
  bf16 b;

  __device__ static uint2 load8(const bf16 *p) {
    uint2 x;
    asm volatile("ld.global.nc.v2.u32 {%0, %1}, [%2];" : "=r"(x.x), "=r"(x.y) : "l"(p));
    return x;
  }
  __device__ AtEnd(const Params &params, unsigned warp, unsigned lane) {
    unsigned k = warp < params.classes ? warp : 0;
    w[0] = load8(params.norm_w + 4 * lane), w[1] = load8(params.norm_b + 4 * lane);
    w[2] = load8(params.head_w + k * CHANNELS + 4 * lane);
    asm volatile("ld.global.nc.u16 %0, [%1];" : "=h"(b.bits) : "l"(params.head_b + k));
  }
  __device__ static float4 unpack(uint2 x) {
    return make_float4(unpack_low(x.x), unpack_high(x.x), unpack_low(x.y), unpack_high(x.y));
  }
  __device__ float4 norm_w() const { return unpack(w[0]); }
  __device__ float4 norm_b() const { return unpack(w[1]); }
  __device__ float4 head() const { return unpack(w[2]); }
};

// The mean of the graph's nodes, its norm, and the head: a warp per class.
__device__ __forceinline__ void classify(const Block &at, const Params &params, const AtEnd &at_end, unsigned nodes) {
  float *sums = reinterpret_cast<float *>(at.shared + Shared::H); // (4, channels)
  float sum = sum_nodes(at, nodes);
  const unsigned warp = 4 * at.group + at.warp, first = 4 * at.lane;
  float4 norm_w = at_end.norm_w(), norm_b = at_end.norm_b(), head = at_end.head();
  float head_b = widen(at_end.b);
  sums[threadIdx.x] = sum;
  __syncthreads();
#pragma unroll 1
  for (unsigned k = warp; k < params.classes; k += WARPS) {
    if (k != warp) head = load4(params.head_w + k * CHANNELS + first), head_b = widen(params.head_b[k]);
    float y = logit(sums, first, nodes, params.eps, norm_w, norm_b, head);
    if (at.lane == 0) store(params.logits + blockIdx.x * params.classes + k, y + head_b);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) graph_pass_bf16_level5(const __grid_constant__ Params params) {
  extern __shared__ __align__(1024) unsigned char shared[];
  Block at{{shared_address(shared), shared, __shfl_sync(ALL_LANES, threadIdx.x / 128, 0),
            __shfl_sync(ALL_LANES, threadIdx.x / 32 % 4, 0), unsigned(lane_id())}};
  const unsigned warp = 4 * at.group + at.warp;
  const unsigned nodes_begin = params.offsets[blockIdx.x], nodes_end = params.offsets[blockIdx.x + 1];
  if (threadIdx.x == 0) {
    for (unsigned i = 0; i < STAGES; i++) mbarrier_init(at.base + Shared::FULL + 8 * i, 1);
    for (unsigned i = 0; i < 2; i++) mbarrier_init(at.base + Shared::VECTORS_FULL + 8 * i, 1);
    mbarrier_init(at.base + Shared::INPUT, 1);
    fence_mbarrier_init();
  }
  __syncthreads();
  if (at.lane == 0) {
    if (warp < STAGES) load_tile(params, at.base, warp);
    if (warp == STAGES || warp == STAGES + 1) load_vectors(params, at.base, warp - STAGES);
    if (warp == STAGES + 2) {
      mbarrier_arrive_expect_tx(at.base + Shared::INPUT, Shared::PANEL);
      tma_load(at.base + Shared::H, &params.x, nodes_begin, 0, at.base + Shared::INPUT);
    }
  }
  __syncwarp();

  // An edge per thread is requested here, and written to shared memory after the first matmul.
  const unsigned nodes = nodes_end - nodes_begin, edges_begin = params.row_ptr[nodes_begin];
  const unsigned first_edge = params.row_ptr[nodes_begin + min(threadIdx.x, nodes)] - edges_begin;
  const bool has_edge = threadIdx.x < params.row_ptr[nodes_end] - edges_begin;
  const unsigned edge = edges_begin + (has_edge ? threadIdx.x : 0);
  const uint4 features[2] = {load16_at_once(params.edges + size_t(edge) * FEATURES, has_edge),
                             load16_at_once(params.edges + size_t(edge) * FEATURES + 8, has_edge)};
  const unsigned source = load4_at_once(params.col_idx + edge, has_edge) - nodes_begin;

  const unsigned char *proj_in_b = reinterpret_cast<const unsigned char *>(params.proj_in_b);
  unsigned first = 64 * (at.group % 2);
  const float bias[2] = {shared_bf16(proj_in_b, first + at.channel(0)), shared_bf16(proj_in_b, first + at.channel(1))};
  const AtEnd at_end(params, warp, at.lane);
  mbarrier_wait(at.base + Shared::INPUT, 0);
  reduce<false, 1>(at, at.base + Shared::H, bias);
  if (threadIdx.x <= NODES) reinterpret_cast<unsigned *>(at.shared + Shared::ROWS)[threadIdx.x] = first_edge;
  if (has_edge) {
    at.shared[Shared::SOURCES + threadIdx.x] = (unsigned char)source;
    unsigned *to = reinterpret_cast<unsigned *>(at.shared + Shared::EDGES + threadIdx.x * Shared::EDGE_PITCH);
#pragma unroll
    for (int i = 0; i < 2; i++)
      to[4 * i] = features[i].x, to[4 * i + 1] = features[i].y, to[4 * i + 2] = features[i].z,
             to[4 * i + 3] = features[i].w;
  }
  at.end_phase<1>(params);

#pragma unroll 1
  for (unsigned l = 0; l < params.layer_count; l++) {
    mbarrier_wait(at.base + Shared::VECTORS_FULL + 8 * (l % 2), l / 2 % 2);
    const unsigned char *vectors = at.shared + Shared::VECTORS + l % 2 * Vectors::BYTES;
    norm(at, vectors + Vectors::NORM1_W, vectors + Vectors::NORM1_B, params.eps);
    __syncthreads();
    project(at, vectors + Vectors::QKV_SKIP_B);
    at.end_phase<QKV_TILES>(params);
    attend(at, vectors, params.eps);
    __syncthreads();
    expand(at, vectors + Vectors::UP_B);
    at.end_phase<UP_TILES>(params);
    const float b[2] = {shared_bf16(vectors + Vectors::DOWN_B, first + at.channel(0)),
                        shared_bf16(vectors + Vectors::DOWN_B, first + at.channel(1))};
    reduce<true, 4>(at, at.base + Shared::U, b);
    at.end_phase<DOWN_TILES>(params);
    if (threadIdx.x == THREADS - WARP) load_vectors(params, at.base, l + 2);
    __syncwarp();
  }
  classify(at, params, at_end, nodes);
}
