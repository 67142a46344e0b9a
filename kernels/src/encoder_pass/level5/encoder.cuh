// Sizes of `s16`, and what encoder_pass keeps where.
#pragma once

#include "common/hopper.cuh"
#include "common/warp.cuh"

// Tokens, channels, channels inside the MLP, heads, channels of a head.
constexpr int TOKENS = 197, C = 384, F = 1536, HEADS = 6, D = 64;

// Clusters, blocks of a cluster, and tokens of a cluster. A block owns one or two pairs of tokens: pair p is that of block
// p mod RANKS.
constexpr int CLUSTERS = 7, RANKS = 12, ROWS = 32, PAIRS = 16;
static_assert(CLUSTERS * ROWS >= TOKENS && RANKS == 2 * HEADS && PAIRS <= 2 * RANKS);

// 12 warps compute, and one more requests weights.
constexpr int WARPS = 12, THREADS = 416;
static_assert(THREADS == 32 * (WARPS + 1));

// A tile is 64 rows and columns of a weight, in the order in which a copy has to leave it in shared memory. A layer has 432 of
// them: q, k and v by rows, the projection by heads, and the MLP's two matrices by rows and by slices of K. A block reads
// BLOCK_TILES of a layer, and STAGES of them are in flight or in use.
constexpr int TILE = 8192, LAYER_TILES = 432, BLOCK_TILES = 42, STAGES = 16;
constexpr int OUT_TILES = 108, UP_TILES = 144, DOWN_TILES = 288; // the first of each; q's is 0

// A layer's vectors in f32: biases, and gain and bias of the norms.
struct Vectors {
  static constexpr int QKV_B = 0, OUT_B = QKV_B + 3 * C, NORM2_W = OUT_B + C, NORM2_B = NORM2_W + C, UP_B = NORM2_B + C;
  static constexpr int DOWN_B = UP_B + F, NORM1_W = DOWN_B + C, NORM1_B = NORM1_W + C, ALL = NORM1_B + C;
};

// k and v in global memory, as the fragments that `mma` reads: for each head and cluster k, then v, each KV_BLOCK times 16
// bytes. Three layers have a part each in turn. NONE marks what no block has written; no result has these bits, because
// the conversion to bf16 has one NaN, 0x7fff.
constexpr unsigned KV_BLOCK = 256, KV_HEAD = CLUSTERS * 2 * KV_BLOCK, KV_LAYER = HEADS * KV_HEAD, NONE = ~0u;
constexpr int KV_LAYERS = 3;

// Shared memory, in bytes from its start.
struct Shared {
  static constexpr unsigned NORMED = STAGES * TILE;          // norm(x) of all ROWS: 6 panels of 64 channels
  static constexpr unsigned PANEL = ROWS * 128;              // a panel, swizzled as wgmma reads it
  static constexpr unsigned SUMS = NORMED + C / D * PANEL;   // for each of two pairs, from each block, 4 channels per 16 bytes
  static constexpr unsigned SUMS_PART = C / 4 * 16;          // of a pair from one block
  static constexpr unsigned HIDDEN = SUMS + 2 * RANKS * SUMS_PART; // gelu(…): 2 panels, where PARTS was
  static constexpr unsigned PARTS = HIDDEN;                  // attention to the keys of each cluster, in f32
  static constexpr unsigned PARTS_PITCH = (D + 8) * 4;       // 8 more, so that rows begin in other banks
  static constexpr unsigned PARTS_WARP = 16 * PARTS_PITCH;
  static constexpr unsigned SOFTMAX = PARTS + CLUSTERS * PARTS_WARP; // their maxima and sums
  static constexpr unsigned ATTENDED = (SOFTMAX + CLUSTERS * 16 * 8 + 1023) / 1024 * 1024; // 16 rows of a head
  static constexpr unsigned QUERIES = ATTENDED + 16 * 128;   // as fragments
  static constexpr unsigned MOMENTS = QUERIES + 2048;        // of the pairs' rows, by warp
  static constexpr unsigned FULL = MOMENTS + 256, EMPTY = FULL + 8 * STAGES; // barriers: tiles,
  static constexpr unsigned NORMED_HERE = EMPTY + 8 * STAGES, SUMS_HERE = NORMED_HERE + 8, BYTES = SUMS_HERE + 8; // what blocks send
};
static_assert(Shared::BYTES == 230928);
static_assert(Shared::BYTES <= 227 * 1024 && Shared::NORMED % 1024 == 0 && Shared::HIDDEN % 1024 == 0);

// The place of a thread. Block r of a cluster has head r / 2: k, or v if it is the second, of all ROWS, and the
// attention of the first or second 16 of them.
struct Block {
  unsigned base; // of shared memory
  unsigned lane, warp, group, quarter; // group: of four warps; quarter: the warp in it
  unsigned cluster, rank, head, half;

  __device__ explicit Block(unsigned base)
      : base(base), lane(lane_id()), warp(__shfl_sync(ALL_LANES, threadIdx.x / 32, 0)), group(warp / 4), quarter(warp % 4),
        cluster(blockIdx.x / RANKS), rank(cluster_rank()), head(rank / 2), half(rank % 2) {}
};
