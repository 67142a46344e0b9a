// A tile of x·wᵀ a block on tensor cores, on sm_80: what linear and patch_embed share at level 4, in bf16, and
// linear at level 5, in f32 too.
//
// One instruction of a warp multiplies 16 rows of x by 8 rows of w, 32 bytes of each: 2048 multiply-adds of
// bf16, where an FFMA does 32. The sums are f32, in registers. Its operands come from shared memory as
// matrices of 8 rows of 16 bytes, four with one instruction; x (M, K) and w (N, K) both have k last, and that
// is the order in which it wants them.
//
// Steps of BK columns go from global to shared memory past the registers (cp.async), into a ring of STAGES
// places, so that STAGES − 1 are there or on their way. One barrier a step says two things: what each
// thread waited for is there for all, and all are done with the step before, whose place the next copy may
// take.
//
//     step        0   1   2   3   4 …        STAGES = 3
//     place       0   1   2   0   1 …
//                 ↑       ↑   └ copied once step 0 is computed
//          computed       on its way
#pragma once

#include "common/mma.cuh"
#include "common/gemm/operands.cuh"

// Products of bf16, 16 columns at a time: sum += a·bᵀ.
struct Bf16 {
  using Element = bf16;
  // Whether a step has sums of its own, which are added to those of the steps before.
  static constexpr bool APART = false;

  template <int MT, int NT>
  __device__ static void multiply(float (&sum)[MT][NT][4], const unsigned (&a)[MT][4],
                                  const unsigned (&b)[NT / 2][4]) {
    each_piece(sum, a, b, mma);
  }
};

// SLICES groups of WARPS_M×WARPS_N warps each have all of the block's tile and their own part of every step, so
// that a small tile still has warps enough to hide what each of them waits for. Their sums are added at the end.
template <class Products_, int BM_, int BN_, int BK_, int STAGES_, int WARPS_M_, int WARPS_N_, int SLICES_ = 1>
struct MmaTile {
  using Products = Products_;
  using T = typename Products::Element;
  static constexpr int BM = BM_, BN = BN_, BK = BK_, STAGES = STAGES_, WARPS_M = WARPS_M_, WARPS_N = WARPS_N_;
  static constexpr int SLICES = SLICES_, WM = BM / WARPS_M, WN = BN / WARPS_N, WARPS = WARPS_M * WARPS_N;
  static constexpr int THREADS = 32 * WARPS * SLICES;
  // Chunks of 16 bytes in a row of a step.
  static constexpr int ROW_BYTES = sizeof(T) * BK, CHUNKS = ROW_BYTES / 16, STEP_BYTES = ROW_BYTES * (BM + BN);
  // Floats from one row of sums to the next: 8 more than there are, so that neighbouring rows meet other
  // banks.
  static constexpr int PITCH = BN + 8;
  static_assert(CHUNKS % 8 == 0 && THREADS % (8 * CHUNKS) == 0, "8 rows or more are copied at once");
  static_assert(ROW_BYTES % (32 * SLICES) == 0, "whole products for each slice");
  static_assert(4 * SLICES * BM * PITCH <= STAGES * STEP_BYTES, "the sums take the place of the steps");
};

// Where a chunk of a row lies in its step. Rows follow each other without a gap, so that the same chunk of
// 8 rows, which is what an 8×8 matrix is read from, would lie in the same 4 banks: 8 chunks change places,
// by their row.
template <class Tile>
__device__ __forceinline__ unsigned place(unsigned row, unsigned chunk) {
  return row * Tile::ROW_BYTES + (chunk ^ row % 8) * 16;
}

// The 4 bytes of a row from `column` on: an f32, or two bf16.
template <class Source>
__device__ __forceinline__ unsigned word_of(const Source &source, const float *row, unsigned column) {
  return __float_as_uint(source.element(row, column));
}
template <class Source>
__device__ __forceinline__ unsigned word_of(const Source &source, const bf16 *row, unsigned column) {
  return source.element(row, column).bits | unsigned(source.element(row, column + 1).bits) << 16;
}

// What a thread copies of the ROWS rows of x, or of w, for a step: one chunk of COUNT rows.
template <class Tile, int ROWS, class Source>
struct Copy {
  static constexpr int STRIDE = Tile::THREADS / Tile::CHUNKS, COUNT = ROWS / STRIDE;
  static_assert(ROWS % STRIDE == 0);

  using T = typename Tile::T;

  const Source &source;
  unsigned first = threadIdx.x / Tile::CHUNKS, chunk = threadIdx.x % Tile::CHUNKS;
  unsigned to = kept(place<Tile>(first, chunk)), column = kept(PER_16_BYTES<T> * chunk);
  const T *row[COUNT];

  __device__ explicit Copy(const Source &source) : source(source) {
#pragma unroll
    for (int i = 0; i < COUNT; i++) row[i] = kept(source.row(first + i * STRIDE));
  }

  // Columns from k on, to shared memory: there after copy_wait and a barrier.
  __device__ void start(unsigned tile, unsigned k) const {
    if (source.vector) {
#pragma unroll
      for (int i = 0; i < COUNT; i++)
        copy16(tile + to + i * STRIDE * Tile::ROW_BYTES, source.at(row[i], k + column),
               source.inside(row[i], k + column));
    } else {
#pragma unroll 1
      for (int i = 0; i < COUNT; i++) {
        const T *from = source.row(first + i * STRIDE);
        auto word = [&](unsigned i) { return word_of(source, from, k + column + i * (4 / sizeof(T))); };
        store16_shared(tile + to + i * STRIDE * Tile::ROW_BYTES, word(0), word(1), word(2), word(3));
      }
    }
  }
};

// The sums of a warp, WM×WN of them. Its columns are WN/2 in the left half of the tile and as many in the
// right half: with a gate, which is the left half, the two sums that an element of y is made of are in one
// lane.
template <class Tile>
struct MmaSums {
  static constexpr int BN = Tile::BN, MT = Tile::WM / 16, NT = Tile::WN / 8;
  static_assert(NT % 4 == 0, "8 columns and their neighbours are read at once");

  unsigned lane = threadIdx.x % 32, warp = Tile::SLICES == 1 ? threadIdx.x / 32 : threadIdx.x / 32 % Tile::WARPS;
  unsigned slice = Tile::SLICES == 1 ? 0 : threadIdx.x / 32 / Tile::WARPS;
  unsigned warp_m = warp / Tile::WARPS_N, warp_n = warp % Tile::WARPS_N;
  // Where this lane's row of the warp's first 16 rows of x and of w lies in their tiles.
  unsigned x = kept(place<Tile>(warp_m * Tile::WM + lane % 16, lane / 16));
  unsigned w = kept(place<Tile>(warp_n * (Tile::WN / 2) + lane / 16 * 8 + lane % 8, lane / 8 % 2));
  float sum[MT][NT][4] = {};

  // How far the warp's n-th 8 columns are from its first.
  __device__ static constexpr unsigned apart(unsigned n) {
    return n / (NT / 2) * (BN / 2) + n % (NT / 2) * 8;
  }

  // Adds a step.
  __device__ void add(unsigned xs, unsigned ws) {
    if constexpr (Tile::Products::APART) {
      float part[MT][NT][4] = {};
      add_to(part, xs, ws);
#pragma unroll
      for (int m = 0; m < MT; m++)
#pragma unroll
        for (int n = 0; n < NT; n++)
#pragma unroll
          for (int i = 0; i < 4; i++) sum[m][n][i] += part[m][n][i];
    } else {
      add_to(sum, xs, ws);
    }
  }

  // Adds this slice's part of a step. 32 bytes on, a row's chunk is two further: those bits of its place change.
  __device__ void add_to(float (&sum)[MT][NT][4], unsigned xs, unsigned ws) const {
    constexpr int SHARE = Tile::ROW_BYTES / Tile::SLICES;
#pragma unroll
    for (int i = 0; i < SHARE; i += 32) {
      unsigned bytes = slice * SHARE + i;
      unsigned a[MT][4], b[NT / 2][4];
#pragma unroll
      for (int m = 0; m < MT; m++) load_matrices(a[m], ((xs + x) ^ bytes) + m * 16 * Tile::ROW_BYTES);
#pragma unroll
      for (int n = 0; n < NT; n += 2)
        load_matrices(b[n / 2], ((ws + w) ^ bytes) + apart(n) * Tile::ROW_BYTES);
      Tile::Products::multiply(sum, a, b);
    }
  }

  // To shared memory, a tile for each slice.
  __device__ void spill(float *tiles) const {
    float *tile = tiles + slice * (Tile::BM * Tile::PITCH);
    unsigned row = warp_m * Tile::WM + lane / 4, column = warp_n * (Tile::WN / 2) + lane % 4 * 2;
#pragma unroll
    for (int m = 0; m < MT; m++)
#pragma unroll
      for (int n = 0; n < NT; n++) {
        const float(&s)[4] = sum[m][n];
        float *p = tile + (row + 16 * m) * Tile::PITCH + column + apart(n);
        *reinterpret_cast<float2 *>(p) = {s[0], s[1]};
        *reinterpret_cast<float2 *>(p + 8 * Tile::PITCH) = {s[2], s[3]};
      }
  }

  // From there: N neighbours, 1, 4 or 8, added over the slices.
  template <int N>
  __device__ static void take(float (&s)[N], const float *tiles, unsigned row, unsigned column) {
    const float *p = tiles + row * Tile::PITCH + column;
    four_or_one(s, p);
#pragma unroll
    for (int slice = 1; slice < Tile::SLICES; slice++) {
      float more[N];
      four_or_one(more, p + slice * Tile::BM * Tile::PITCH);
#pragma unroll
      for (int i = 0; i < N; i++) s[i] += more[i];
    }
  }
  template <int N>
  __device__ static void four_or_one(float (&s)[N], const float *p) {
    if constexpr (N == 1) {
      s[0] = *p;
    } else {
#pragma unroll
      for (int i = 0; i < N; i += 4) {
        float4 four = load4(p + i);
        s[i] = four.x, s[i + 1] = four.y, s[i + 2] = four.z, s[i + 3] = four.w;
      }
    }
  }
};

// The block's tile, whose first element is y's (row, column): all of K, then the epilogue. With a gate it
// has BN/2 columns of y. The sums go through shared memory once more, so that a warp writes whole rows of
// the tile.
template <class Tile, class X, class W, class Epilogue>
__device__ __forceinline__ void product(const X &x, const W &w, const Output<typename Tile::T, Epilogue> &out,
                                        unsigned row, unsigned column, unsigned k) {
  constexpr int BM = Tile::BM, BN = Tile::BN, BK = Tile::BK, AHEAD = Tile::STAGES - 1;
  extern __shared__ __align__(128) unsigned char ring[];
  unsigned base = shared_address(ring), steps = (k + BK - 1) / BK;
  MmaSums<Tile> sums;
  Copy<Tile, BM, X> copy_x(x);
  Copy<Tile, BN, W> copy_w(w);
  auto xs = [&](unsigned step) { return base + step % Tile::STAGES * Tile::STEP_BYTES; };
  auto ws = [&](unsigned step) { return xs(step) + BM * Tile::ROW_BYTES; };
  auto start = [&](unsigned step) {
    if (step < steps) copy_x.start(xs(step), step * BK), copy_w.start(ws(step), step * BK);
    copy_commit(); // an empty group too, past the last step: groups are counted as steps are
  };

#pragma unroll 1
  for (unsigned step = 0; step < AHEAD; step++) start(step);
#pragma unroll 1
  for (unsigned step = 0; step < steps; step++) {
    copy_wait<AHEAD - 1>();
    __syncthreads();
    sums.add(xs(step), ws(step));
    start(step + AHEAD);
  }

  float *tile = reinterpret_cast<float *>(ring);
  __syncthreads();
  sums.spill(tile);
  __syncthreads();
  constexpr int COLUMNS = Epilogue::GATED ? BN / 2 : BN;
  auto take = [&](auto &s, unsigned r, unsigned c) { sums.take(s, tile, r, c); };
  write_tile<BM, COLUMNS, Tile::THREADS>(out, row, column, take);
}
