// One tile of x·wᵀ per block, in f32: shared by linear and patch_embed at level 4.
//
// A thread has TM×8 accumulators in registers. For each k it reads TM elements of x and 8 of w from shared memory, and
// each of them serves 8 or TM multiply-adds: with TM = 8, 16 words for 64 multiply-adds, where level 3 reads 5 words
// for 4. It is the outer product of two short columns:
//
//              w ┌────────┐      The TM rows and the 8 columns come in groups of 4, half a tile from each other,
//       x        │ 4    4 │      so that what the lanes of a warp read, 16 bytes each, lies in all banks.
//     ┌───┐      └────────┘      With a gate, the left half of a tile is the gate's columns and the right half
//     │ 4 │      ┌────────┐      the same columns of the up-projection: one thread has both accumulators that
//     │   │  TM  │ TM × 8 │      an element of y is made of.
//     │ 4 │      └────────┘
//     └───┘
//
// The rows of a step of BK columns lie in shared memory with k first, so that for one k they are neighbours. Shared
// memory is double-buffered: while a step is computed from one buffer, the next is in flight from global memory to
// registers, and from there goes to the other buffer. That takes one barrier per step.
//
// SLICES groups of threads each compute all of the block's tile from their own slice of every step, so that a small
// tile still has threads enough to hide latency. Their accumulators are added at the end.
#pragma once

#include "common/gemm/epilogue.cuh"
#include "common/gemm/matrix.cuh"

// The sizes of a tile.
template <int BM_, int BN_, int BK_, int TM_, int SLICES_>
struct FmaTile {
  using T = float;
  static constexpr int BM = BM_, BN = BN_, BK = BK_, TM = TM_, TN = 8, SLICES = SLICES_;
  // Threads of a slice, in warps of 8×4: each has 8·TM rows and 32 columns.
  static constexpr int SLICE = BM / TM * (BN / TN), THREADS = SLICE * SLICES;
  // Floats of a step.
  static constexpr int STEP = BK * (BM + BN);
  static_assert(BM % (8 * TM) == 0 && BN % 32 == 0, "whole warps");
  static_assert(BK / 4 % SLICES == 0, "whole chunks of 4 columns for each slice");
  static_assert(SLICES * BM * BN <= 2 * STEP, "the accumulators take the place of the steps");
};

// Position of row i of a tile in a column k of shared memory, chunk = k / 4. With BK = 32, a warp stores 8 chunks of 4
// rows at once: swizzled by the chunk, each lane's word goes to a bank of its own. With BK = 64 it stores 16 chunks of 2
// rows, and two lanes share a bank. Groups of 4 rows stay together, so that they can be read as 16 bytes.
__device__ __forceinline__ unsigned swizzled_row(unsigned i, unsigned chunk) { return i ^ (4 * chunk % 32); }

// A thread's part of the copy of ROWS rows of x, or of w, for a step: one chunk of 4 columns in each of COUNT rows.
template <class Tile, int ROWS, class Source>
struct Fetch {
  static constexpr int CHUNKS = Tile::BK / 4, STRIDE = Tile::THREADS / CHUNKS, COUNT = ROWS / STRIDE;
  static_assert(Tile::THREADS % CHUNKS == 0 && ROWS % STRIDE == 0);

  const Source &source;
  unsigned first = threadIdx.x / CHUNKS, chunk = threadIdx.x % CHUNKS;
  const float *row[COUNT];
  float4 fetched[COUNT];

  __device__ explicit Fetch(const Source &source) : source(source) {
#pragma unroll
    for (int i = 0; i < COUNT; i++) row[i] = keep_in_register(source.row(first + i * STRIDE));
  }

  // Loads columns from k on to registers.
  __device__ void load(unsigned k) {
    unsigned column = k + 4 * chunk;
    if (source.is_aligned) {
#pragma unroll
      for (int i = 0; i < COUNT; i++)
        fetched[i] = source.inside(row[i], column) ? load4(source.at(row[i], column)) : float4{};
    } else {
      auto x = [&](int i, unsigned c) { return source.element(row[i], column + c); };
#pragma unroll
      for (int i = 0; i < COUNT; i++) fetched[i] = {x(i, 0), x(i, 1), x(i, 2), x(i, 3)};
    }
  }

  // Stores them to shared memory, [k][row].
  __device__ void store(float *tile) const {
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
      float *p = tile + 4 * chunk * ROWS + swizzled_row(first + i * STRIDE, chunk);
      p[0] = fetched[i].x, p[ROWS] = fetched[i].y, p[2 * ROWS] = fetched[i].z, p[3 * ROWS] = fetched[i].w;
    }
  }
};

// Offset of an accumulator in its tile in shared memory. The rows of a lane are 4 further down than those of the lane
// 4 before it: the swizzle swaps columns in every other 4 rows, so that the two lanes access different banks.
template <class Tile>
__device__ __forceinline__ unsigned swizzled_offset(unsigned row, unsigned column) {
  return row * Tile::BN + (column ^ (row & 4) * 4);
}

// The accumulators of a thread, and where they are in the block's tile.
template <class Tile>
struct Accumulators {
  static constexpr int BM = Tile::BM, BN = Tile::BN, TM = Tile::TM, TN = Tile::TN;

  unsigned slice = threadIdx.x / Tile::SLICE, lane = threadIdx.x % 32, warp = threadIdx.x % Tile::SLICE / 32;
  unsigned row = 4 * (warp / (BN / 32) * 8 + lane / 4), column = 4 * (warp % (BN / 32) * 4 + lane % 4);
  float acc[TM][TN] = {};

  // Adds the products of this slice of a step.
  __device__ void add(const float *xs, const float *ws) {
    constexpr int CHUNKS = Tile::BK / 4 / Tile::SLICES;
#pragma unroll
    for (int i = 0; i < CHUNKS; i++) {
      unsigned chunk = slice * CHUNKS + i;
#pragma unroll
      for (unsigned k = 4 * chunk; k < 4 * chunk + 4; k++) {
        float x[TM], w[TN];
        read<BM / 2>(x, xs + k * BM, swizzled_row(row, chunk));
        read<BN / 2>(w, ws + k * BN, swizzled_row(column, chunk));
#pragma unroll
        for (int m = 0; m < TM; m++)
#pragma unroll
          for (int n = 0; n < TN; n++) acc[m][n] += x[m] * w[n];
      }
    }
  }

  // Reads 4 words of a column of shared memory from position `at` on, and with COUNT = 8 the 4 that are HALF_TILE rows
  // further on before the swizzle.
  template <int HALF_TILE, int COUNT>
  __device__ static void read(float (&v)[COUNT], const float *column, unsigned at) {
#pragma unroll
    for (int i = 0; i < COUNT; i += 4) {
      float4 four = load4(column + (i == 0 ? at : HALF_TILE < 32 ? at ^ HALF_TILE : at + HALF_TILE));
      v[i] = four.x, v[i + 1] = four.y, v[i + 2] = four.z, v[i + 3] = four.w;
    }
  }

  // Writes the accumulators to shared memory, one tile per slice.
  __device__ void store_acc(float *tiles) const {
    float *tile = tiles + slice * (BM * BN);
#pragma unroll
    for (int i = 0; i < TM; i++) {
      const float(&c)[TN] = acc[i];
      unsigned at = i < 4 ? row + i : BM / 2 + row + i - 4;
      store4(tile + swizzled_offset<Tile>(at, column), {c[0], c[1], c[2], c[3]});
      store4(tile + swizzled_offset<Tile>(at, BN / 2 + column), {c[4], c[5], c[6], c[7]});
    }
  }

  // Reads N neighbouring accumulators, 1 or 4, back from shared memory, added over the slices.
  template <int N>
  __device__ static void load_acc(float (&acc)[N], const float *tiles, unsigned row, unsigned column) {
    const float *p = tiles + swizzled_offset<Tile>(row, column);
#pragma unroll
    for (int n = 0; n < N; n++) acc[n] = 0.f;
#pragma unroll
    for (int slice = 0; slice < Tile::SLICES; slice++, p += BM * BN)
      if constexpr (N == 4) {
        float4 v = load4(p);
        acc[0] += v.x, acc[1] += v.y, acc[2] += v.z, acc[3] += v.w;
      } else {
        acc[0] += *p;
      }
  }
};

// Computes the block's tile, whose first element is y's (row, column): all of K, then the epilogue. With a gate it
// makes BN/2 columns of y. The accumulators go through shared memory, so that a warp writes whole rows of the tile.
template <class Tile, class X, class W, class Epilogue>
__device__ __forceinline__ void gemm_tile(const X &x, const W &w, const Output<float, Epilogue> &out,
                                          unsigned row, unsigned column, unsigned k) {
  constexpr int BM = Tile::BM, BN = Tile::BN, BK = Tile::BK;
  __shared__ __align__(16) float steps[2][Tile::STEP];
  Accumulators<Tile> acc;
  Fetch<Tile, BM, X> fetch_x(x);
  Fetch<Tile, BN, W> fetch_w(w);

  // Each iteration fetches a step and computes the one before; the first only fetches, the last only computes.
#pragma unroll 1
  for (unsigned next = 0, i = 0; next < k + BK; next += BK, i ^= 1) {
    if (next < k) fetch_x.load(next), fetch_w.load(next);
    if (next > 0) acc.add(steps[i ^ 1], steps[i ^ 1] + BK * BM);
    if (next < k) fetch_x.store(steps[i]), fetch_w.store(steps[i] + BK * BM);
    __syncthreads();
  }

  acc.store_acc(steps[0]);
  __syncthreads();
  constexpr int COLUMNS = Epilogue::GATED ? BN / 2 : BN;
  auto load_acc = [&](auto &values, unsigned r, unsigned c) { acc.load_acc(values, steps[0], r, c); };
  write_tile<BM, COLUMNS, Tile::THREADS>(out, row, column, load_acc);
}
