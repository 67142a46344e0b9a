// The tiles of tile_wgmma.cu, their offsets in shared memory, and the work of a block.
#pragma once

// Heads of up to D channels, GROUPS consumer warpgroups of 64 queries each, BN keys at a time, BLOCKS blocks on an SM.
template <int D_, int GROUPS_, int BN_, int BLOCKS_>
struct HopperTile {
  static constexpr int D = D_, GROUPS = GROUPS_, BM = 64 * GROUPS, BN = BN_, BLOCKS = BLOCKS_;
  static constexpr int THREADS = 128 * (GROUPS + 1), STAGES = 2, CHUNKS = D / 64;
  static constexpr bool TURNS = GROUPS == 2;
  // Registers of a consumer's thread: those that the producer's threads leave.
  static constexpr int REGISTERS = GROUPS == 2 ? 240 : 136;
  // Shared memory: a chunk is 64 channels, rows of 128 bytes. Two stages of q, STAGES stages of k and v.
  static constexpr int Q_CHUNK = 128 * BM, Q_BYTES = CHUNKS * Q_CHUNK;
  static constexpr int KV_CHUNK = 128 * BN, KV_BYTES = CHUNKS * KV_CHUNK;
  static constexpr int K = 2 * Q_BYTES, V = K + STAGES * KV_BYTES;
  // Barriers, 8 bytes each: FULL once the bytes have arrived, EMPTY once all warps have read them.
  static constexpr int Q_FULL = V + STAGES * KV_BYTES, Q_EMPTY = Q_FULL + 2 * 8;
  static constexpr int K_FULL = Q_EMPTY + 2 * 8, K_EMPTY = K_FULL + 8 * STAGES;
  static constexpr int V_FULL = K_EMPTY + 8 * STAGES, V_EMPTY = V_FULL + 8 * STAGES;
  static constexpr int SHARED_BYTES = V_EMPTY + 8 * STAGES;
};

struct Problem {
  unsigned batch, queries, keys, visible_to_first, heads, heads_of_key; // as in params.cuh
  float scale;

  __device__ int visible_to(unsigned t) const { return int(min(keys, visible_to_first + t)); }

  template <class Tile>
  __device__ unsigned work_tiles() const {
    return (queries + Tile::BM - 1) / Tile::BM * heads * batch;
  }
};

// A tile of queries of a head, and the number of key tiles that it sees. Neighbours in the grid are tiles of one head,
// which find its keys in the L2 cache. The last queries, which see the most keys, come first.
template <class Tile>
struct WorkTile {
  unsigned sequence, head, first, tiles;

  __device__ WorkTile(unsigned i, const Problem &p) {
    unsigned blocks = (p.queries + Tile::BM - 1) / Tile::BM;
    sequence = i / blocks / p.heads, head = i / blocks % p.heads;
    first = (blocks - 1 - i % blocks) * Tile::BM;
    unsigned visible = p.visible_to(min(first + Tile::BM, p.queries) - 1);
    tiles = (visible + Tile::BN - 1) / Tile::BN;
  }
};
