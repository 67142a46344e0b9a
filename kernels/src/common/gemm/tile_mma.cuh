// One tile of x·wᵀ per block on tensor cores, for sm_80: shared by linear and patch_embed at level 4, in bf16, and by
// linear at level 5, in f32 too.
//
// One mma instruction of a warp multiplies 16 rows of x by 8 rows of w, 32 bytes of each: 2048 multiply-adds of
// bf16, where an FFMA does 32. The accumulators are f32, in registers. ldmatrix reads the operands from shared memory
// as 8×8 matrices, 8 rows of 16 bytes, four per instruction. x (M, K) and w (N, K) both have k last, which is the
// order that mma wants.
//
// cp.async copies steps of BK columns from global to shared memory without passing through registers. The steps form a
// pipeline of STAGES stages, so that up to STAGES − 1 of them are there or in flight. One barrier per step has two
// purposes: what each thread waited for is there for all threads, and all threads are done with the step before, whose
// stage the next copy may overwrite.
//
//     step        0   1   2   3   4 …        STAGES = 3
//     stage       0   1   2   0   1 …
//                 ↑   ↑   └ copied once step 0 is computed
//          computed   in flight
#pragma once

#include "common/gemm/epilogue.cuh"
#include "common/gemm/matrix.cuh"
#include "common/mma.cuh"

// The mma of bf16, 16 columns at a time: acc += a·bᵀ. (`bf16` is the element type.)
struct MmaBf16 {
  using Element = bf16;
  // Whether each step has accumulators of its own, which are then added to those of the steps before.
  static constexpr bool ACCUMULATE_PER_STEP = false;

  template <int MT, int NT>
  __device__ static void multiply(float (&acc)[MT][NT][4], const unsigned (&a)[MT][4],
                                  const unsigned (&b)[NT / 2][4]) {
    multiply_fragments(acc, a, b, mma);
  }
};

// The sizes of a tile. MmaOp is MmaBf16 or SplitTf32. SLICES groups of WARPS_M×WARPS_N warps each compute all of the
// block's tile from their own slice of every step, so that a small tile still has warps enough to hide latency. Their
// accumulators are added at the end.
template <class MmaOp_, int BM_, int BN_, int BK_, int STAGES_, int WARPS_M_, int WARPS_N_, int SLICES_ = 1>
struct MmaTile {
  using MmaOp = MmaOp_;
  using T = typename MmaOp::Element;
  static constexpr int BM = BM_, BN = BN_, BK = BK_, STAGES = STAGES_, WARPS_M = WARPS_M_, WARPS_N = WARPS_N_;
  static constexpr int SLICES = SLICES_, WM = BM / WARPS_M, WN = BN / WARPS_N, WARPS = WARPS_M * WARPS_N;
  static constexpr int THREADS = 32 * WARPS * SLICES;
  // Chunks of 16 bytes in a row of a step.
  static constexpr int ROW_BYTES = sizeof(T) * BK, CHUNKS = ROW_BYTES / 16, STEP_BYTES = ROW_BYTES * (BM + BN);
  // Floats from one row of accumulators in shared memory to the next: 8 of padding, so that neighbouring rows lie in
  // different banks.
  static constexpr int PITCH = BN + 8;
  static_assert(CHUNKS % 8 == 0 && THREADS % (8 * CHUNKS) == 0, "8 rows or more are copied at once");
  static_assert(ROW_BYTES % (32 * SLICES) == 0, "each slice has whole mma instructions");
  static_assert(4 * SLICES * BM * PITCH <= STAGES * STEP_BYTES, "the accumulators take the place of the steps");
};

// Byte offset of a chunk of a row in its step. Rows follow each other without padding, so that the same chunk of 8
// rows, which is what ldmatrix reads an 8×8 matrix from, would lie in the same 4 banks. The swizzle permutes 8 chunks
// of a row by the row's number, so that they lie in all 32.
template <class Tile>
__device__ __forceinline__ unsigned swizzled_offset(unsigned row, unsigned chunk) {
  return row * Tile::ROW_BYTES + (chunk ^ row % 8) * 16;
}

// The 4 bytes of a row from `column` on: one f32, or two bf16.
template <class Source>
__device__ __forceinline__ unsigned load_word(const Source &source, const float *row, unsigned column) {
  return __float_as_uint(source.element(row, column));
}
template <class Source>
__device__ __forceinline__ unsigned load_word(const Source &source, const bf16 *row, unsigned column) {
  return source.element(row, column).bits | unsigned(source.element(row, column + 1).bits) << 16;
}

// A thread's part of the copy of ROWS rows of x, or of w, for a step: one chunk in each of COUNT rows.
template <class Tile, int ROWS, class Source>
struct Copy {
  static constexpr int STRIDE = Tile::THREADS / Tile::CHUNKS, COUNT = ROWS / STRIDE;
  static_assert(ROWS % STRIDE == 0);

  using T = typename Tile::T;

  const Source &source;
  unsigned first = threadIdx.x / Tile::CHUNKS, chunk = threadIdx.x % Tile::CHUNKS;
  unsigned offset = keep_in_register(swizzled_offset<Tile>(first, chunk));
  unsigned column = keep_in_register(PER_16_BYTES<T> * chunk);
  const T *row[COUNT];

  __device__ explicit Copy(const Source &source) : source(source) {
#pragma unroll
    for (int i = 0; i < COUNT; i++) row[i] = keep_in_register(source.row(first + i * STRIDE));
  }

  // Starts to copy columns from `first_column` on to address `to`. They are there after copy_wait and a barrier.
  __device__ void start(unsigned to, unsigned first_column) const {
    if (source.is_aligned) {
#pragma unroll
      for (int i = 0; i < COUNT; i++)
        copy16(to + offset + i * STRIDE * Tile::ROW_BYTES, source.at(row[i], first_column + column),
               source.inside(row[i], first_column + column));
    } else {
#pragma unroll 1
      for (int i = 0; i < COUNT; i++) {
        const T *from = source.row(first + i * STRIDE);
        auto word = [&](unsigned w) {
          return load_word(source, from, first_column + column + w * (4 / sizeof(T)));
        };
        store16_shared(to + offset + i * STRIDE * Tile::ROW_BYTES, word(0), word(1), word(2), word(3));
      }
    }
  }
};

// The accumulators of a warp, WM×WN of them.
template <class Tile>
struct MmaAccumulators {
  static constexpr int MT = Tile::WM / 16, NT = Tile::WN / 8;
  static_assert(NT % 2 == 0, "ldmatrix reads 16 columns at once");

  unsigned lane = threadIdx.x % 32, warp = Tile::SLICES == 1 ? threadIdx.x / 32 : threadIdx.x / 32 % Tile::WARPS;
  unsigned slice = Tile::SLICES == 1 ? 0 : threadIdx.x / 32 / Tile::WARPS;
  unsigned warp_m = warp / Tile::WARPS_N, warp_n = warp % Tile::WARPS_N;
  // Offsets of the rows of x and of w whose addresses this lane gives to the warp's first ldmatrix.
  unsigned x_offset = keep_in_register(swizzled_offset<Tile>(warp_m * Tile::WM + lane % 16, lane / 16));
  unsigned w_offset = keep_in_register(
      swizzled_offset<Tile>(warp_n * Tile::WN + lane / 16 * 8 + lane % 8, lane / 8 % 2));
  float acc[MT][NT][4] = {};

  // Adds the products of a step.
  __device__ void add(unsigned xs, unsigned ws) {
    if constexpr (Tile::MmaOp::ACCUMULATE_PER_STEP) {
      float step_acc[MT][NT][4] = {};
      add_to(step_acc, xs, ws);
#pragma unroll
      for (int m = 0; m < MT; m++)
#pragma unroll
        for (int n = 0; n < NT; n++)
#pragma unroll
          for (int i = 0; i < 4; i++) acc[m][n][i] += step_acc[m][n][i];
    } else {
      add_to(acc, xs, ws);
    }
  }

  // Adds the products of this slice of a step. `bytes` moves an address on by 2 chunks per 32 bytes. The chunk's number
  // is 0 or 1 before, and an even number is added. So the addition is an XOR, which commutes with the swizzle's XOR. xs
  // and ws have to be multiples of ROW_BYTES, so that an address has the low bits of its offset.
  __device__ void add_to(float (&sums)[MT][NT][4], unsigned xs, unsigned ws) const {
    constexpr int SLICE_BYTES = Tile::ROW_BYTES / Tile::SLICES;
#pragma unroll
    for (int i = 0; i < SLICE_BYTES; i += 32) {
      unsigned bytes = slice * SLICE_BYTES + i;
      unsigned a[MT][4], b[NT / 2][4];
#pragma unroll
      for (int m = 0; m < MT; m++) load_matrices(a[m], ((xs + x_offset) ^ bytes) + m * 16 * Tile::ROW_BYTES);
#pragma unroll
      for (int n = 0; n < NT; n += 2)
        load_matrices(b[n / 2], ((ws + w_offset) ^ bytes) + n * 8 * Tile::ROW_BYTES);
      Tile::MmaOp::multiply(sums, a, b);
    }
  }

  // Writes the accumulators to shared memory, one tile per slice.
  __device__ void store_acc(float *tiles) const {
    float *tile = tiles + slice * (Tile::BM * Tile::PITCH);
    unsigned row = warp_m * Tile::WM + lane / 4, column = warp_n * Tile::WN + lane % 4 * 2;
#pragma unroll
    for (int m = 0; m < MT; m++)
#pragma unroll
      for (int n = 0; n < NT; n++) {
        const float(&c)[4] = acc[m][n];
        float *p = tile + (row + 16 * m) * Tile::PITCH + column + 8 * n;
        *reinterpret_cast<float2 *>(p) = {c[0], c[1]};
        *reinterpret_cast<float2 *>(p + 8 * Tile::PITCH) = {c[2], c[3]};
      }
  }

  // Reads N neighbouring accumulators, 1, 4 or 8, back from shared memory, added over the slices.
  template <int N>
  __device__ static void load_acc(float (&values)[N], const float *tiles, unsigned row, unsigned column) {
    const float *p = tiles + row * Tile::PITCH + column;
    load_floats(values, p);
#pragma unroll
    for (int slice = 1; slice < Tile::SLICES; slice++) {
      float other_slice[N];
      load_floats(other_slice, p + slice * Tile::BM * Tile::PITCH);
#pragma unroll
      for (int i = 0; i < N; i++) values[i] += other_slice[i];
    }
  }
  template <int N>
  __device__ static void load_floats(float (&x)[N], const float *p) {
    if constexpr (N == 1) {
      x[0] = *p;
    } else {
#pragma unroll
      for (int i = 0; i < N; i += 4) {
        float4 four = load4(p + i);
        x[i] = four.x, x[i + 1] = four.y, x[i + 2] = four.z, x[i + 3] = four.w;
      }
    }
  }
};

// Computes the block's tile, whose first element is y's (row, column): all of K, then the epilogue. With a gate it
// makes BN/2 columns of y. The accumulators go through shared memory, so that a warp writes whole rows of the tile.
template <class Tile, class X, class W, class Epilogue>
__device__ __forceinline__ void gemm_tile(const X &x, const W &w, const Output<typename Tile::T, Epilogue> &out,
                                          unsigned row, unsigned column, unsigned k) {
  constexpr int BM = Tile::BM, BN = Tile::BN, BK = Tile::BK, AHEAD = Tile::STAGES - 1;
  // The XOR in add_to needs stages that begin at multiples of ROW_BYTES. STEP_BYTES is one; the alignment is another.
  static_assert(512 % Tile::ROW_BYTES == 0);
  extern __shared__ __align__(512) unsigned char stages[];
  unsigned base = shared_address(stages), steps = (k + BK - 1) / BK;
  MmaAccumulators<Tile> acc;
  Copy<Tile, BM, X> copy_x(x);
  Copy<Tile, BN, W> copy_w(w);
  auto xs = [&](unsigned step) { return base + step % Tile::STAGES * Tile::STEP_BYTES; };
  auto ws = [&](unsigned step) { return xs(step) + BM * Tile::ROW_BYTES; };
  auto start = [&](unsigned step) {
    if (step < steps) copy_x.start(xs(step), step * BK), copy_w.start(ws(step), step * BK);
    copy_commit(); // an empty group past the last step, so that step and group have one number
  };

#pragma unroll 1
  for (unsigned step = 0; step < AHEAD; step++) start(step);
#pragma unroll 1
  for (unsigned step = 0; step < steps; step++) {
    copy_wait<AHEAD - 1>();
    __syncthreads();
    acc.add(xs(step), ws(step));
    start(step + AHEAD); // not before the compute: its instructions delay the first mma, and the largest tile was slower
  }

  float *acc_tiles = reinterpret_cast<float *>(stages);
  __syncthreads();
  acc.store_acc(acc_tiles);
  __syncthreads();
  constexpr int COLUMNS = Epilogue::GATED ? BN / 2 : BN;
  auto load_acc = [&](auto &values, unsigned r, unsigned c) { acc.load_acc(values, acc_tiles, r, c); };
  write_tile<BM, COLUMNS, Tile::THREADS>(out, row, column, load_acc);
}
