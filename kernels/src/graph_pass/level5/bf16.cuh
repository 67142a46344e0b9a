// A block of the graph transformer's pass: its parameters, its shared memory, and the copies that fill it.
//
// A tile of weights is 128 rows and 64 columns of w, 16 KB, which TMA copies. Shared memory has STAGES tiles. When a
// phase ends, all threads have passed a barrier, so as many tiles are requested as the phase has used, each by one warp.
// They are needed one to three phases later. A warp that only requests copies would cost the others 32 registers each.
#pragma once

#include "common/hopper.cuh"
#include "common/overlap.cuh"
#include "graph_pass/level5/graph.cuh"

constexpr unsigned MAX_LAYERS = 8;

// A tile of weights: rows of 128 bytes, swizzled by TMA. wgmma reads half of its rows at a time.
constexpr unsigned TILE_ROWS = 128, TILE_COLUMNS = 64, TILE_BYTES = TILE_ROWS * TILE_COLUMNS * 2, STAGES = 9;
constexpr unsigned HALF_TILE = TILE_BYTES / 2;
// Tiles of a layer's matmuls, in order: q, k, v and skip's first half of K, then the second; up's likewise; down's four.
constexpr unsigned QKV_TILES = 8, UP_TILES = 4, DOWN_TILES = 4, LAYER_TILES = QKV_TILES + UP_TILES + DOWN_TILES;

// The vectors of a layer, and the weights of its edges, in shared memory.
struct Vectors {
  static constexpr unsigned NORM1_W = 0, NORM1_B = 256, NORM2_W = 512, NORM2_B = 768, QKV_SKIP_B = 1024, UP_B = 2048,
                            DOWN_B = 2560, EDGE_W = 2816, BYTES = EDGE_W + CHANNELS * FEATURES * 2;
};

// Shared memory, in bytes from a multiple of 1024. Matrices that wgmma reads are panels of 64 channels: rows of 128
// bytes, swizzled. The rest has rows that start in different banks.
struct Shared {
  static constexpr unsigned PANEL = NODES * 128;
  static constexpr unsigned PITCH = 2 * CHANNELS + 16;     // of q, k and v
  static constexpr unsigned X_PITCH = CHANNELS + 4;        // of x, in floats
  static constexpr unsigned EDGE_PITCH = 2 * FEATURES + 4; // of an edge's features
  static constexpr unsigned H = STAGES * TILE_BYTES;       // a norm's result, 2 panels
  static constexpr unsigned Q = H + 2 * PANEL, K = Q + NODES * PITCH, V = K + NODES * PITCH;
  static constexpr unsigned U = Q; // the MLP's hidden rows, 4 panels, in place of q, k and v
  static constexpr unsigned X = Q + 26 * 1024;
  static constexpr unsigned VECTORS = X + NODES * X_PITCH * 4; // of two layers, in turn
  static constexpr unsigned EDGES = VECTORS + 2 * Vectors::BYTES;
  static constexpr unsigned SOURCES = EDGES + MAX_EDGES * EDGE_PITCH; // a byte per edge
  static constexpr unsigned ROWS = SOURCES + MAX_EDGES;               // first edge of each node, and the end
  static constexpr unsigned MOMENTS = ROWS + (NODES + 4) * 4; // of each node's heads: sum, squared deviations
  static constexpr unsigned FULL = MOMENTS + NODES * HEADS * 8, VECTORS_FULL = FULL + 8 * STAGES,
                            INPUT = VECTORS_FULL + 16, BYTES = INPUT + 8;
  static_assert(3 * NODES * PITCH <= X - Q && 4 * PANEL <= X - Q && BYTES == 230832 && MOMENTS % 16 == 0);
};

struct Layer {
  TensorMap qkv_skip, up, down; // boxes of a tile
  const bf16 *norm1_w, *norm1_b, *norm2_w, *norm2_b, *qkv_skip_b, *up_b, *down_b, *edge_w;
};

struct Params {
  TensorMap x, proj_in; // boxes of 32 rows; of a tile
  const bf16 *proj_in_b, *edges, *norm_w, *norm_b, *head_w, *head_b;
  const unsigned *offsets, *row_ptr, *col_idx; // first node of each graph; first edge of each node; source of each edge
  bf16 *logits;
  unsigned layer_count, classes;
  float eps;
  Layer layers[MAX_LAYERS];
};
static_assert(sizeof(Params) == 3968);

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
    if (i < QKV_TILES) w = &params.layers[l].qkv_skip, row = i % 4, column = i / 4;
    else if (i < QKV_TILES + UP_TILES) w = &params.layers[l].up, row = i % 2, column = (i - QKV_TILES) / 2;
    else w = &params.layers[l].down, column = i - QKV_TILES - UP_TILES;
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
struct Block : Place {
  unsigned tiles = 0; // used so far

  __device__ float *x(unsigned node, unsigned channel) const {
    return reinterpret_cast<float *>(shared + Shared::X) + node * Shared::X_PITCH + channel;
  }
  // The address of the i-th tile from here; `await_tile` waits until it is there.
  __device__ unsigned tile(unsigned i) const { return base + (tiles + i) % STAGES * TILE_BYTES; }
  __device__ void await_tile(unsigned i) const {
    unsigned t = tiles + i;
    mbarrier_wait(base + Shared::FULL + 8 * (t % STAGES), t / STAGES % 2);
  }
  // Ends a phase that used COUNT tiles: waits for all threads, and requests tiles in place of these.
  template <unsigned COUNT>
  __device__ void end_phase(const Params &params) {
    __syncthreads();
    if (lane == 0 && 4 * group + warp < COUNT) load_tile(params, base, tiles + STAGES + 4 * group + warp);
    __syncwarp();
    tiles += COUNT;
  }

  // y = bias, plus x where ADD: 64 channels from `first_channel` on, 8·N nodes from `first_node` on.
  template <bool ADD, int N>
  __device__ void read_x(float (&y)[N][4], const float (&bias)[2], unsigned first_channel, unsigned first_node) const {
#pragma unroll
    for (int j = 0; j < N; j++)
#pragma unroll
      for (int i = 0; i < 4; i++)
        y[j][i] = (ADD ? *x(first_node + node(j, i % 2), first_channel + channel(i / 2)) : 0.f) + bias[i / 2];
  }
  // x = acc + y, the same channels and nodes.
  template <int N>
  __device__ void write_x(const float (&acc)[N][4], const float (&y)[N][4], unsigned first_channel,
                          unsigned first_node) const {
#pragma unroll
    for (int j = 0; j < N; j++)
#pragma unroll
      for (int i = 0; i < 4; i++) *x(first_node + node(j, i % 2), first_channel + channel(i / 2)) = acc[j][i] + y[j][i];
  }
};
