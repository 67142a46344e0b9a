// Level 5 of attention, bf16 on Hopper: tiles by wgmma and TMA; matmuls and exponentials overlap.
//   y = softmax(q·kᵀ/√D)·v, full or causal        q (B, T, H, D), k and v (B, S, Hkv, D), y (B, T, H, D)
// D ≤ 128 is a multiple of 8, as every stride is.
//
// Against level4/tile_mma.cu: the same tiles and the same online softmax, in instructions of Hopper.
//   - wgmma: one instruction multiplies 64 queries by a tile of keys, which the tensor cores read from shared memory
//     themselves. mma.sync takes its right operand from registers, so that each warp has to load all keys for itself.
//   - The exponentials stay in the registers of the scores, from which the second matmul takes its left operand.
//   - TMA, the Tensor Memory Accelerator of an SM, copies q, k and v; one thread of the producer warpgroup issues the
//     copies. The next tile and the next queries are in flight while the consumer warpgroups work on these. The grid is
//     as large as the GPU, and each block takes one tile of queries after the other.
//   - Matmuls and exponentials overlap. A tile costs 4·64·BN·D operations on tensor cores and 64·BN exponentials, of
//     which an SM computes 16 per clock: at D = 128 they take half as long as the matmuls, at D = 64 as long. Another
//     warpgroup has to use the tensor cores meanwhile:
//       heads up to 64 channels: one consumer per block, and three blocks on an SM, in no fixed order
//       heads up to 128: two consumers that take turns ("ping-pong"). One starts q·kᵀ of its next tile, then p·v of
//       this one, and hands the tensor cores over ("FlashAttention-3", Shah et al. 2024).
//
// ANCHOR: turns
//     consumer 0    | q·kᵀ, then p·v of before | softmax                  | q·kᵀ, p·v …
//     consumer 1    | softmax                  | q·kᵀ, then p·v of before | softmax   …
//     producer      copies: q, k, v, k, v …
// ANCHOR_END: turns
//
// Prediction: 4 × 4096 causal, 16 heads of 128: 275 GFLOP, 0.28 ms at the tensor cores' rate; a tile on the diagonal is
// computed whole (3% more), and not all that a warpgroup waits for is hidden.
// Where it loses: 197 queries are 256 rows, 197 keys three tiles of 80. To be faster: shorter last tiles; a second
// consumer for long sequences of narrow heads, too.
//
// Launch: as many blocks as fit the GPU or as there are tiles of queries, whichever is less; THREADS; SHARED_BYTES as
// dynamic shared memory; tensor maps of q, k, v and y by value: boxes of 64 channels of one head, swizzled,
//   q: 64·GROUPS tokens · k and v: BN tokens · y: 16 tokens
//
// Compiled for sm_90a.
//
// Measured on an NVIDIA H200: causal_attention_prefill 4x4096x16x16x128 bf16 with its other launches at 58% of the fastest bf16 matmul; see kernels/generated/attention/level5/tile_wgmma.md.
#include "attention/level5/tile.cuh"
#include "attention/params.cuh"
#include "attention/scores.cuh"
#include "common/hopper.cuh"

// Starts to load a tile of a head's tokens, from `token` on, once its stage is empty.
template <class Tile>
__device__ __forceinline__ void load_tile(const TensorMap *map, const WorkTile<Tile> &work, unsigned head,
                                          unsigned token, unsigned to, int chunk, unsigned full_barrier,
                                          unsigned empty_barrier, unsigned parity) {
  mbarrier_wait(empty_barrier, parity ^ 1);
  mbarrier_arrive_expect_tx(full_barrier, Tile::CHUNKS * chunk);
#pragma unroll
  for (int c = 0; c < Tile::CHUNKS; c++)
    tma_load(to + c * chunk, map, work.sequence, token, head, 64 * c, full_barrier);
}

// The producer: one thread asks TMA for all that the block reads.
template <class Tile>
__device__ __forceinline__ void produce(const TensorMap *q, const TensorMap *k, const TensorMap *v,
                                        const Problem &p, unsigned base) {
  unsigned n = 0, i = 0; // tiles of keys and work tiles so far
#pragma unroll 1
  for (unsigned w = blockIdx.x; w < p.work_tiles<Tile>(); w += gridDim.x, i++) {
    WorkTile<Tile> work(w, p);
    unsigned q_barriers = base + i % 2 * 8;
    load_tile<Tile>(q, work, work.head, work.first, base + i % 2 * Tile::Q_BYTES, Tile::Q_CHUNK,
                    q_barriers + Tile::Q_FULL, q_barriers + Tile::Q_EMPTY, i / 2 % 2);
#pragma unroll 1
    for (unsigned tile = 0; tile < work.tiles; tile++, n++) {
      unsigned stage = n % Tile::STAGES, parity = n / Tile::STAGES % 2, barriers = base + 8 * stage;
      auto load = [&](const TensorMap *map, int stages, int full, int empty) { // their offsets
        load_tile<Tile>(map, work, work.head / p.heads_of_key, tile * Tile::BN, base + stages + stage * Tile::KV_BYTES,
                        Tile::KV_CHUNK, barriers + full, barriers + empty, parity);
      };
      load(k, Tile::K, Tile::K_FULL, Tile::K_EMPTY);
      load(v, Tile::V, Tile::V_FULL, Tile::V_EMPTY);
    }
  }
}

// Scores of a warp's 16 queries and BN keys, in the lanes as in the accumulators of an mma: of each 8 keys, a lane has
// two neighbours of query g = lane/4, and the same two of query g + 8.
template <class Tile>
using Scores = float[Tile::BN / 8][4];

// Starts s = q·kᵀ.
template <class Tile>
__device__ __forceinline__ void start_qk(Scores<Tile> &s, unsigned q, unsigned k) {
  wgmma_fence();
#pragma unroll
  for (int c = 0; c < Tile::D / 16; c++) { // 16 channels are 32 bytes, 2 of a descriptor's units
    unsigned long long a = matrix_descriptor(q + c / 4 * Tile::Q_CHUNK) + 2 * (c % 4);
    unsigned long long b = matrix_descriptor(k + c / 4 * Tile::KV_CHUNK) + 2 * (c % 4);
    if (c == 0)
      wgmma<false>(s, a, b);
    else
      wgmma<true>(s, a, b);
  }
  wgmma_commit();
}

// The softmax of a lane's two queries over the keys so far: the maximum score m, the lane's share l of the sum of
// exponentials, and its share o of Σ p·v; and p of the tile that is to be added next.
template <class Tile>
struct State {
  float m[2] = {-INFINITY, -INFINITY}, l[2] = {}, scale[2], o[Tile::D / 8][4] = {};
  unsigned p[Tile::BN / 16][4];

  // Turns scores into exponentials. `scale` becomes the factor of all accumulators so far.
  __device__ __forceinline__ void online_softmax(Scores<Tile> &s, float factor) {
#pragma unroll
    for (int h = 0; h < 2; h++) scale[h] = ::online_softmax(s, h, factor, m[h], l[h]);
  }

  // Packs the exponentials to p, and scales o, once the matmul of the tile before has ended.
  __device__ __forceinline__ void rescale_and_pack(const Scores<Tile> &s) {
#pragma unroll
    for (int c = 0; c < Tile::D / 8; c++)
#pragma unroll
      for (int e = 0; e < 4; e++) o[c][e] *= scale[e / 2];
#pragma unroll
    for (int j = 0; j < Tile::BN / 16; j++)
#pragma unroll
      for (int e = 0; e < 4; e++) {
        const float(&x)[4] = s[2 * j + e / 2];
        p[j][e] = pack_bf16(x[e % 2 * 2], x[e % 2 * 2 + 1]);
      }
  }

  // Starts o += p·v.
  __device__ __forceinline__ void start_pv(unsigned v) {
    wgmma_fence();
#pragma unroll
    for (int j = 0; j < Tile::BN / 16; j++) // 16 keys are 16 rows
      wgmma(o, p[j], matrix_descriptor(v + 16 * 128 * j, Tile::KV_CHUNK));
    wgmma_commit();
  }

  // Writes o/l in bf16 to a warp's 16 rows of shared memory, swizzled as TMA expects them.
  __device__ __forceinline__ void store(unsigned out) {
    unsigned lane = threadIdx.x % 32, to = out + lane % 16 * 128;
    float share[2] = {1.f / warp_sum<4>(l[0]), 1.f / warp_sum<4>(l[1])};
#pragma unroll
    for (int c = 0; c < Tile::D / 8; c += 2) {
      auto packed = [&](int c, int h) { return pack_bf16(o[c][2 * h] * share[h], o[c][2 * h + 1] * share[h]); };
      unsigned chunk = c / 8 * Tile::Q_CHUNK, swizzled = (c % 8 + lane / 16) ^ lane % 8;
      store_matrices(to + chunk + 16 * swizzled, packed(c, 0), packed(c, 1), packed(c + 1, 0), packed(c + 1, 1));
    }
  }
};

// The barriers and the shared memory of a consumer, a warpgroup of 64 queries.
template <class Tile>
struct Consumer {
  unsigned base, group, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;

  // The address of tile n, in one of the STAGES stages from offset `stages` on. `wait` and `release` take the offset of
  // the first stage's barrier.
  __device__ __forceinline__ unsigned stage_address(int stages, unsigned n) const {
    return base + stages + n % Tile::STAGES * Tile::KV_BYTES;
  }
  __device__ __forceinline__ void wait(int full, unsigned n) const {
    mbarrier_wait(base + full + 8 * (n % Tile::STAGES), n / Tile::STAGES % 2);
  }
  __device__ __forceinline__ void release(int empty, unsigned n) const {
    if (lane == 0) mbarrier_arrive(base + empty + 8 * (n % Tile::STAGES));
  }

  // The consumers take turns on the tensor cores, by barriers 3 and 4 of the block's 16.
  __device__ __forceinline__ void take_turn() const {
    if (Tile::TURNS) barrier_sync<256>(3 + group);
  }
  __device__ __forceinline__ void give_turn() const {
    if (Tile::TURNS) barrier_arrive<256>(4 - group);
  }

  // Starts o += p·v of tile n.
  __device__ __forceinline__ void start_pv(State<Tile> &state, unsigned n) const {
    wait(Tile::V_FULL, n);
    state.start_pv(stage_address(Tile::V, n));
  }

  // Writes y of the queries from `first` on, through a stage of q, which all warps of the group have read. Then the
  // producer may fill that stage again.
  __device__ __forceinline__ void write(State<Tile> &state, const TensorMap *y, const WorkTile<Tile> &work,
                                        unsigned first, unsigned q, unsigned q_stage) const {
    barrier_sync<128>(1 + group);
    unsigned out = q + 16 * 128 * warp;
    state.store(out);
    fence_proxy_async();
    __syncwarp();
    if (lane == 0) {
#pragma unroll
      for (int c = 0; c < Tile::CHUNKS; c++)
        tma_store(y, work.sequence, first + 16 * warp, work.head, 64 * c, out + c * Tile::Q_CHUNK);
      tma_store_wait();
      mbarrier_arrive(base + Tile::Q_EMPTY + 8 * q_stage);
    }
  }
};

// All work tiles of a consumer.
template <class Tile>
__device__ __forceinline__ void consume(const TensorMap *y, const Problem &p, unsigned base, unsigned group) {
  Consumer<Tile> consumer{base, group};
  unsigned n = 0, i = 0; // tiles of keys and work tiles so far
  if (group == 1) consumer.give_turn();
#pragma unroll 1
  for (unsigned w = blockIdx.x; w < p.work_tiles<Tile>(); w += gridDim.x, i++) {
    WorkTile<Tile> work(w, p);
    unsigned q_stage = i % 2, q = base + q_stage * Tile::Q_BYTES + 64 * 128 * group;
    unsigned first = work.first + 64 * group, row = first + 16 * consumer.warp + consumer.lane / 4;
    int visible[2] = {p.visible_to(row), p.visible_to(row + 8)};
    State<Tile> state;
    auto softmax = [&](Scores<Tile> &s, int key) {
      if (key + Tile::BN > p.visible_to(first)) mask(s, key, visible);
      state.online_softmax(s, p.scale * LOG2_E);
    };
    mbarrier_wait(base + Tile::Q_FULL + 8 * q_stage, i / 2 % 2);
#pragma unroll 1
    for (unsigned tile = 0; tile < work.tiles; tile++, n++) {
      Scores<Tile> s;
      consumer.take_turn();
      consumer.wait(Tile::K_FULL, n);
      start_qk<Tile>(s, q, consumer.stage_address(Tile::K, n));
      if (Tile::TURNS && tile > 0) {
        consumer.start_pv(state, n - 1); // of the tile before, queued after these scores
        consumer.give_turn();
        wgmma_wait<1>();
        consumer.release(Tile::K_EMPTY, n);
        softmax(s, tile * Tile::BN);
        wgmma_wait<0>();
        consumer.release(Tile::V_EMPTY, n - 1);
        state.rescale_and_pack(s);
      } else {
        consumer.give_turn();
        wgmma_wait<0>();
        consumer.release(Tile::K_EMPTY, n);
        softmax(s, tile * Tile::BN);
        state.rescale_and_pack(s);
      }
      if (!Tile::TURNS || tile + 1 == work.tiles) {
        consumer.start_pv(state, n);
        wgmma_wait<0>();
        consumer.release(Tile::V_EMPTY, n);
      }
    }
    consumer.write(state, y, work, first, q, q_stage);
  }
}

template <class Tile>
__device__ __forceinline__ void attention(const TensorMap *q, const TensorMap *k, const TensorMap *v,
                                          const TensorMap *y, const Problem &problem) {
  extern __shared__ __align__(1024) unsigned char shared[];
  unsigned base = shared_address(shared);
  unsigned group = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0); // tells the compiler that a warp has one value
  if (threadIdx.x == 0) {
    prefetch_tensor_map(q), prefetch_tensor_map(k), prefetch_tensor_map(v), prefetch_tensor_map(y);
    auto init = [&](int full, int empty, int stages) {
      for (int i = 0; i < stages; i++) {
        mbarrier_init(base + full + 8 * i, 1);                  // the producer
        mbarrier_init(base + empty + 8 * i, 4 * Tile::GROUPS); // the warps of the consumers
      }
    };
    init(Tile::Q_FULL, Tile::Q_EMPTY, 2);
    init(Tile::K_FULL, Tile::K_EMPTY, Tile::STAGES);
    init(Tile::V_FULL, Tile::V_EMPTY, Tile::STAGES);
    fence_mbarrier_init();
  }
  __syncthreads();
  if (group == Tile::GROUPS) {
    setmaxnreg_dec<24>();
    if (threadIdx.x % 128 == 0) produce<Tile>(q, k, v, problem, base);
  } else {
    setmaxnreg_inc<Tile::REGISTERS>();
    consume<Tile>(y, problem, base, group);
  }
}

#define KERNEL(NAME, ...)                                                                                            \
  extern "C" __global__ void __launch_bounds__(HopperTile<__VA_ARGS__>::THREADS, HopperTile<__VA_ARGS__>::BLOCKS)    \
      NAME(const __grid_constant__ TensorMap q, const __grid_constant__ TensorMap k,                                 \
           const __grid_constant__ TensorMap v, const __grid_constant__ TensorMap y, unsigned batch,                 \
           unsigned queries, unsigned keys, unsigned visible_to_first, unsigned heads, unsigned heads_of_key,        \
           float scale) {                                                                                            \
    Problem problem{batch, queries, keys, visible_to_first, heads, heads_of_key, scale};                             \
    attention<HopperTile<__VA_ARGS__>>(&q, &k, &v, &y, problem);                                                     \
  }

KERNEL(attention_d64x64_bf16_level5, 64, 1, 80, 3)
KERNEL(attention_d128x128_bf16_level5, 128, 2, 128, 1)
