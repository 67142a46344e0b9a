// Level 5 of linear, for one row of x, f32 and bf16: a row of w is in flight at once, all of it.
//   y = x·wᵀ + b + r        x (K), w (N, K), b (N) or none, the residual r (N) or none, y (N)
// A row is a whole number of 16-byte chunks; x and w are 16-byte aligned.
//
// Against gemv_split.cu, whose block goes through K in steps that wait for one another: in a decode step the
// matmuls after attention and at the end of the MLP have 512 or 576 rows of w, a warp for each of them fits on the GPU at
// once, and a row of K = 1536 in bf16 is six chunks of 16 bytes per lane.
//   - A lane requests all its chunks of w before it uses one, so the row waits for memory once. There is no loop
//     over K, and for a row that one warp holds no shared memory and no barrier: five shuffles join the lanes.
//   - In a decode step all of that is in flight while the kernel that computes x still runs (common/overlap.cuh). x and
//     the residual come after the wait, then conversions and products.
//   - The warps of an SM share x in L1. Loads that go to L2 would ask for the same few lines 576 times.
//   - A row that is too long for the registers of one warp, such as K = 8192, is shared by the 4 to 16 warps of a block, whose
//     sums meet in shared memory. The block goes from one group of rows to the next, so that it loads its x once and the next
//     rows are in flight while sums meet: memory is not idle, and no block has to start late.
//
// Prediction: 1.4 to 1.6 µs per launch in a chain, as measured for such a matmul in a program of its own on an H200, where
// launches that wait for each other take 2.2 to 2.4. Outside a chain it takes as long as gemv_split.cu. A w that no
// cache holds takes the time of a copy. Outcome: book/chapters/level5.md, and for the long rows benches/NOTES.md.
// To be faster: the matmuls of a block in one cluster, which exchanges rows of x through shared memory.
//
// Bytes moved: 4 or 2 times (N·K + K, mostly from L2, + 3·N). Launch: blocks of 4 warps with a row of w each; for long rows as many
// blocks as the GPU holds, of 4 to 16 warps that share 1 to 3 rows at a time.
// Compiled for sm_75 and sm_90: from sm_90 on, a launch may overlap with the one before.
//
// Measured on an NVIDIA H200: linear 1x512x10000 f32 at 123% of the memory bandwidth (data in caches); see kernels/generated/linear/level5/row_gemv.md.
#include "common/overlap.cuh"
#include "common/warp.cuh"
#include "linear/parameters.cuh"

// Adds the products of 16 bytes of x and of w.
template <class T>
__device__ __forceinline__ void add_products(const uint4 &x_chunk, const uint4 &w_chunk, float (&sums)[4]) {
  constexpr int PER_CHUNK = PER_16_BYTES<T>;
  float v[PER_CHUNK], weight[PER_CHUNK];
  unpack16<T>(x_chunk, v);
  unpack16<T>(w_chunk, weight);
#pragma unroll
  for (int e = 0; e < PER_CHUNK; e++) sums[e % 4] += v[e] * weight[e];
}

// Warps of a block whose warps have a row each.
constexpr int WARPS = 4;

// A warp computes one element of y. A row is at most CHUNKS chunks of 16 bytes per lane: lane l has chunks l, l + 32, …
template <int CHUNKS, class T>
__device__ __forceinline__ void row_gemv(const T *x, const T *w, const T *b, const T *residual, T *y, unsigned n,
                                         unsigned k) {
  constexpr int PER_CHUNK = PER_16_BYTES<T>;
  let_next_start();
  unsigned column = blockIdx.x * WARPS + threadIdx.x / WARP;
  if (column >= n) return;
  const T *row = w + size_t(column) * k;
  auto offset = [&](int c) { return (c * WARP + lane_id()) * PER_CHUNK; };
  uint4 w_chunks[CHUNKS], x_chunks[CHUNKS];
#pragma unroll
  for (int c = 0; c < CHUNKS; c++) w_chunks[c] = load16_at_once(row + offset(c), offset(c) < k);
  float addend = b ? load_at_once(b + column) : 0.f;
  wait_for_previous();
  if (residual) addend += load_at_once(residual + column);
#pragma unroll
  for (int c = 0; c < CHUNKS; c++) x_chunks[c] = load16_through_l1(x + offset(c), offset(c) < k);
  await_all(x_chunks, k >> 31); // k >> 31 is 0, which the compiler cannot know
  float sums[4] = {}; // four independent sums: a product need not wait for the one before
#pragma unroll
  for (int c = 0; c < CHUNKS; c++) add_products<T>(x_chunks[c], w_chunks[c], sums);
  float sum = warp_sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
  if (lane_id() == 0) store(y + column, sum + addend);
}

// A block of SHARING warps computes R elements of y, then those gridDim.x·R further on, and so forth. A row is at most CHUNKS
// chunks of 16 bytes for each lane of the block: lane l of warp p has chunks l + 32·p, l + 32·(p + SHARING), …
template <int CHUNKS, int SHARING, int R, class T>
__device__ __forceinline__ void long_row_gemv(const T *x, const T *w, const T *b, const T *residual, T *y, unsigned n,
                                              unsigned k) {
  constexpr int PER_CHUNK = PER_16_BYTES<T>;
  __shared__ float parts[2][SHARING][R]; // two: a warp may be a turn ahead of the one that adds them
  let_next_start();
  unsigned warp = threadIdx.x / WARP, first = blockIdx.x * R, step = gridDim.x * R;
  auto offset = [&](int c) { return ((c * SHARING + warp) * WARP + lane_id()) * PER_CHUNK; };
  uint4 w_chunks[R][CHUNKS], x_chunks[CHUNKS];
  auto request_rows = [&](unsigned column) {
#pragma unroll
    for (int j = 0; j < R; j++)
#pragma unroll
      for (int c = 0; c < CHUNKS; c++)
        w_chunks[j][c] = load16_at_once(w + size_t(column + j) * k + offset(c), column + j < n && offset(c) < k);
  };
  // Thread j writes element j of the R, and loads what is added to it.
  auto writes = [&](unsigned column) { return threadIdx.x < R && column + threadIdx.x < n; };
  auto addend_of = [&](unsigned column) {
    float sum = 0.f;
    if (b && writes(column)) sum += load_at_once(b + column + threadIdx.x);
    if (residual && writes(column)) sum += load_at_once(residual + column + threadIdx.x);
    return sum;
  };
  request_rows(first);
  wait_for_previous();
  float addend = addend_of(first);
#pragma unroll
  for (int c = 0; c < CHUNKS; c++) x_chunks[c] = load16_through_l1(x + offset(c), offset(c) < k);
  await_all(x_chunks, k >> 31);
  for (unsigned column = first, turn = 0; column < n; column += step, turn ^= 1) {
    float sums[R][4] = {};
#pragma unroll
    for (int j = 0; j < R; j++)
#pragma unroll
      for (int c = 0; c < CHUNKS; c++) add_products<T>(x_chunks[c], w_chunks[j][c], sums[j]);
    request_rows(column + step); // in flight while the warps' sums meet
    float next_addend = addend_of(column + step);
#pragma unroll
    for (int j = 0; j < R; j++) {
      float sum = warp_sum((sums[j][0] + sums[j][1]) + (sums[j][2] + sums[j][3]));
      if (lane_id() == 0) parts[turn][warp][j] = sum;
    }
    __syncthreads();
    if (writes(column)) {
      float sum = 0.f;
#pragma unroll
      for (int p = 0; p < SHARING; p++) sum += parts[turn][p][threadIdx.x];
      store(y + column + threadIdx.x, sum + addend);
    }
    addend = next_addend;
  }
}

// A kernel for rows of w of up to CHUNKS chunks per lane.
#define ROW_GEMV(NAME, T, CHUNKS)                                                                                    \
  extern "C" __global__ void __launch_bounds__(WARPS *WARP) NAME(OVERLAPPED_RESIDUAL(T)) {                           \
    row_gemv<CHUNKS>(x, w, b, residual, y, n, k);                                                                    \
  }
// The same for each lane of SHARING warps, with R rows at a time. BLOCKS of these blocks fit on an SM together.
#define LONG_ROW_GEMV(NAME, T, CHUNKS, SHARING, R, BLOCKS)                                                           \
  extern "C" __global__ void __launch_bounds__(SHARING *WARP, BLOCKS) NAME(OVERLAPPED_RESIDUAL(T)) {                 \
    long_row_gemv<CHUNKS, SHARING, R>(x, w, b, residual, y, n, k);                                                   \
  }

ROW_GEMV(linear_f32_level5_row_chunks4, float, 4)
ROW_GEMV(linear_f32_level5_row_chunks6, float, 6)
ROW_GEMV(linear_f32_level5_row_chunks12, float, 12)
LONG_ROW_GEMV(linear_f32_level5_row_chunks4_by4, float, 4, 4, 2, 6)
LONG_ROW_GEMV(linear_f32_level5_row_chunks4_by16, float, 4, 16, 1, 2)

ROW_GEMV(linear_bf16_level5_row_chunks2, bf16, 2)
ROW_GEMV(linear_bf16_level5_row_chunks3, bf16, 3)
ROW_GEMV(linear_bf16_level5_row_chunks6, bf16, 6)
ROW_GEMV(linear_bf16_level5_row_chunks8, bf16, 8)
LONG_ROW_GEMV(linear_bf16_level5_row_chunks4_by4, bf16, 4, 4, 3, 4)
LONG_ROW_GEMV(linear_bf16_level5_row_chunks4_by8, bf16, 4, 8, 3, 2)
