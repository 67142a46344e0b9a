// A block of the graph transformer's pass in f32: prepared weights, shared memory, copies of tiles, and the matmul.
//
// A tile is 64 rows and 64 columns of w, `high` or `low` (split_f16.cuh), as shared memory holds it: 8 KB that one bulk copy
// brings, without a tensor map. Each warpgroup has tiles of its own, STAGES of them in flight. They lie in the order of its
// reads, `high` and then `low` of the same rows and columns. A tile that all four warps have read is requested anew.
#pragma once

#include "common/hopper.cuh"
#include "common/overlap.cuh"
#include "common/split_f16.cuh"
#include "common/split_tf32.cuh"
#include "graph_pass/level5/graph.cuh"

constexpr unsigned GROUPS = 4, STAGES = 3;
constexpr unsigned TILE = 8192, LAYER_TILES = 16; // bytes; tiles of a layer per warpgroup

// Where 16 bytes of a tile or a panel lie: rows of 128 bytes, swizzled.
__device__ __forceinline__ constexpr unsigned swizzled(unsigned row, unsigned chunk) {
  return row * 128 + (chunk ^ row % 8) * 16;
}

// The vectors of a layer as prepared, in floats. The first FIRST, and EDGE_W, are read up to attention, the others by the MLP.
struct Vectors {
  static constexpr unsigned NORM1_W = 0, NORM1_B = 128, NORM2_W = 256, NORM2_B = 384, QKV_B = 512, QKV_SCALE = 1024,
                            FIRST = 1028, UP_B = 1028, DOWN_B = 1284, UP_SCALE = 1412, DOWN_SCALE = 1413, EDGE_W = 1416,
                            ALL = EDGE_W + CHANNELS * FEATURES;
};

// Shared memory, in bytes from a multiple of 1024.
struct Shared {
  static constexpr unsigned PANEL = 2 * NODES * 128;      // 64 channels of all nodes: rows of `high`, then of `low`
  static constexpr unsigned PITCH = CHANNELS + 4;         // of q, k, v and x, in floats
  static constexpr unsigned H = GROUPS * STAGES * TILE;   // a norm's result, 2 panels
  static constexpr unsigned Q = H + 2 * PANEL, K = Q + NODES * PITCH * 4, V = K + NODES * PITCH * 4;
  static constexpr unsigned U = Q, PARTS = U + 4 * PANEL; // in place of q, k and v: the MLP's hidden rows, half sums
  static constexpr unsigned X = V + NODES * PITCH * 4;
  static constexpr unsigned VECTORS = X + NODES * PITCH * 4;
  static constexpr unsigned EDGES = VECTORS + Vectors::ALL * 4;
  static constexpr unsigned SOURCES = EDGES + MAX_EDGES * FEATURES * 4; // a byte per edge
  static constexpr unsigned ROWS = SOURCES + MAX_EDGES;                 // first edge of each node, and the end
  static constexpr unsigned MOMENTS = ROWS + (NODES + 4) * 4;
  static constexpr unsigned FULL = MOMENTS + NODES * HEADS * 8, VECTORS_FULL = FULL + 8 * GROUPS * STAGES,
                            BYTES = VECTORS_FULL + 16;
  static_assert(PARTS + 2 * 8192 <= X && MOMENTS % 16 == 0 && U % 1024 == 0 && BYTES == 226528);
};

struct Params {
  const unsigned char *tiles;  // (layers, LAYER_TILES, GROUPS, TILE)
  const float *vectors;        // (layers, Vectors::ALL)
  const float *edge_fragments; // (layers, HEADS, 4, 32 lanes, 4): edge_w as a lane needs it for Wᵀq
  const float *x, *edges, *proj_in_w, *proj_in_b, *norm_w, *norm_b, *head_w, *head_b;
  const unsigned *offsets, *row_ptr, *col_idx; // first node of each graph; first edge of each node; source of each edge
  float *logits;
  unsigned layer_count, classes; // at least one layer: there are STAGES tiles
  float eps;
};
static_assert(sizeof(Params) == 136);

// The chunk of 16 bytes that has chunk c of edge e. Edges e and e + 4 lie in different halves of the banks.
__device__ __forceinline__ constexpr unsigned edge_chunk(unsigned e, unsigned c) { return (4 * e + c) ^ (e / 4 % 2 * 4); }

// Loads that stay where they are, long before their use.
__device__ __forceinline__ float4 load4_early(const float *p) {
  float4 x;
  asm volatile("ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w) : "l"(p));
  return x;
}
__device__ __forceinline__ unsigned load_index(const unsigned *p) {
  unsigned x;
  asm volatile("ld.volatile.global.u32 %0, [%1];" : "=r"(x) : "l"(p));
  return x;
}

// Requests the vectors of a layer, if there is one: part 0 those up to attention, part 1 the MLP's. One thread calls it.
__device__ __forceinline__ void load_vectors(const Params &params, unsigned base, unsigned layer, int part) {
  if (layer >= params.layer_count) return;
  const float *from = params.vectors + layer * Vectors::ALL;
  unsigned full = base + Shared::VECTORS_FULL + 8 * part, to = base + Shared::VECTORS;
  auto copy = [&](unsigned first, unsigned end) { bulk_load(to + first * 4, from + first, (end - first) * 4, full); };
  if (part == 0) {
    mbarrier_arrive_expect_tx(full, (Vectors::FIRST + CHANNELS * FEATURES) * 4);
    copy(0, Vectors::FIRST);
    copy(Vectors::EDGE_W, Vectors::ALL);
  } else {
    mbarrier_arrive_expect_tx(full, (Vectors::EDGE_W - Vectors::FIRST) * 4);
    copy(Vectors::FIRST, Vectors::EDGE_W);
  }
}

// A thread's place in the block, and its warpgroup's tiles.
struct Block : Place {
  const unsigned char *tiles;    // the next one to request
  unsigned left;                 // that have not been requested
  unsigned slot = 0, parity = 0; // of the next one to read

  __device__ float *x(unsigned node, unsigned channel) const {
    return reinterpret_cast<float *>(shared + Shared::X) + node * Shared::PITCH + channel;
  }
  __device__ const float *vectors() const { return reinterpret_cast<const float *>(shared + Shared::VECTORS); }

  // One thread requests the next tile into a slot that is free; all count it.
  __device__ __forceinline__ void request(unsigned s) const {
    unsigned i = group * STAGES + s, full = base + Shared::FULL + 8 * i;
    mbarrier_arrive_expect_tx(full, TILE);
    bulk_load(base + i * TILE, tiles, TILE, full);
  }
  __device__ __forceinline__ void requested() { tiles += GROUPS * TILE, left--; }

  __device__ __forceinline__ unsigned tile() const { return base + (group * STAGES + slot) * TILE; }
  __device__ __forceinline__ void await_tile() const {
    mbarrier_wait(base + Shared::FULL + 8 * (group * STAGES + slot), parity);
  }
  __device__ __forceinline__ void next() {
    slot = slot + 1 == STAGES ? 0 : slot + 1;
    parity ^= slot == 0;
  }
  // Once the warpgroup has read the tile in slot `used`, requests another one in its place.
  __device__ __forceinline__ void release(unsigned used) {
    barrier_sync<128>(1 + group);
    if (left > 0) {
      if (warp == 0 && lane == 0) request(used);
      __syncwarp();
      requested();
    }
  }

  // w·xᵀ of 64 rows of w and all nodes, K = 128. `x` is the address of the first of two panels. A wgmma of w's `high` has 64
  // columns, the nodes' `high` and their `low`; one of w's `low` has 32.
  __device__ __forceinline__ void multiply(float (&big)[8][4], float (&small)[4][4], unsigned x) {
    unsigned last = 0;
#pragma unroll
    for (unsigned p = 0; p < 2; p++) {
      unsigned long long b = matrix_descriptor(x + p * Shared::PANEL);
#pragma unroll
      for (int part = 0; part < 2; part++) {
        await_tile();
        unsigned long long a = matrix_descriptor(tile());
        wgmma_fence();
        if (part == 0) {
          if (p == 0) wgmma_f16<false>(big, a, b);
          else wgmma_f16<true>(big, a, b);
#pragma unroll
          for (int i = 1; i < 4; i++) wgmma_f16<true>(big, a + 2 * i, b + 2 * i);
        } else {
          if (p == 0) wgmma_f16<false>(small, a, b);
          else wgmma_f16<true>(small, a, b);
#pragma unroll
          for (int i = 1; i < 4; i++) wgmma_f16<true>(small, a + 2 * i, b + 2 * i);
        }
        wgmma_commit();
        if (p + part > 0) wgmma_wait<1>(), release(last);
        last = slot;
        next();
      }
    }
    wgmma_wait<0>();
    release(last);
  }
  // An element of the product, times the power of two that w was scaled by.
  static __device__ __forceinline__ float sum(const float (&big)[8][4], const float (&small)[4][4], int j, int i) {
    return fmaf(big[4 + j][i] + small[j][i], 1.f / 2048, big[j][i]);
  }
};
