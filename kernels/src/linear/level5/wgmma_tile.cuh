// Tiles of x·wᵀ on Hopper's tensor cores: linear's level 5 on sm_90a, in bf16.
//
// wgmma multiplies 64 rows of x by BN rows of w, 16 columns of each, both in shared memory, and adds to accumulators
// in the registers of a warpgroup, four warps. It is asynchronous: a warp starts it and goes on. Three things keep
// the tensor cores busy.
//
//   - Operands. TMA (the Tensor Memory Accelerator, a unit of the SM that copies boxes of a matrix by itself)
//     copies a step of 64 columns, which one thread of the producer warpgroup starts: no registers, no address
//     arithmetic. Two blocks are a cluster, one tile below the other; each copies half of the rows of w to both.
//     Each of the STAGES stages of the pipeline has two barriers: `full` completes when the stage's bytes have
//     come, `empty` when all its readers, in both blocks, are done.
//   - The next tile. The kernel is persistent: the grid is as large as the GPU, and a cluster computes every
//     `stride`-th tile, so that copies for the next tile start while this one is multiplied.
//   - The epilogue. The two consumer warpgroups of a block compute tiles in turn ("ping-pong"): one does its
//     epilogue (bias, GELU, writes) while the other has the tensor cores.
//
// ANCHOR: turns
//     consumer 0    | tile 0: wgmma | epilogue     | tile 2: wgmma | epilogue …
//     consumer 1                    | tile 1: wgmma | epilogue     | tile 3: wgmma …
//     producer      copies for tiles 0, 1, 2, 3 …, up to STAGES steps ahead of wgmma
// ANCHOR_END: turns
//
// Accumulators of 128×192 are 192 registers of each thread: the producer gives most of its own to the consumers.
#pragma once

#include "common/hopper.cuh"

template <int BN_, int STAGES_>
struct WgmmaTile {
  static constexpr int BM = 128, BN = BN_, BK = 64, STAGES = STAGES_, CLUSTER = 2, THREADS = 3 * 128;
  static constexpr int PRODUCER = 2, CONSUMER_WARPS = 8, BARRIER_BYTES = 8; // PRODUCER: the third warpgroup
  // A step is BM rows of x, then BN rows of w, each 128 bytes: the width of the swizzle.
  static constexpr int ROW_BYTES = 2 * BK, STEP_BYTES = (BM + BN) * ROW_BYTES;
  // Shared memory: the stages, 16 rows of 64 columns of y for each consumer warp, the barriers.
  static constexpr int OUT_BYTES = 16 * 2 * 64, OUT = STAGES * STEP_BYTES;
  static constexpr int FULL = OUT + CONSUMER_WARPS * OUT_BYTES, EMPTY = FULL + BARRIER_BYTES * STAGES;
  static constexpr int SHARED_BYTES = EMPTY + BARRIER_BYTES * STAGES;
};

// The tiles of y that a cluster computes, every `stride`-th from `first` on, and for each the steps of K.
template <class Tile, class Epilogue>
struct TileScheduler {
  // Columns of y that a tile makes: with a gate, half of its own, and the other half is the up-projection's.
  static constexpr unsigned COLUMNS = Epilogue::GATED ? Tile::BN / 2 : Tile::BN;
  unsigned rank = cluster_rank(), first = blockIdx.x / Tile::CLUSTER, stride = gridDim.x / Tile::CLUSTER;
  unsigned n, tiles_n, tiles, steps;

  __device__ TileScheduler(unsigned m, unsigned n, unsigned k)
      : n(n), tiles_n((n + COLUMNS - 1) / COLUMNS),
        tiles((m + Tile::CLUSTER * Tile::BM - 1) / (Tile::CLUSTER * Tile::BM) * tiles_n),
        steps((k + Tile::BK - 1) / Tile::BK) {}

  // Along a row of tiles first: clusters that run at the same time share a few rows of x, and all of w, which stay in
  // the L2 cache.
  __device__ unsigned row(unsigned tile) const { return (tile / tiles_n * Tile::CLUSTER + rank) * Tile::BM; }
  __device__ unsigned column(unsigned tile) const { return tile % tiles_n * COLUMNS; }
  // The half of the tile's rows of w that this block copies; with a gate Wg's or Wu's.
  __device__ unsigned row_of_w(unsigned tile) const {
    return column(tile) + rank * (Epilogue::GATED ? n : Tile::BN / 2);
  }
};

// The producer: one thread starts all of the block's copies by TMA.
template <class Tile, class Scheduler>
__device__ __forceinline__ void produce(const TensorMap *x, const TensorMap *w, const Scheduler &scheduler,
                                        unsigned base) {
  unsigned s = 0; // steps so far, over all tiles
  // A stage's first wait passes: parity 1 is the phase before the first.
  auto wait_until_empty = [&] {
    mbarrier_wait(base + Tile::EMPTY + Tile::BARRIER_BYTES * (s % Tile::STAGES), s / Tile::STAGES % 2 ^ 1);
  };
#pragma unroll 1
  for (unsigned tile = scheduler.first; tile < scheduler.tiles; tile += scheduler.stride) {
    unsigned row = scheduler.row(tile), row_of_w = scheduler.row_of_w(tile);
#pragma unroll 1
    for (unsigned step = 0; step < scheduler.steps; step++, s++) {
      unsigned full_barrier = base + Tile::FULL + Tile::BARRIER_BYTES * (s % Tile::STAGES);
      unsigned xs = base + s % Tile::STAGES * Tile::STEP_BYTES;
      unsigned ws = xs + (Tile::BM + scheduler.rank * (Tile::BN / 2)) * Tile::ROW_BYTES;
      wait_until_empty();
      mbarrier_arrive_expect_tx(full_barrier, Tile::STEP_BYTES); // x, this block's half of w, and the other block's
      tma_load(xs, x, row, step * Tile::BK, full_barrier);
      tma_load_multicast(ws, w, row_of_w, step * Tile::BK, full_barrier, 0b11);
    }
  }
  // The other block arrives at this block's barriers, too, so this block may not exit before all
  // its stages are empty.
  for (int i = 0; i < Tile::STAGES; i++, s++) wait_until_empty();
}

// Multiplies all of K, whose first step is the block's s-th: acc[0] is the tile's upper 64 rows, acc[1] its lower. Calls
// started() once the last wgmma is started.
template <class Tile, class Started>
__device__ __forceinline__ void multiply_tile(float (&acc)[2][Tile::BN / 8][4], unsigned s, unsigned steps,
                                              unsigned base, Started started) {
  unsigned lane = threadIdx.x % 32;
  auto release = [&](unsigned done) { // lane 0 arrives in block 0, lane 1 in block 1
    if (lane < Tile::CLUSTER) mbarrier_arrive(base + Tile::EMPTY + Tile::BARRIER_BYTES * (done % Tile::STAGES), lane);
  };
#pragma unroll 1
  for (unsigned step = 0; step < steps; step++, s++) {
    unsigned xs = base + s % Tile::STAGES * Tile::STEP_BYTES;
    unsigned long long upper = matrix_descriptor(xs), lower = matrix_descriptor(xs + 64 * Tile::ROW_BYTES);
    unsigned long long w = matrix_descriptor(xs + Tile::BM * Tile::ROW_BYTES);
    mbarrier_wait(base + Tile::FULL + Tile::BARRIER_BYTES * (s % Tile::STAGES), s / Tile::STAGES % 2);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < Tile::BK / 16; i++) { // 16 columns are 32 bytes, 2 of a descriptor's units
      wgmma(acc[0], upper + 2 * i, w + 2 * i);
      wgmma(acc[1], lower + 2 * i, w + 2 * i);
    }
    wgmma_commit();
    wgmma_wait<1>(); // for the step before
    if (step > 0) release(s - 1);
  }
  started();
  wgmma_wait<0>();
  release(s - 1);
}

// Loads two neighbours, packed.
__device__ __forceinline__ unsigned load_two(const bf16 *p) { return *reinterpret_cast<const unsigned *>(p); }

// The operands of the epilogue: b (N), added before the activation, and the residual (M, N), added after it; each may
// be null.
struct Added {
  const bf16 *b, *residual;
  unsigned m, n;

  // Two neighbours of the residual, packed; zeros outside of it. The address of a row is computed each time: the
  // accumulators leave no registers for it.
  __device__ unsigned load_residual(unsigned row, unsigned column) const {
    asm volatile("" : "+r"(row));
    return row < m && column < n ? load_two(residual + size_t(row) * n + column) : 0;
  }
};

// The epilogue of a warp's rows, 16 from `row` on and 16 from `row` + 64 on. It converts 16 rows of a chunk of columns at
// a time to bf16 and writes them, swizzled, to the warp's staging buffer in shared memory, from where TMA copies what is
// inside y.
template <class Tile, class Epilogue>
__device__ __forceinline__ void write_tile(const float (&acc)[2][Tile::BN / 8][4], const Added &added,
                                           const TensorMap *y, unsigned row, unsigned column, unsigned out) {
  constexpr int COLUMNS = Epilogue::GATED ? 32 : 64, NT = COLUMNS / 8, PITCH = 2 * COLUMNS;
  constexpr int CHUNKS = (Epilogue::GATED ? Tile::BN / 2 : Tile::BN) / COLUMNS;
  unsigned lane = threadIdx.x % 32;
  // Lane l gives the address of row l % 16. The swizzle permutes the 16-byte chunks of a row by the index of its
  // 128-byte line; two rows of 64 bytes, those of a gated tile, share a line.
  unsigned to = out + lane % 16 * PITCH, swizzle = lane % 16 * PITCH / 128 % NT;
#pragma unroll
  for (int chunk = 0; chunk < CHUNKS; chunk++, column += COLUMNS) {
    float bias[NT][2];
#pragma unroll
    for (int j = 0; j < NT; j++) {
      unsigned at = column + 8 * j + lane % 4 * 2;
      unsigned two = !Epilogue::GATED && added.b && at < added.n ? load_two(added.b + at) : 0;
      bias[j][0] = unpack_low(two), bias[j][1] = unpack_high(two);
    }
#pragma unroll
    for (int half = 0; half < 2; half++) { // the upper 64 rows of the tile, then the lower
      unsigned packed[NT][2];
#pragma unroll
      for (int j = 0; j < NT; j++) {
        const float(&c)[4] = acc[half][chunk * NT + j];
        const float(&up)[4] = acc[half][Epilogue::GATED ? Tile::BN / 16 + chunk * NT + j : 0];
        float value[4];
#pragma unroll
        for (int i = 0; i < 4; i++) value[i] = Epilogue::of(c[i] + bias[j][i % 2], up[i]);
        if (added.residual) {
#pragma unroll
          for (int i = 0; i < 4; i += 2) {
            unsigned two = added.load_residual(row + 64 * half + lane / 4 + i / 2 * 8, column + 8 * j + lane % 4 * 2);
            value[i] += unpack_low(two), value[i + 1] += unpack_high(two);
          }
        }
        packed[j][0] = pack_bf16(value[0], value[1]), packed[j][1] = pack_bf16(value[2], value[3]);
      }
      if (lane == 0) tma_store_wait();
      __syncwarp();
#pragma unroll
      for (int j = 0; j < NT; j += 2)
        store_matrices(to + ((j + lane / 16) ^ swizzle) * 16, packed[j][0], packed[j][1], packed[j + 1][0],
                       packed[j + 1][1]);
      fence_proxy_async();
      __syncwarp();
      if (lane == 0) tma_store(y, row + 64 * half, column, out);
    }
  }
}

// A consumer: multiplies and writes every second tile of the block. The two consumers multiply in turn, by barriers 1
// and 2 of the block's 16. A wait sees a phase's parity alone, so it would pass too early if the phase before had not completed.
// It has, because all steps of the tile before have been full when a consumer's turn comes.
template <class Tile, class Epilogue>
__device__ __forceinline__ void consume(const TensorMap *y, const Added &added,
                                        const TileScheduler<Tile, Epilogue> &scheduler, unsigned base,
                                        unsigned group) {
  unsigned warp = threadIdx.x / 32 % 4, out = base + Tile::OUT + (4 * group + warp) * Tile::OUT_BYTES;
  unsigned i = group, tile = scheduler.first + i * scheduler.stride; // i: the block's tiles
  auto turn_of = [](unsigned consumer) { return 1 + consumer; };     // the barrier of its turn
#pragma unroll 1
  for (; tile < scheduler.tiles; tile += 2 * scheduler.stride, i += 2) {
    float acc[2][Tile::BN / 8][4] = {};
    if (i > 0) barrier_sync<256>(turn_of(group));
    multiply_tile<Tile>(acc, i * scheduler.steps, scheduler.steps, base, [&] {
      bool is_last = tile + scheduler.stride >= scheduler.tiles;
      if (!is_last) barrier_arrive<256>(turn_of(1 - group));
    });
    write_tile<Tile, Epilogue>(acc, added, y, scheduler.row(tile) + 16 * warp, scheduler.column(tile), out);
  }
  if (threadIdx.x % 32 == 0) tma_store_wait();
}

// Computes all tiles of a block.
template <class Tile, class Epilogue>
__device__ __forceinline__ void gemm_tiles(const TensorMap *x, const TensorMap *w, const TensorMap *y,
                                           const Added &added, unsigned k) {
  extern __shared__ __align__(1024) unsigned char shared[];
  unsigned base = shared_address(shared);
  // The shuffle tells the compiler that all lanes of a warp have the same value, so that what depends on it, such as
  // wgmma's descriptors, is computed once per warp in uniform registers.
  unsigned group = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);
  TileScheduler<Tile, Epilogue> scheduler(added.m, added.n, k);
  if (threadIdx.x == 0) {
    prefetch_tensor_map(x), prefetch_tensor_map(w), prefetch_tensor_map(y);
    for (int i = 0; i < Tile::STAGES; i++) {
      mbarrier_init(base + Tile::FULL + Tile::BARRIER_BYTES * i, 1); // the producer
      // The warps of a consumer in each block.
      mbarrier_init(base + Tile::EMPTY + Tile::BARRIER_BYTES * i, 4 * Tile::CLUSTER);
    }
  }
  cluster_barrier();

  if (group == Tile::PRODUCER) {
    setmaxnreg_dec<24>();
    if (threadIdx.x == 128 * Tile::PRODUCER) produce<Tile>(x, w, scheduler, base);
  } else {
    setmaxnreg_inc<240>();
    consume<Tile>(y, added, scheduler, base, group);
  }
}
