// A whole pass of the graph transformer in one launch: one block per graph of at most 32 nodes, in bf16, on sm_90a.
//
// Between two attentions every op is local to a row, and attention is local to a graph. So the rows of a graph
// never leave the SM: x stays in shared memory in f32, and so do q, k, v and the hidden rows of the MLP. A block
// reads the weights, the same for all blocks, and nothing else. Compared with level 5's chain of 28 launches, no
// phase waits for a launch, and no activation goes to the L2 cache and back.
//
//   - Weights. A tile is 128 rows and 64 columns of w, 16 KB; TMA copies it. Shared memory has STAGES tiles. When a
//     phase ends, all threads have passed a barrier, so as many tiles are requested as the phase has used, each by
//     one warp. They are needed one to three phases later.
//   - wgmma computes y^T = w x^T. The left operand of wgmma has 64 rows: w has many, and the graph only 32, which
//     are the columns here. Otherwise half of each wgmma would be empty.
//   - All 16 warps take part in each phase: norm; q, k, v, skip; attention and norm; up and gelu; down.
//   - Attention has four lanes per node and head, 8 channels each. As in edge_attention/level4.cuh, features of
//     edges are not projected: W^T q and W (sum a e) are a few mma per warp, laid out so that no lane needs another
//     lane's values. A warp has one head of 8 nodes, so the LayerNorm after attention needs only the four warps of
//     a warpgroup.
//
// Launch: grid (graphs), block 512. Shared memory: Shared::BYTES. Limits: 32 nodes and MAX_EDGES edges per graph,
// MAX_LAYERS layers, and the sizes below.
// Bytes: 1.06 MB of weights per block, from the L2 cache.
//
// To be faster: attention waits for conflicting banks of shared memory, because sources are random; wgmma reads 2
// KB of w for 32 columns, and two graphs per block would share them.
#pragma once

#include "common/activation.cuh"
#include "common/hopper.cuh"
#include "common/overlap.cuh"
#include "common/warp.cuh"

constexpr unsigned NODES = 32, INPUTS = 64, CHANNELS = 128, HIDDEN = 256, HEADS = 4, HEAD_DIM = 32, FEATURES = 16;
constexpr unsigned MAX_LAYERS = 8, MAX_EDGES = 448;
constexpr unsigned WARPS = 16, THREADS = WARPS * WARP;

// A tile of weights: 128 rows of 64 columns, 128 bytes per row, swizzled by TMA.
constexpr unsigned TILE_ROWS = 128, TILE_COLUMNS = 64, TILE_BYTES = TILE_ROWS * TILE_COLUMNS * 2, STAGES = 9;
// Tiles of a block's matmuls, in order: q, k, v and skip's first half of K, then the second; up's likewise; down's four.
constexpr unsigned QKV_TILES = 8, UP_TILES = 4, DOWN_TILES = 4, LAYER_TILES = QKV_TILES + UP_TILES + DOWN_TILES;

// The vectors of a layer, and the weights of its edges, in shared memory.
struct Vectors {
  static constexpr unsigned NORM1_W = 0, NORM1_B = 256, NORM2_W = 512, NORM2_B = 768, QKV_SKIP_B = 1024, UP_B = 2048,
                            DOWN_B = 2560, EDGE_W = 2816, BYTES = EDGE_W + CHANNELS * FEATURES * 2;
};

// Shared memory, in bytes from a multiple of 1024. Matrices that wgmma reads have rows of 128 bytes, swizzled: of 64
// channels of all 32 nodes each, 4 KB.
struct Shared {
  static constexpr unsigned PANEL = NODES * 128; // 64 channels of all nodes
  static constexpr unsigned PITCH = 2 * CHANNELS + 16;  // of q, k and v: rows start in different banks
  static constexpr unsigned X_PITCH = CHANNELS + 4;     // of x, in floats; likewise
  static constexpr unsigned H = STAGES * TILE_BYTES;    // what a norm writes: 2 panels
  static constexpr unsigned Q = H + 2 * PANEL, K = Q + NODES * PITCH, V = K + NODES * PITCH;
  static constexpr unsigned U = Q;                      // the MLP's hidden rows, 4 panels, in place of q, k and v
  static constexpr unsigned X = Q + 26 * 1024;
  static constexpr unsigned VECTORS = X + NODES * X_PITCH * 4;
  static constexpr unsigned EDGES = VECTORS + 2 * Vectors::BYTES;
  static constexpr unsigned EDGE_PITCH = 2 * FEATURES + 4;             // of four edges per node, no two in the same banks
  static constexpr unsigned SOURCES = EDGES + MAX_EDGES * EDGE_PITCH;   // a byte per edge
  static constexpr unsigned ROWS = SOURCES + MAX_EDGES;                 // first edge of each node, and the end
  static constexpr unsigned MOMENTS = ROWS + (NODES + 4) * 4;           // of each node's heads: sum, squared deviations
  static constexpr unsigned FULL = MOMENTS + NODES * HEADS * 8, VECTORS_FULL = FULL + 8 * STAGES,
                            INPUT = VECTORS_FULL + 16, BYTES = INPUT + 8;
  static_assert(3 * NODES * PITCH <= 26 * 1024 && BYTES <= 232448 && MOMENTS % 16 == 0);
};

struct Layer {
  const bf16 *norm1_w, *norm1_b, *norm2_w, *norm2_b, *qkv_skip_b, *up_b, *down_b, *edge_w;
};

struct Params {
  TensorMap x, proj_in;                                              // boxes of 32 rows; of a tile
  TensorMap qkv_skip[MAX_LAYERS], up[MAX_LAYERS], down[MAX_LAYERS];  // boxes of a tile
  Layer layers[MAX_LAYERS];
  const bf16 *proj_in_b, *edges, *norm_w, *norm_b, *head_w, *head_b;
  const unsigned *offsets, *row_ptr, *col_idx; // of graphs in nodes; of nodes in edges; source of each edge
  bf16 *logits;
  unsigned layer_count, classes;
  float eps;
};

#define FRAGMENT(i) "+f"(acc[i][0]), "+f"(acc[i][1]), "+f"(acc[i][2]), "+f"(acc[i][3])
// acc (+)= a·bᵀ by a warpgroup: a 64×16, b N×16, both in shared memory.
template <bool ADD>
__device__ __forceinline__ void wgmma(float (&acc)[4][4], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {"
               "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, %16, %17, %18, 1, 1, 0, 0;"
               : FRAGMENT(0), FRAGMENT(1), FRAGMENT(2), FRAGMENT(3)
               : "l"(a), "l"(b), "n"(ADD));
}
template <bool ADD>
__device__ __forceinline__ void wgmma(float (&acc)[2][4], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, %10, "
               "1, 1, 0, 0;"
               : FRAGMENT(0), FRAGMENT(1)
               : "l"(a), "l"(b), "n"(ADD));
}

// Adds 64 columns of w and x; the first call of a sum has ADD = false.
template <bool ADD, int N>
__device__ __forceinline__ void multiply_panel(float (&acc)[N][4], unsigned w, unsigned x) {
  unsigned long long a = matrix_descriptor(w), b = matrix_descriptor(x);
  wgmma_fence();
  wgmma<ADD>(acc, a, b);
#pragma unroll
  for (int i = 1; i < 4; i++) wgmma<true>(acc, a + 2 * i, b + 2 * i);
}

// Four 8×8 matrices to shared memory, each transposed.
__device__ __forceinline__ void store_matrices_transposed(unsigned address, unsigned a, unsigned b, unsigned c,
                                                          unsigned d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(a), "r"(b),
               "r"(c), "r"(d)
               : "memory");
}

// Starts to copy `bytes` bytes, a multiple of 16, to shared memory of this block; they complete on a barrier.
__device__ __forceinline__ void bulk_load(unsigned to, const void *from, unsigned bytes, unsigned barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
}

// Waits until all threads of the block have come.
__device__ __forceinline__ void block_barrier() { __syncthreads(); }

// Loads 4 bytes where it stands, or 0 unless `inside`.
__device__ __forceinline__ unsigned load4_at_once(const unsigned *p, bool inside) {
  unsigned x = 0;
  asm volatile("{ .reg .pred inside;\n"
               "  setp.ne.u32 inside, %2, 0;\n"
               "  @inside ld.volatile.global.u32 %0, [%1]; }"
               : "+r"(x)
               : "l"(p), "r"(unsigned(inside)));
  return x;
}

__device__ __forceinline__ float shared_bf16(const unsigned char *p, unsigned i) {
  return widen(reinterpret_cast<const bf16 *>(p)[i]);
}

// Requests the t-th tile of a pass, if there is one. One thread of the block calls it, once the tile's stage is free.
__device__ __forceinline__ void load_tile(const Params &params, unsigned base, unsigned t) {
  const TensorMap *w = &params.proj_in;
  unsigned row = 0, column = 0;
  if (t > 0) {
    unsigned l = (t - 1) / LAYER_TILES, i = (t - 1) % LAYER_TILES;
    if (l >= params.layer_count) return;
    if (i < QKV_TILES) w = &params.qkv_skip[l], row = i % 4, column = i / 4;
    else if (i < QKV_TILES + UP_TILES) w = &params.up[l], row = i % 2, column = (i - QKV_TILES) / 2;
    else w = &params.down[l], column = i - QKV_TILES - UP_TILES;
  }
  unsigned full = base + Shared::FULL + 8 * (t % STAGES);
  mbarrier_arrive_expect_tx(full, TILE_BYTES);
  tma_load(base + t % STAGES * TILE_BYTES, w, row * TILE_ROWS, column * TILE_COLUMNS, full);
}

// Requests the vectors of layer l, if there is one; one thread calls it.
__device__ __forceinline__ void load_vectors(const Params &params, unsigned base, unsigned l) {
  if (l >= params.layer_count) return;
  const Layer &layer = params.layers[l];
  unsigned full = base + Shared::VECTORS_FULL + 8 * (l % 2), to = base + Shared::VECTORS + l % 2 * Vectors::BYTES;
  mbarrier_arrive_expect_tx(full, Vectors::BYTES);
  bulk_load(to + Vectors::NORM1_W, layer.norm1_w, CHANNELS * 2, full);
  bulk_load(to + Vectors::NORM1_B, layer.norm1_b, CHANNELS * 2, full);
  bulk_load(to + Vectors::NORM2_W, layer.norm2_w, CHANNELS * 2, full);
  bulk_load(to + Vectors::NORM2_B, layer.norm2_b, CHANNELS * 2, full);
  bulk_load(to + Vectors::QKV_SKIP_B, layer.qkv_skip_b, 4 * CHANNELS * 2, full);
  bulk_load(to + Vectors::UP_B, layer.up_b, HIDDEN * 2, full);
  bulk_load(to + Vectors::DOWN_B, layer.down_b, CHANNELS * 2, full);
  bulk_load(to + Vectors::EDGE_W, layer.edge_w, CHANNELS * FEATURES * 2, full);
}

// A thread's place in the block, and the tiles that have been used.
struct Block {
  unsigned base;             // shared memory's address
  unsigned char *shared;     // the same, as a pointer
  unsigned group, warp, lane; // warpgroup, warp in it, lane
  unsigned tiles = 0;        // used so far

  __device__ float *x(unsigned node, unsigned channel) const {
    return reinterpret_cast<float *>(shared + Shared::X) + node * Shared::X_PITCH + channel;
  }
  // The address of the i-th tile from here; `await_tile` waits until it is there.
  __device__ unsigned tile(unsigned i) const { return base + (tiles + i) % STAGES * TILE_BYTES; }
  __device__ void await_tile(unsigned i) const {
    unsigned t = tiles + i;
    mbarrier_wait(base + Shared::FULL + 8 * (t % STAGES), t / STAGES % 2);
  }
  // Ends a phase that used COUNT tiles: waits for all threads, and requests as many tiles in place of them.
  template <unsigned COUNT>
  __device__ void end_phase(const Params &params) {
    block_barrier();
    if (lane == 0 && 4 * group + warp < COUNT) load_tile(params, base, tiles + STAGES + 4 * group + warp);
    __syncwarp();
    tiles += COUNT;
  }

  // The accumulators' channel in a tile of 64 rows of w, and node: acc[j][2·h + i] is of channel(h), node(j, i).
  __device__ unsigned channel(unsigned h) const { return 16 * warp + 8 * h + lane / 4; }
  __device__ unsigned node(unsigned j, unsigned i) const { return 8 * j + 2 * (lane % 4) + i; }

  // Of 64 channels from `first_channel` on and N·8 nodes from `first_node` on: bias, plus x where ADD.
  template <bool ADD, int N>
  __device__ void read_x(float (&y)[N][4], const float (&bias)[2], unsigned first_channel, unsigned first_node) const {
#pragma unroll
    for (int j = 0; j < N; j++)
#pragma unroll
      for (int i = 0; i < 4; i++)
        y[j][i] = (ADD ? *x(first_node + node(j, i % 2), first_channel + channel(i / 2)) : 0.f) + bias[i / 2];
  }
  // x = acc + y, of the same.
  template <int N>
  __device__ void write_x(const float (&acc)[N][4], const float (&y)[N][4], unsigned first_channel,
                          unsigned first_node) const {
#pragma unroll
    for (int j = 0; j < N; j++)
#pragma unroll
      for (int i = 0; i < 4; i++) *x(first_node + node(j, i % 2), first_channel + channel(i / 2)) = acc[j][i] + y[j][i];
  }
};

__device__ __forceinline__ float rsqrt_approx(float x) {
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// h = layer_norm(x): two rows per warp, 16 lanes each, 8 channels per lane.
__device__ __forceinline__ void norm(const Block &at, const unsigned char *w, const unsigned char *b,
                                     float eps) {
  unsigned row = 2 * (4 * at.group + at.warp) + at.lane / 16, first = 4 * (at.lane % 16);
  float4 low = *reinterpret_cast<const float4 *>(at.x(row, first));
  float4 high = *reinterpret_cast<const float4 *>(at.x(row, first + 64));
  // The sums are those of differences from the row's first element: as exact as a second pass over them.
  const float pivot = *at.x(row, 0);
  float v[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w}, squared[8];
#pragma unroll
  for (int i = 0; i < 8; i++) v[i] -= pivot, squared[i] = v[i] * v[i];
  auto sum = [](const float(&x)[8]) { return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7])); };
  float total = sum(v), squares = sum(squared);
#pragma unroll
  for (int d = 8; d > 0; d /= 2) {
    total += __shfl_xor_sync(ALL_LANES, total, d);
    squares += __shfl_xor_sync(ALL_LANES, squares, d);
  }
  const float mean = total * (1.f / CHANNELS), variance = fmaxf(squares * (1.f / CHANNELS) - mean * mean, 0.f);
  const float scale = rsqrt_approx(variance + eps);
#pragma unroll
  for (int i = 0; i < 8; i++) v[i] -= mean;
#pragma unroll
  for (int half = 0; half < 2; half++) {
    float4 weight = load4(reinterpret_cast<const bf16 *>(w) + first + 64 * half);
    float4 bias = load4(reinterpret_cast<const bf16 *>(b) + first + 64 * half);
    const float *u = v + 4 * half;
    uint2 packed = make_uint2(
        pack_bf16(u[0] * (scale * weight.x) + bias.x, u[1] * (scale * weight.y) + bias.y),
        pack_bf16(u[2] * (scale * weight.z) + bias.z, u[3] * (scale * weight.w) + bias.w));
    unsigned to = Shared::H + half * Shared::PANEL + row * 128 + ((first / 8) ^ (row % 8)) * 16 + first % 8 * 2;
    *reinterpret_cast<uint2 *>(at.shared + to) = packed;
  }
  fence_proxy_async();
}

template <bool VALUE>
struct Constant {
  static constexpr bool value = VALUE;
};

// Attention over the edges of the graph; x += its result, and h = layer_norm(x). A warp has one head of 8 nodes, four lanes each: lane p of them
// has channels 8·p to 8·p + 7 of the head, and features 2·p, 2·p + 1, 2·p + 8 and 2·p + 9.
__device__ __forceinline__ void attend(const Block &at, const unsigned char *vectors, float eps) {
  constexpr int BATCH = 4;
  const unsigned l = at.lane, p = l % 4, head = at.warp, first_node = 8 * at.group, node = first_node + l / 4;
  const unsigned head_bytes = head * HEAD_DIM * 2, channel_bytes = head_bytes + 16 * p;
  const unsigned w = shared_address(vectors + Vectors::EDGE_W) + head * HEAD_DIM * FEATURES * 2;
  const unsigned *rows = reinterpret_cast<const unsigned *>(at.shared + Shared::ROWS);
  unsigned edge = rows[node], end = rows[node + 1];

  // Wᵀq: q's 8 rows are the upper half of mma's left operand, and its lower half is zero.
  unsigned q_rows[4];
  load_matrices(q_rows, at.base + Shared::Q + (first_node + l % 8) * Shared::PITCH + head_bytes + l / 8 * 16);
  float folded[2][4] = {};
#pragma unroll
  for (int k = 0; k < 2; k++) {
    unsigned w_t[4];
    load_matrices_transposed(w_t, w + (16 * k + l % 16) * FEATURES * 2 + l / 16 * 16);
    const unsigned a[4] = {q_rows[2 * k], 0, q_rows[2 * k + 1], 0};
    mma(folded[0], a, w_t[0], w_t[1]);
    mma(folded[1], a, w_t[2], w_t[3]);
  }

  float q[8];
  unpack16<bf16>(*reinterpret_cast<const uint4 *>(at.shared + Shared::Q + node * Shared::PITCH + channel_bytes), q);
  float max = -3.402823e38f, total = 0.f, values[8] = {}, features[4] = {};
  auto add_batch = [&](auto full) { // full: all lanes have BATCH edges
    constexpr bool FULL = decltype(full)::value;
    uint4 k[BATCH], v[BATCH];
    unsigned e[BATCH][2];
    float score[BATCH], highest = max;
#pragma unroll
    for (int b = 0; b < BATCH; b++) {
      unsigned at_edge = FULL || edge + b < end ? edge + b : 0;
      unsigned source = FULL || edge + b < end ? at.shared[Shared::SOURCES + at_edge] : 0;
      unsigned row = source * Shared::PITCH + channel_bytes;
      k[b] = *reinterpret_cast<const uint4 *>(at.shared + Shared::K + row);
      v[b] = *reinterpret_cast<const uint4 *>(at.shared + Shared::V + row);
      const unsigned char *features_of = at.shared + Shared::EDGES + at_edge * Shared::EDGE_PITCH + 4 * p;
      e[b][0] = *reinterpret_cast<const unsigned *>(features_of);
      e[b][1] = *reinterpret_cast<const unsigned *>(features_of + 16);
    }
#pragma unroll
    for (int b = 0; b < BATCH; b++) {
      float c[8];
      unpack16<bf16>(k[b], c);
      score[b] = folded[0][0] * unpack_low(e[b][0]) + folded[0][1] * unpack_high(e[b][0]) +
                 folded[1][0] * unpack_low(e[b][1]) + folded[1][1] * unpack_high(e[b][1]);
#pragma unroll
      for (int i = 0; i < 8; i++) score[b] += q[i] * c[i];
    }
#pragma unroll
    for (int d = 2; d > 0; d /= 2)
#pragma unroll
      for (int b = 0; b < BATCH; b++) score[b] += __shfl_xor_sync(ALL_LANES, score[b], d);
#pragma unroll
    for (int b = 0; b < BATCH; b++)
      if (FULL || edge + b < end) highest = fmaxf(highest, score[b]);
    float shrink = exp2_approx(max - highest);
    max = highest, total *= shrink;
#pragma unroll
    for (int i = 0; i < 8; i++) values[i] *= shrink;
#pragma unroll
    for (int i = 0; i < 4; i++) features[i] *= shrink;
#pragma unroll
    for (int b = 0; b < BATCH; b++) {
      bool exists = FULL || edge + b < end;
      float weight = exists ? exp2_approx(score[b] - max) : 0.f;
      if (!exists) v[b] = make_uint4(0, 0, 0, 0), e[b][0] = e[b][1] = 0; // 0·∞ would be no number
      float c[8];
      unpack16<bf16>(v[b], c);
      total += weight;
#pragma unroll
      for (int i = 0; i < 8; i++) values[i] += weight * c[i];
      features[0] += weight * unpack_low(e[b][0]), features[1] += weight * unpack_high(e[b][0]);
      features[2] += weight * unpack_low(e[b][1]), features[3] += weight * unpack_high(e[b][1]);
    }
  };
#pragma unroll 1
  for (; __any_sync(ALL_LANES, edge < end); edge += BATCH) {
    if (__all_sync(ALL_LANES, edge + BATCH <= end)) add_batch(Constant<true>{});
    else add_batch(Constant<false>{});
  }

  // values += W·features. Column n of the j-th of four results is channel 8·(n/2) + 2·j + n%2 of the head, so that a lane's
  // results are its own channels. The features are split into two bf16, whose sum is as accurate as f32 here.
  unsigned high[4] = {pack_bf16(features[0], features[1]), 0, pack_bf16(features[2], features[3]), 0};
  unsigned low[4] = {pack_bf16(features[0] - unpack_low(high[0]), features[1] - unpack_high(high[0])), 0,
                     pack_bf16(features[2] - unpack_low(high[2]), features[3] - unpack_high(high[2])), 0};
  float results[4][4];
#pragma unroll
  for (int j = 0; j < 4; j += 2) {
    unsigned w_rows[4], n = l % 8;
    load_matrices(w_rows, w + (8 * (n / 2) + 2 * (j + l / 16) + n % 2) * FEATURES * 2 + l / 8 % 2 * 16);
#pragma unroll
    for (int i = 0; i < 2; i++) {
      float(&c)[4] = results[j + i];
      c[0] = values[2 * (j + i)], c[1] = values[2 * (j + i) + 1], c[2] = c[3] = 0.f;
      mma(c, high, w_rows[2 * i], w_rows[2 * i + 1]);
      mma(c, low, w_rows[2 * i], w_rows[2 * i + 1]);
    }
  }
  float scale = total != 0.f ? 1.f / total : 0.f;
  float4 *x = reinterpret_cast<float4 *>(at.x(node, head * HEAD_DIM + 8 * p));
  float y[8], sum = 0.f, deviations = 0.f;
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const float(&a)[4] = results[2 * i], (&b)[4] = results[2 * i + 1];
    float4 out = x[i];
    out = make_float4(out.x + a[0] * scale, out.y + a[1] * scale, out.z + b[0] * scale, out.w + b[1] * scale);
    x[i] = out;
    y[4 * i] = out.x, y[4 * i + 1] = out.y, y[4 * i + 2] = out.z, y[4 * i + 3] = out.w;
    sum += (out.x + out.y) + (out.z + out.w);
  }

  // LayerNorm. Two groups of n numbers with sums s and t have together the squared deviations of each, and
  // (s - t)^2 / 2n: nothing is lost, however far the mean is from 0.
#pragma unroll
  for (int i = 0; i < 8; i++) deviations += (y[i] - sum * .125f) * (y[i] - sum * .125f);
#pragma unroll
  for (int d = 1; d <= 2; d *= 2) {
    float other = __shfl_xor_sync(ALL_LANES, sum, d), difference = sum - other;
    deviations += __shfl_xor_sync(ALL_LANES, deviations, d) + difference * difference * (1.f / (16 * d));
    sum += other;
  }
  float2 *moments = reinterpret_cast<float2 *>(at.shared + Shared::MOMENTS) + node * HEADS;
  if (p == 0) moments[head] = make_float2(sum, deviations);
  const bf16 *norm_w = reinterpret_cast<const bf16 *>(vectors + Vectors::NORM2_W) + head * HEAD_DIM + 8 * p;
  const bf16 *norm_b = reinterpret_cast<const bf16 *>(vectors + Vectors::NORM2_B) + head * HEAD_DIM + 8 * p;
  float weight[8], bias[8];
  load16(norm_w, weight), load16(norm_b, bias);
  asm volatile("bar.sync %0, 128;" ::"r"(1 + at.group) : "memory"); // the warps that have heads of the same nodes
  const float4 one = reinterpret_cast<const float4 *>(moments)[0], two = reinterpret_cast<const float4 *>(moments)[1];
  const float mean = ((one.x + one.z) + (two.x + two.z)) * (1.f / CHANNELS);
  auto squared = [&](float sum) { float d = sum * (1.f / HEAD_DIM) - mean; return d * d; };
  const float variance = ((one.y + one.w) + (two.y + two.w)) * (1.f / CHANNELS) +
                         ((squared(one.x) + squared(one.z)) + (squared(two.x) + squared(two.z))) * (1.f / HEADS);
  const float norm_scale = rsqrt_approx(variance + eps);
#pragma unroll
  for (int i = 0; i < 8; i++) y[i] = (y[i] - mean) * (norm_scale * weight[i]) + bias[i];
  unsigned to = Shared::H + head / 2 * Shared::PANEL + node * 128 + ((head % 2 * 4 + p) ^ node % 8) * 16;
  *reinterpret_cast<uint4 *>(at.shared + to) = pack16(y);
  fence_proxy_async();
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
  for (int m = 0; m < 2; m++) multiply_panel<false>(acc[m], at.tile(at.group) + m * 8192, at.base + Shared::H);
  at.await_tile(4 + at.group);
#pragma unroll
  for (int m = 0; m < 2; m++)
    multiply_panel<true>(acc[m], at.tile(4 + at.group) + m * 8192, at.base + Shared::H + Shared::PANEL);
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
  unsigned half = at.group / 2, rows = at.group % 2 * 8192;
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
  multiply_panel<false>(acc, at.tile(0) + half * 8192, y);
#pragma unroll
  for (unsigned i = 1; i < PANELS; i++) {
    at.await_tile(i);
    multiply_panel<true>(acc, at.tile(i) + half * 8192, y + i * Shared::PANEL);
  }
  wgmma_commit();
  at.read_x<ADD>(x, bias, 64 * half, first_node);
  wgmma_wait<0>();
  at.write_x(acc, x, 64 * half, first_node);
}

// What the last phase needs from global memory: loaded first, by loads that stay where they are.
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
  unsigned c = threadIdx.x % CHANNELS;
  float sum = 0.f;
#pragma unroll
  for (unsigned i = 0; i < NODES / 4; i++) {
    unsigned node = NODES / 4 * at.group + i;
    float value = *at.x(node, c);
    sum += node < nodes ? value : 0.f;
  }
  const unsigned warp = 4 * at.group + at.warp, first = 4 * at.lane;
  float4 norm_w = at_end.norm_w(), norm_b = at_end.norm_b(), head = at_end.head();
  float head_b = widen(at_end.b);
  sums[threadIdx.x] = sum;
  block_barrier();
#pragma unroll 1
  for (unsigned k = warp; k < params.classes; k += WARPS) {
    if (k != warp) head = load4(params.head_w + k * CHANNELS + first), head_b = widen(params.head_b[k]);
    float v[4] = {}, total = 0.f, squares = 0.f;
    for (int part = 0; part < 4; part++) {
      float4 s = *reinterpret_cast<const float4 *>(sums + part * CHANNELS + first);
      v[0] += s.x, v[1] += s.y, v[2] += s.z, v[3] += s.w;
    }
    float inverse = nodes > 0 ? 1.f / nodes : 0.f;
#pragma unroll
    for (int i = 0; i < 4; i++) v[i] *= inverse, total += v[i];
    float mean = warp_sum(total) * (1.f / CHANNELS);
#pragma unroll
    for (int i = 0; i < 4; i++) v[i] -= mean, squares += v[i] * v[i];
    float scale = rsqrtf(warp_sum(squares) * (1.f / CHANNELS) + params.eps);
    float y = (v[0] * scale * norm_w.x + norm_b.x) * head.x + (v[1] * scale * norm_w.y + norm_b.y) * head.y +
              (v[2] * scale * norm_w.z + norm_b.z) * head.z + (v[3] * scale * norm_w.w + norm_b.w) * head.w;
    y = warp_sum(y);
    if (at.lane == 0) store(params.logits + blockIdx.x * params.classes + k, y + head_b);
  }
}

__device__ __forceinline__ void graph_pass(const Params &params) {
  extern __shared__ __align__(1024) unsigned char shared[];
  Block at{shared_address(shared), shared, __shfl_sync(ALL_LANES, threadIdx.x / 128, 0),
           __shfl_sync(ALL_LANES, threadIdx.x / 32 % 4, 0), unsigned(lane_id())};
  const unsigned warp = 4 * at.group + at.warp;
  const unsigned nodes_begin = params.offsets[blockIdx.x], nodes_end = params.offsets[blockIdx.x + 1];
  if (threadIdx.x == 0) {
    for (unsigned i = 0; i < STAGES; i++) mbarrier_init(at.base + Shared::FULL + 8 * i, 1);
    for (unsigned i = 0; i < 2; i++) mbarrier_init(at.base + Shared::VECTORS_FULL + 8 * i, 1);
    mbarrier_init(at.base + Shared::INPUT, 1);
    fence_mbarrier_init();
  }
  block_barrier();
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
    block_barrier();
    project(at, vectors + Vectors::QKV_SKIP_B);
    at.end_phase<QKV_TILES>(params);
    attend(at, vectors, params.eps);
    block_barrier();
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

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    graph_pass_bf16(const __grid_constant__ Params params) {
  graph_pass(params);
}
