// Level 5 of linear, for up to 4 rows of x, f32 and bf16: K is split over the warps of a block.
//   y = x·wᵀ + b + r, gelu(x·wᵀ + b), silu(x·Wgᵀ) ⊙ (x·Wuᵀ)
// x (M, K), w (N, K), or (2F, K) with Wg above Wu, b (N) or none, the residual r (M, N) or none, y (M, N) or (M, F).
//
// Against level 4, where each warp has two rows of w for itself: with N = 512 those are 256 warps, two for each SM
// of an H200, and each goes through K in steps that wait for one another.
//   - K is split over the warps of a block: a lane has so few elements that all its loads are in flight at once, and
//     the matmul of one row waits for memory once.
//   - The warps write their sums to shared memory, where they are added in the order of the warps: no atomics, so that
//     the same call gives the same bits.
//   - A block has 1 column of y where N is small, or 4 where there are blocks enough; level 5's table says which.
//
// Prediction: the latency of memory, five shuffles, a barrier and the launch, under 2 µs while w fits in L2; for a
// large w the rate of a copy, as at level 4.
//   - In a decode step the weights are in flight while the kernel that computes x still runs (common/overlap.cuh).
// To be faster: one warp per row where N is large enough for that, without a barrier (row_gemv.cu).
//
// Compiled for sm_75 and sm_90: from sm_90 on, a launch may overlap with the one before.
//
// Bytes moved: 4 or 2 times (N·K + M·K·N/COLUMNS, mostly from L2, + N + 2·M·N). Launch: a block for each COLUMNS
// columns of y, 4 warps.
//
// Measured on an NVIDIA H200: linear_swiglu 1x512x1536 f32 at 59% of the memory bandwidth; see kernels/generated/linear/level5/gemv_split.md.
#include "common/overlap.cuh"
#include "common/warp.cuh"
#include "linear/parameters.cuh"

constexpr int WARPS = 4, THREADS = WARPS * WARP;

// Steps of K whose loads are all in flight at once: as many as there are registers for.
template <int M, int R>
constexpr int STEPS = M * R <= 2 ? 4 : M * R <= 8 ? 2 : 1;

// Adds this thread's part of the dot products of R rows of w and m ≤ M rows of x. Rows of x past the end repeat the
// last. What the kernel before wrote is read after `wait_for_previous`, which each thread calls once.
template <int M, int R, class T>
__device__ __forceinline__ void dots(float (&acc)[R][M], const T *x, const T *const (&w)[R], unsigned m, unsigned k) {
  constexpr int PER_CHUNK = PER_16_BYTES<T>, S = STEPS<M, R>, STEP = THREADS * PER_CHUNK;
  auto row = [&](unsigned i) { return x + size_t(min(i, m - 1)) * k; };
  if (aligned(x) && aligned(w[0]) && k % PER_CHUNK == 0) {
    uint4 w_chunks[S][R];
    auto load_w = [&](unsigned from) {
#pragma unroll
      for (int s = 0; s < S; s++)
#pragma unroll
        for (int j = 0; j < R; j++) w_chunks[s][j] = load16_at_once(w[j] + from + s * STEP, from + s * STEP < k);
    };
    unsigned from = threadIdx.x * PER_CHUNK;
    load_w(from);
    wait_for_previous();
#pragma unroll 1
    while (from < k) {
      uint4 x_chunks[S][M];
#pragma unroll
      for (int s = 0; s < S; s++)
#pragma unroll
        for (int i = 0; i < M; i++) x_chunks[s][i] = load16_through_l1(row(i) + from + s * STEP, from + s * STEP < k);
#pragma unroll
      for (int s = 0; s < S; s++) {
        float w_values[R][PER_CHUNK];
#pragma unroll
        for (int j = 0; j < R; j++) unpack16<T>(w_chunks[s][j], w_values[j]);
#pragma unroll
        for (int i = 0; i < M; i++) {
          float x_values[PER_CHUNK];
          unpack16<T>(x_chunks[s][i], x_values);
#pragma unroll
          for (int j = 0; j < R; j++)
#pragma unroll
            for (int e = 0; e < PER_CHUNK; e++) acc[j][i] += x_values[e] * w_values[j][e];
        }
      }
      from += S * STEP;
      if (from < k) load_w(from);
    }
  } else {
    wait_for_previous();
#pragma unroll 1
    for (unsigned at = threadIdx.x; at < k; at += THREADS)
#pragma unroll
      for (int i = 0; i < M; i++)
#pragma unroll
        for (int j = 0; j < R; j++) acc[j][i] += widen(row(i)[at]) * widen(w[j][at]);
  }
}

// The block's COLUMNS columns of y. With a gate it has as many rows of Wg and the same rows of Wu, which are n rows
// further down in w.
template <int M, int COLUMNS, class T, class Epilogue>
__device__ __forceinline__ void gemv_split(const T *x, const T *w, Epilogue epilogue, T *y, unsigned m, unsigned n,
                                           unsigned k, const T *residual = nullptr) {
  constexpr int R = Epilogue::GATED ? 2 * COLUMNS : COLUMNS;
  __shared__ float part[WARPS][R][M];
  let_next_start();
  unsigned column = blockIdx.x * COLUMNS;
  const T *row[R];
#pragma unroll
  for (int j = 0; j < R; j++) row[j] = w + (size_t(j / COLUMNS) * n + min(column + j % COLUMNS, n - 1)) * k;
  float acc[R][M] = {};
  dots(acc, x, row, m, k);
  // Thread i·COLUMNS + j writes element (i, j). It loads the residual's element before the sums are exchanged, so that the
  // load is in flight meanwhile.
  auto offset = [&](unsigned i, unsigned j) { return size_t(i) * n + column + j; };
  auto writes = [&](unsigned i, unsigned j) { return i < m && column + j < n; };
  T residual_value{};
  if (residual) {
    unsigned i = threadIdx.x / COLUMNS, j = threadIdx.x % COLUMNS;
    if (writes(i, j)) residual_value = load_early(residual + offset(i, j));
  }
#pragma unroll
  for (int j = 0; j < R; j++)
#pragma unroll
    for (int i = 0; i < M; i++) {
      float s = warp_sum(acc[j][i]);
      if (lane_id() == 0) part[threadIdx.x / WARP][j][i] = s;
    }
  __syncthreads();
  unsigned i = threadIdx.x / COLUMNS, j = threadIdx.x % COLUMNS;
  if (!writes(i, j)) return;
  float s = 0.f, up = 0.f;
#pragma unroll
  for (int p = 0; p < WARPS; p++) s += part[p][j][i], up += part[p][R - COLUMNS + j][i];
  float value = epilogue(s, up, i, column + j);
  store(y + offset(i, j), residual ? value + widen(residual_value) : value);
}

// A kernel of each epilogue, for up to M rows of x and COLUMNS columns of y per block.
#define GEMV_SPLIT(NAME, T, M, COLUMNS)                                                                      \
  extern "C" __global__ void __launch_bounds__(THREADS) NAME(OVERLAPPED_RESIDUAL(T)) {                       \
    gemv_split<M, COLUMNS>(x, w, Bias<T>{b}, y, m, n, k, residual);                                          \
  }
#define GEMV_SPLIT_GELU(NAME, T, M, COLUMNS)                                                                 \
  extern "C" __global__ void __launch_bounds__(THREADS) NAME(OVERLAPPED(T)) {                                \
    gemv_split<M, COLUMNS>(x, w, BiasGelu<T>{b}, y, m, n, k);                                                \
  }
#define GEMV_SPLIT_SWIGLU(NAME, T, M, COLUMNS)                                                               \
  extern "C" __global__ void __launch_bounds__(THREADS) NAME(OVERLAPPED(T)) {                                \
    gemv_split<M, COLUMNS>(x, w, SwiGlu{}, y, m, n, k);                                                      \
  }

GEMV_SPLIT(linear_f32_level5_row_1, float, 1, 1)
GEMV_SPLIT_GELU(linear_gelu_f32_level5_row_1, float, 1, 1)
GEMV_SPLIT_SWIGLU(linear_swiglu_f32_level5_row_1, float, 1, 1)

GEMV_SPLIT(linear_f32_level5_row_4, float, 1, 4)
GEMV_SPLIT_GELU(linear_gelu_f32_level5_row_4, float, 1, 4)
GEMV_SPLIT_SWIGLU(linear_swiglu_f32_level5_row_4, float, 1, 4)

GEMV_SPLIT(linear_f32_level5_rows4_1, float, 4, 1)
GEMV_SPLIT_GELU(linear_gelu_f32_level5_rows4_1, float, 4, 1)
GEMV_SPLIT_SWIGLU(linear_swiglu_f32_level5_rows4_1, float, 4, 1)

GEMV_SPLIT(linear_f32_level5_rows4_4, float, 4, 4)
GEMV_SPLIT_GELU(linear_gelu_f32_level5_rows4_4, float, 4, 4)
GEMV_SPLIT_SWIGLU(linear_swiglu_f32_level5_rows4_4, float, 4, 4)

GEMV_SPLIT(linear_bf16_level5_row_1, bf16, 1, 1)
GEMV_SPLIT_GELU(linear_gelu_bf16_level5_row_1, bf16, 1, 1)
GEMV_SPLIT_SWIGLU(linear_swiglu_bf16_level5_row_1, bf16, 1, 1)

GEMV_SPLIT(linear_bf16_level5_row_4, bf16, 1, 4)
GEMV_SPLIT_GELU(linear_gelu_bf16_level5_row_4, bf16, 1, 4)
GEMV_SPLIT_SWIGLU(linear_swiglu_bf16_level5_row_4, bf16, 1, 4)

GEMV_SPLIT(linear_bf16_level5_rows4_1, bf16, 4, 1)
GEMV_SPLIT_GELU(linear_gelu_bf16_level5_rows4_1, bf16, 4, 1)
GEMV_SPLIT_SWIGLU(linear_swiglu_bf16_level5_rows4_1, bf16, 4, 1)

GEMV_SPLIT(linear_bf16_level5_rows4_4, bf16, 4, 4)
GEMV_SPLIT_GELU(linear_gelu_bf16_level5_rows4_4, bf16, 4, 4)
GEMV_SPLIT_SWIGLU(linear_swiglu_bf16_level5_rows4_4, bf16, 4, 4)
