// C = A·B for matrices too small to fill a GPU: shared by the entries of level5/tile.cu.
//
// At 64×64×64 there are 262,144 multiply-adds, which the GPU's units do in 0.01 µs. The latency of memory dominates,
// and the number of steps that a thread takes one after another. So tiles are small, a block fetches a large chunk of
// K at once, with all its loads in flight together, and K is split over SLICES groups of threads, whose accumulators
// are added at the end: 64 steps become 64 / SLICES.
//
//            K                      A thread of a slice has TM×TN accumulators of the tile, and in every
//      ┌───┬───┬───┬───┐            chunk of K the BK / SLICES columns of its slice.
//   BM │ 0 │ 1 │ 2 │ 3 │ slices
//      └───┴───┴───┴───┘
//
// A and B have any strides. Fetch stores them in shared memory with k first, whatever their order in global memory: 16
// bytes at a time where neighbours in memory are neighbours in k or along the tile, and aligned; else one element at
// a time.
#pragma once

#include "common/vector.cuh"
#include "common/warp.cuh"

// A matrix of a batch: element (i, k) lies `row`·i + `column`·k after the first, less than 2³² elements away;
// matrices are `batch` apart.
struct Strides {
  unsigned batch, row, column;
};

template <int BM_, int BN_, int BK_, int TM_, int TN_, int SLICES_, int MATRICES_ = 1>
struct Small {
  static constexpr int BM = BM_, BN = BN_, BK = BK_, TM = TM_, TN = TN_, SLICES = SLICES_, MATRICES = MATRICES_;
  // Threads of a slice, of a matrix.
  static constexpr int ACROSS = BN / TN, SLICE = BM / TM * ACROSS, THREADS = SLICE * SLICES;
  // Floats from one column of k to the next. With 4 more than there are, two neighbouring chunks of k of 16
  // rows, which a warp stores at once, lie in all banks; and rows of 16 bytes stay aligned.
  static constexpr int PITCH_A = BM + 4, PITCH_B = BN + 4;
  static constexpr int STEP = BK * (PITCH_A + PITCH_B), SUMS = SLICES > 1 ? SLICES * BM * BN : 0;
  static constexpr int FLOATS = STEP > SUMS ? STEP : SUMS;
  static_assert(BK % SLICES == 0 && BK % 8 == 0);
};

// The threads of one matrix wait for each other: a warp, a block, or a row of a block.
template <class Tile>
__device__ __forceinline__ void barrier() {
  if constexpr (Tile::THREADS == WARP) __syncwarp();
  else if constexpr (Tile::MATRICES == 1) __syncthreads();
  else row_barrier();
}

// A thread's part of the copy of ROWS rows of A, or columns of B, for a chunk of K.
template <class Tile, int ROWS>
struct Fetch {
  static constexpr int BK = Tile::BK, PITCH = ROWS + 4, THREADS = Tile::THREADS, QUADS = ROWS * BK / 4;
  static constexpr int COUNT = (QUADS + THREADS - 1) / THREADS;
  enum Order { ALONG_K, ALONG_ROWS, ELEMENTS };

  const float *p;
  int rows, k;
  unsigned row_stride, k_stride;
  Order order;
  float4 fetched[COUNT];

  __device__ Fetch(const float *p, int rows, int k, unsigned row_stride, unsigned k_stride)
      : p(p), rows(rows), k(k), row_stride(row_stride), k_stride(k_stride), order(ELEMENTS) {
    if (!aligned(p)) return;
    if (k_stride == 1 && row_stride % 4 == 0 && k % 4 == 0) order = ALONG_K;
    if (row_stride == 1 && k_stride % 4 == 0 && rows % 4 == 0) order = ALONG_ROWS;
  }

  // Row and k of this thread's i-th quad: two neighbouring lanes have two chunks of k of a row, the next two the next row's.
  __device__ static int2 along_k(int i) {
    int j = threadIdx.x + i * THREADS;
    return {j / 2 % ROWS, 4 * (j / (2 * ROWS) * 2 + j % 2)};
  }
  __device__ static int2 along_rows(int i) {
    int j = threadIdx.x + i * THREADS;
    return {4 * (j % (ROWS / 4)), j / (ROWS / 4)};
  }
  __device__ static bool there(int i) { return QUADS % THREADS == 0 || threadIdx.x + i * THREADS < QUADS; }

  __device__ float4 quad(int row, int at) const {
    bool inside = row < rows && at < k;
    float4 x = load4(p + (inside ? row * row_stride + at * k_stride : 0)); // a load without a branch
    return inside ? x : float4{};
  }
  __device__ float element(int row, int at) const {
    bool inside = row < rows && at < k;
    float x = p[inside ? row * row_stride + at * k_stride : 0];
    return inside ? x : 0.f;
  }

  // From k = `from` on, to registers; zeros past the edges.
  __device__ void load(int from) {
    if (order == ALONG_K) {
#pragma unroll
      for (int i = 0; i < COUNT; i++) fetched[i] = quad(along_k(i).x, from + along_k(i).y);
    } else if (order == ALONG_ROWS) {
#pragma unroll
      for (int i = 0; i < COUNT; i++) fetched[i] = quad(along_rows(i).x, from + along_rows(i).y);
    } else {
#pragma unroll
      for (int i = 0; i < COUNT; i++) {
        int2 e = along_k(i);
        int at = from + e.y;
        fetched[i] = {element(e.x, at), element(e.x, at + 1), element(e.x, at + 2), element(e.x, at + 3)};
      }
    }
  }

  // To shared memory, [k][row].
  __device__ void store(float *tile) const {
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
      if (!there(i)) continue;
      float4 x = fetched[i];
      if (order == ALONG_ROWS) {
        store4(tile + along_rows(i).y * PITCH + along_rows(i).x, x);
      } else {
        float *to = tile + along_k(i).y * PITCH + along_k(i).x;
        to[0] = x.x, to[PITCH] = x.y, to[2 * PITCH] = x.z, to[3 * PITCH] = x.w;
      }
    }
  }
};

// Reads N neighbours from shared memory.
template <int N>
__device__ __forceinline__ void load_floats(float (&x)[N], const float *p) {
  if constexpr (N == 2) {
    float2 v = *reinterpret_cast<const float2 *>(p);
    x[0] = v.x, x[1] = v.y;
  } else {
#pragma unroll
    for (int i = 0; i < N; i += 4) {
      float4 v = load4(p + i);
      x[i] = v.x, x[i + 1] = v.y, x[i + 2] = v.z, x[i + 3] = v.w;
    }
  }
}

// The accumulators of a thread: TM rows and TN columns from (y, x) of the tile on.
template <class Tile>
struct Accumulators {
  static constexpr int BM = Tile::BM, BN = Tile::BN, TM = Tile::TM, TN = Tile::TN;

  int slice = threadIdx.x / Tile::SLICE, lane = threadIdx.x % Tile::SLICE;
  int y = lane / Tile::ACROSS * TM, x = lane % Tile::ACROSS * TN;
  float acc[TM][TN] = {};

  // Adds the products of this slice of a chunk of K.
  __device__ void add(const float *as, const float *bs) {
#pragma unroll
    for (int i = 0; i < Tile::BK / Tile::SLICES; i++) {
      int j = slice * (Tile::BK / Tile::SLICES) + i;
      float u[TM], v[TN];
      load_floats(u, as + j * Tile::PITCH_A + y);
      load_floats(v, bs + j * Tile::PITCH_B + x);
#pragma unroll
      for (int r = 0; r < TM; r++)
#pragma unroll
        for (int s = 0; s < TN; s++) acc[r][s] += u[r] * v[s];
    }
  }

  // Writes the accumulators to shared memory, one tile per slice.
  __device__ void store_acc(float *tiles) const {
#pragma unroll
    for (int r = 0; r < TM; r++)
#pragma unroll
      for (int s = 0; s < TN; s += 2)
        *reinterpret_cast<float2 *>(tiles + slice * (BM * BN) + (y + r) * BN + x + s) = {acc[r][s], acc[r][s + 1]};
  }
};

// C (M, N), contiguous, and the bias of its columns, or null.
struct Result {
  float *c;
  const float *bias;
  int m, n;

  __device__ void write(int row, int column, float sum) const {
    if (row < m && column < n) c[(size_t)row * n + column] = bias ? sum + bias[column] : sum;
  }
  // 4 neighbours, where C's rows are whole quads.
  __device__ void write4(int row, int column, const float *s) const {
    if (row >= m || column >= n) return;
    float4 b = bias ? float4{bias[column], bias[column + 1], bias[column + 2], bias[column + 3]} : float4{};
    store4(c + (size_t)row * n + column, {s[0] + b.x, s[1] + b.y, s[2] + b.z, s[3] + b.w});
  }
};

// Writes the tile of C whose first element is (row, column), from the accumulators of its threads, or of their slices.
template <class Tile>
__device__ __forceinline__ void write(const Result &out, int row, int column, const Accumulators<Tile> &acc, float *shared) {
  constexpr int BM = Tile::BM, BN = Tile::BN, TM = Tile::TM, TN = Tile::TN, SLICES = Tile::SLICES;
  if constexpr (SLICES > 1) {
    barrier<Tile>(); // all are done with the last chunk, whose memory the accumulators take
    acc.store_acc(shared);
    barrier<Tile>();
#pragma unroll
    for (int i = threadIdx.x; i < BM * BN; i += Tile::THREADS) {
      float total = 0.f;
#pragma unroll
      for (int j = 0; j < SLICES; j++) total += shared[j * (BM * BN) + i];
      out.write(row + i / BN, column + i % BN, total);
    }
    return;
  }
  row += acc.y, column += acc.x;
  bool quads = out.n % 4 == 0 && aligned(out.c);
#pragma unroll
  for (int r = 0; r < TM; r++) {
    const float(&sum)[TN] = acc.acc[r];
    if (TN % 4 == 0 && quads) {
#pragma unroll
      for (int s = 0; s < TN; s += 4) out.write4(row + r, column + s, sum + s);
    } else {
#pragma unroll
      for (int s = 0; s < TN; s++) out.write(row + r, column + s, sum[s]);
    }
  }
}

// A block's tile of C: all of K, then the bias.
template <class Tile>
__device__ __forceinline__ void small(const float *a, const float *b, const float *bias, float *c, int batch, int m,
                                      int n, int k, Strides sa, Strides sb) {
  __shared__ __align__(16) float all[Tile::MATRICES][Tile::FLOATS];
  unsigned matrix = blockIdx.z * Tile::MATRICES + threadIdx.y;
  if (matrix >= batch) return;
  float *shared = all[threadIdx.y], *as = shared, *bs = shared + Tile::BK * Tile::PITCH_A;
  unsigned row = blockIdx.y * Tile::BM, column = blockIdx.x * Tile::BN;
  a += (size_t)matrix * sa.batch + (size_t)row * sa.row;
  b += (size_t)matrix * sb.batch + (size_t)column * sb.column;
  Fetch<Tile, Tile::BM> fetch_a(a, m - row, k, sa.row, sa.column);
  Fetch<Tile, Tile::BN> fetch_b(b, n - column, k, sb.column, sb.row);
  Accumulators<Tile> acc;
  if (k > 0) fetch_a.load(0), fetch_b.load(0);
#pragma unroll 1
  for (int from = 0; from < k; from += Tile::BK) {
    if (from > 0) barrier<Tile>(); // all are done with the chunk before
    fetch_a.store(as), fetch_b.store(bs);
    barrier<Tile>();
    if (from + Tile::BK < k) fetch_a.load(from + Tile::BK), fetch_b.load(from + Tile::BK); // in flight during acc.add
    acc.add(as, bs);
  }
  write(Result{c + (size_t)matrix * m * n, bias, m, n}, row, column, acc, shared);
}
