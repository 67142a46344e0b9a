// Level 5 of linear, for one row of x, f32 and bf16: one warp per row of w, with all of the row in flight at once.
//   y = x·wᵀ + b + r        x (K), w (N, K), b (N) or none, the residual r (N) or none, y (N)
// K is a multiple of 16 bytes' elements; x and w are 16-byte aligned.
//
// Against gemv_split.cu, whose block splits K over four warps and adds their sums in shared memory: in a decode step the
// matmuls after attention and at the end of the MLP have 512 or 576 rows of w, a warp for each of them fits on the GPU at
// once, and a row of K = 1536 in bf16 is six chunks of 16 bytes per lane.
//   - A lane requests all chunks of its row of w before it uses one, so the row waits for memory once. There is no loop
//     over K, no shared memory and no barrier: five shuffles join the lanes.
//   - In a decode step all of that is in flight while the kernel that computes x still runs (common/overlap.cuh). x and
//     the residual come after the wait, then conversions and products.
//   - The warps of an SM share x in L1. Loads that go to L2 would ask for the same few lines 576 times.
//
// Prediction: 1.4 to 1.6 µs per launch in a chain, as measured for such a matmul in a program of its own on an H200, where
// launches that wait for each other take 2.2 to 2.4. Alone, as gemv_split.cu. Outcome: book/chapters/level5.md.
// To be faster: the matmuls of a block in one cluster, which exchanges rows of x through shared memory.
//
// Bytes moved: 4 or 2 times (N·K + K, mostly from L2, + 3·N). Launch: one warp per row of w, 4 warps per block.
// Compiled for sm_75 and sm_90: from sm_90 on, a launch may overlap with the one before.
#include "common/overlap.cuh"
#include "common/warp.cuh"
#include "linear/parameters.cuh"

constexpr int WARPS = 4;

// One warp computes one element of y. A row is at most CHUNKS chunks of 16 bytes per lane: lane l has chunks l, l + 32, …
template <int CHUNKS, class T>
__device__ __forceinline__ void row_gemv(const T *x, const T *w, const T *b, const T *residual, T *y, unsigned n,
                                         unsigned k) {
  constexpr int PER_CHUNK = PER_16_BYTES<T>;
  let_next_start();
  unsigned column = blockIdx.x * WARPS + threadIdx.x / WARP;
  if (column >= n) return;
  const T *row = w + size_t(column) * k;
  uint4 w_chunks[CHUNKS], x_chunks[CHUNKS];
#pragma unroll
  for (int c = 0; c < CHUNKS; c++) {
    unsigned at = (c * WARP + lane_id()) * PER_CHUNK;
    w_chunks[c] = load16_at_once(row + at, at < k);
  }
  float addend = b ? load_at_once(b + column) : 0.f;
  wait_for_previous();
  if (residual) addend += load_at_once(residual + column);
#pragma unroll
  for (int c = 0; c < CHUNKS; c++) {
    unsigned at = (c * WARP + lane_id()) * PER_CHUNK;
    x_chunks[c] = load16_through_l1(x + at, at < k);
  }
  await_all(x_chunks, k >> 31);
  float sums[4] = {}; // of four sums, no product waits for the one before it
#pragma unroll
  for (int c = 0; c < CHUNKS; c++) {
    float v[PER_CHUNK], weight[PER_CHUNK];
    unpack16<T>(x_chunks[c], v);
    unpack16<T>(w_chunks[c], weight);
#pragma unroll
    for (int e = 0; e < PER_CHUNK; e++) sums[e % 4] += v[e] * weight[e];
  }
  float sum = warp_sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
  if (lane_id() == 0) store(y + column, sum + addend);
}

// A kernel for rows of w of up to CHUNKS chunks per lane.
#define LINEAR(NAME, T, CHUNKS)                                                                                      \
  extern "C" __global__ void __launch_bounds__(WARPS *WARP) NAME(OVERLAPPED_RESIDUAL(T)) {                           \
    row_gemv<CHUNKS>(x, w, b, residual, y, n, k);                                                                    \
  }

LINEAR(linear_f32_level5_row_chunks4, float, 4)
LINEAR(linear_f32_level5_row_chunks6, float, 6)
LINEAR(linear_f32_level5_row_chunks12, float, 12)

LINEAR(linear_bf16_level5_row_chunks2, bf16, 2)
LINEAR(linear_bf16_level5_row_chunks3, bf16, 3)
LINEAR(linear_bf16_level5_row_chunks6, bf16, 6)
LINEAR(linear_bf16_level5_row_chunks16, bf16, 16)
