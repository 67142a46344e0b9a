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
//   - A row that is too long for the registers of one warp, such as K = 8192, is shared by the 4 or 8 warps of a block, whose
//     sums meet in shared memory. With few registers per lane, many blocks are on an SM, so that memory is never idle.
//
// Prediction: 1.4 to 1.6 µs per launch in a chain, as measured for such a matmul in a program of its own on an H200, where
// launches that wait for each other take 2.2 to 2.4. Outside a chain it takes as long as gemv_split.cu. A w that no
// cache holds takes the time of a copy. Outcome: book/chapters/level5.md, and for the long rows benches/NOTES.md.
// To be faster: the matmuls of a block in one cluster, which exchanges rows of x through shared memory.
//
// Bytes moved: 4 or 2 times (N·K + K, mostly from L2, + 3·N). Launch: SHARING warps per row of w, at least 4 per block.
// Compiled for sm_75 and sm_90: from sm_90 on, a launch may overlap with the one before.
//
// Measured on an NVIDIA H200: linear 1x512x10000 f32 at 123% of the memory bandwidth (data in caches); see kernels/generated/linear/level5/row_gemv.md.
#include "common/overlap.cuh"
#include "common/warp.cuh"
#include "linear/parameters.cuh"

// Warps of a block in which SHARING warps share a row.
template <int SHARING>
constexpr int WARPS = SHARING > 4 ? SHARING : 4;

// SHARING warps compute one element of y. SHARING is 1, or all warps of the block. A row is at most CHUNKS chunks of 16
// bytes for each of their lanes: lane l of warp p has chunks l + 32·p, l + 32·(p + SHARING), …
template <int CHUNKS, int SHARING, class T>
__device__ __forceinline__ void row_gemv(const T *x, const T *w, const T *b, const T *residual, T *y, unsigned n,
                                         unsigned k) {
  constexpr int PER_CHUNK = PER_16_BYTES<T>, ROWS = WARPS<SHARING> / SHARING;
  let_next_start();
  unsigned warp = threadIdx.x / WARP, part = warp % SHARING;
  unsigned column = blockIdx.x * ROWS + warp / SHARING;
  if (column >= n) return;
  const T *row = w + size_t(column) * k;
  auto offset = [&](int c) { return ((c * SHARING + part) * WARP + lane_id()) * PER_CHUNK; };
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
  for (int c = 0; c < CHUNKS; c++) {
    float v[PER_CHUNK], weight[PER_CHUNK];
    unpack16<T>(x_chunks[c], v);
    unpack16<T>(w_chunks[c], weight);
#pragma unroll
    for (int e = 0; e < PER_CHUNK; e++) sums[e % 4] += v[e] * weight[e];
  }
  float sum = warp_sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
  if constexpr (SHARING > 1) {
    __shared__ float parts[SHARING];
    if (lane_id() == 0) parts[part] = sum;
    __syncthreads();
    sum = 0.f;
#pragma unroll
    for (int p = 0; p < SHARING; p++) sum += parts[p];
  }
  if (part == 0 && lane_id() == 0) store(y + column, sum + addend);
}

// A kernel for rows of w of up to CHUNKS chunks for each lane of SHARING warps.
#define ROW_GEMV(NAME, T, CHUNKS, SHARING)                                                                           \
  extern "C" __global__ void __launch_bounds__(WARPS<SHARING> * WARP) NAME(OVERLAPPED_RESIDUAL(T)) {                 \
    row_gemv<CHUNKS, SHARING>(x, w, b, residual, y, n, k);                                                           \
  }

ROW_GEMV(linear_f32_level5_row_chunks4, float, 4, 1)
ROW_GEMV(linear_f32_level5_row_chunks6, float, 6, 1)
ROW_GEMV(linear_f32_level5_row_chunks12, float, 12, 1)
ROW_GEMV(linear_f32_level5_row_chunks4_by4, float, 4, 4)
ROW_GEMV(linear_f32_level5_row_chunks8_by8, float, 8, 8)

ROW_GEMV(linear_bf16_level5_row_chunks2, bf16, 2, 1)
ROW_GEMV(linear_bf16_level5_row_chunks3, bf16, 3, 1)
ROW_GEMV(linear_bf16_level5_row_chunks6, bf16, 6, 1)
ROW_GEMV(linear_bf16_level5_row_chunks2_by4, bf16, 2, 4)
ROW_GEMV(linear_bf16_level5_row_chunks4_by8, bf16, 4, 8)
