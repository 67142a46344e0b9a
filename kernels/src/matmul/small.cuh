// C = A·B for matrices too small to fill a GPU: what the entries of level5.cu have in common.
//
// At 64×64×64 there are 262,144 multiply-adds, which the GPU's units do in 0.01 µs; what takes time is one
// journey to memory and back, and how many steps a thread has to take one after another. So a block fetches
// as much of K at once as its registers hold, all loads in flight together, and K is then shared out among
// SLICES groups of threads, whose sums are added at the end: 64 steps become 64 / SLICES.
//
// A and B come with any strides. What is fetched is brought to shared memory with k first, whatever the
// order it lies in, and neighbouring lanes take elements that are neighbours in memory: columns of k where
// those are, rows where not.
#pragma once

#include "common/vector.cuh"
#include "common/warp.cuh"

// A matrix of a batch: element (i, k) lies `row`·i + `column`·k after the first, matrices are `batch` apart.
struct Strides {
  long long batch;
  int row, column;
};

template <int BM_, int BN_, int BK_, int TM_, int TN_, int SLICES_, int MATRICES_ = 1>
struct Small {
  static constexpr int BM = BM_, BN = BN_, BK = BK_, TM = TM_, TN = TN_, SLICES = SLICES_, MATRICES = MATRICES_;
  // Threads of a slice: each has TM rows and TN columns of the tile.
  static constexpr int ACROSS = BN / TN, SLICE = BM / TM * ACROSS, THREADS = SLICE * SLICES;
  // Floats from one column of k to the next: a few more than there are, so that lanes that store
  // neighbouring columns meet fewer banks twice, and what is read stays aligned.
  static constexpr int PITCH_A = BM + TM, PITCH_B = BN + TN;
  static constexpr int STEP = BK * (PITCH_A + PITCH_B), SUMS = SLICES * BM * BN;
  static constexpr int FLOATS = STEP > SUMS ? STEP : SUMS;
  static_assert(BK % SLICES == 0 && BM * BK % THREADS == 0 && BN * BK % THREADS == 0);
};

// What a thread brings of the ROWS rows (of A, or the columns of B) for a step of K.
template <class Tile, int ROWS, int PITCH>
struct Fetch {
  static constexpr int COUNT = ROWS * Tile::BK / Tile::THREADS;
  const float *p;
  int rows, k, row_stride, k_stride;
  float staged[COUNT];

  // Row and k of the i-th element of this thread.
  __device__ int2 at(int i) const {
    int j = threadIdx.x + i * Tile::THREADS;
    return k_stride == 1 ? int2{j / Tile::BK, j % Tile::BK} : int2{j % ROWS, j / ROWS};
  }
  // From k = `from` on, to registers; zeros past the edges.
  __device__ void load(int from) {
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
      int2 e = at(i);
      bool inside = e.x < rows && from + e.y < k;
      const float *q = inside ? p + (long long)e.x * row_stride + (long long)(from + e.y) * k_stride : p;
      float x = *q; // a load without a branch
      staged[i] = inside ? x : 0.f;
    }
  }
  __device__ void store(float *tile) const {
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
      int2 e = at(i);
      tile[e.y * PITCH + e.x] = staged[i];
    }
  }
};

// N neighbours of shared memory, with one instruction.
template <int N>
__device__ __forceinline__ void take(float (&x)[N], const float *p) {
  if constexpr (N == 4) {
    float4 v = load4(p);
    x[0] = v.x, x[1] = v.y, x[2] = v.z, x[3] = v.w;
  } else if constexpr (N == 2) {
    float2 v = *reinterpret_cast<const float2 *>(p);
    x[0] = v.x, x[1] = v.y;
  } else {
#pragma unroll
    for (int i = 0; i < N; i++) x[i] = p[i];
  }
}

// The threads of one matrix wait for each other: a warp, a block, or a row of a block.
template <class Tile>
__device__ __forceinline__ void meet() {
  if constexpr (Tile::THREADS == WARP) __syncwarp();
  else if constexpr (Tile::MATRICES == 1) __syncthreads();
  else row_barrier();
}

// The tile of C (M, N) whose first element is (row, column), of matrix blockIdx.z. C is contiguous.
template <class Tile>
__device__ __forceinline__ void small(const float *__restrict__ a, const float *__restrict__ b,
                                      const float *__restrict__ bias, float *__restrict__ c, int batch,
                                      int m, int n, int k, Strides sa, Strides sb) {
  constexpr int BM = Tile::BM, BN = Tile::BN, BK = Tile::BK, TM = Tile::TM, TN = Tile::TN;
  __shared__ __align__(16) float all[Tile::MATRICES][Tile::FLOATS];
  int matrix = blockIdx.z * Tile::MATRICES + threadIdx.y;
  if (matrix >= batch) return;
  float *shared = all[threadIdx.y], *as = shared, *bs = shared + BK * Tile::PITCH_A;
  int row = blockIdx.y * BM, column = blockIdx.x * BN;
  Fetch<Tile, BM, Tile::PITCH_A> fetch_a{a + matrix * sa.batch + (long long)row * sa.row, m - row, k, sa.row,
                                         sa.column};
  Fetch<Tile, BN, Tile::PITCH_B> fetch_b{b + matrix * sb.batch + (long long)column * sb.column, n - column, k,
                                         sb.column, sb.row};
  int slice = threadIdx.x / Tile::SLICE, lane = threadIdx.x % Tile::SLICE;
  int y = lane / Tile::ACROSS * TM, x = lane % Tile::ACROSS * TN;
  float sum[TM][TN] = {};

  fetch_a.load(0), fetch_b.load(0);
#pragma unroll 1
  for (int from = 0; from < k; from += BK) {
    if (from > 0) meet<Tile>(); // all are done with the step before
    fetch_a.store(as), fetch_b.store(bs);
    meet<Tile>();
    if (from + BK < k) fetch_a.load(from + BK), fetch_b.load(from + BK); // on its way meanwhile
#pragma unroll
    for (int i = 0; i < BK / Tile::SLICES; i++) {
      int j = slice * (BK / Tile::SLICES) + i;
      float u[TM], v[TN];
      take(u, as + j * Tile::PITCH_A + y);
      take(v, bs + j * Tile::PITCH_B + x);
#pragma unroll
      for (int r = 0; r < TM; r++)
#pragma unroll
        for (int s = 0; s < TN; s++) sum[r][s] += u[r] * v[s];
    }
  }

  // The slices' sums, one tile each, are added as they are written.
  meet<Tile>();
#pragma unroll
  for (int r = 0; r < TM; r++)
#pragma unroll
    for (int s = 0; s < TN; s++) shared[slice * (BM * BN) + (y + r) * BN + x + s] = sum[r][s];
  meet<Tile>();
  c += (long long)matrix * m * n;
#pragma unroll
  for (int i = threadIdx.x; i < BM * BN; i += Tile::THREADS) {
    int r = row + i / BN, s = column + i % BN;
    float total = bias && s < n ? bias[s] : 0.f;
#pragma unroll
    for (int j = 0; j < Tile::SLICES; j++) total += shared[j * (BM * BN) + i];
    if (r < m && s < n) c[(long long)r * n + s] = total;
  }
}
