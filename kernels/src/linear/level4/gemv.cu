// Level 4 of linear, for up to 8 rows of x, f32 and bf16: a warp multiplies a few rows of w by all rows of x.
//   y = x·wᵀ + b + r, gelu(x·wᵀ + b), silu(x·Wgᵀ) ⊙ (x·Wuᵀ)
// x (M, K), w (N, K), or (2F, K) with Wg above Wu, b (N) or none, the residual r (M, N) or none, y (M, N) or (M, F).
//
// Against level 3: in decode, its kernel reads 2 or 4 bytes per load, and x once per row of w; with 2 to 8 rows, its
// tile computes 32, in small steps with barriers between.
//   - With few rows a matmul is as fast as w can be read. There is nothing to share, so there is no shared
//     memory: a warp has a few rows of w, its lanes read 16 bytes each, and shuffles add the lanes' sums.
//   - An element of w is multiplied by all rows of x while it is in a register: w is read once. x comes from L1.
//
// Prediction: the rate of a copy for a large w; for a small one, a few times the latency of memory. With 8
// rows the conversions of bf16 to f32 show. One row keeps this loop: a row of w in flight is level 5's idea (row_gemv.cu).
// To be faster: tensor cores from 4 rows on; a row of w split over warps where N is small; loads of the next matmul's
// weights before this one ends.
//
// Bytes moved: 4 or 2 times (N·K + M·K + N + 2·M·N). Launch: 2 or 4 rows of w per warp, 4 warps per block.
//
// Measured on an NVIDIA H200: linear 1x512x10000 f32 at 118% of the memory bandwidth (data in caches); see kernels/generated/linear/level4/gemv.md.
#include "common/overlap.cuh"
#include "common/warp.cuh"
#include "linear/parameters.cuh"

constexpr int WARPS = 4;

// Rows of w per warp, for up to M rows of x: each loaded element of x is used that often.
template <int M>
constexpr int ROWS_OF_W = M > 4 ? 4 : 2;
// Steps of K in flight at once: fewer where a step is long.
template <int M>
constexpr int UNROLL = M > 1 ? 1 : 2;

// The dot products of the R rows `w` with the m ≤ M rows of x, in every lane. Rows of x past the end repeat the last.
template <int M, int R, class T>
__device__ __forceinline__ void dots(float (&acc)[R][M], const T *x, const T *const (&w)[R], bool is_aligned,
                                     unsigned m, unsigned k) {
  constexpr int PER_CHUNK = PER_16_BYTES<T>, STEPS = UNROLL<M>;
  auto row = [&](unsigned i) { return x + size_t(min(i, m - 1)) * k; };
  if (is_aligned) {
#pragma unroll STEPS
    for (unsigned at = lane_id() * PER_CHUNK; at < k; at += WARP * PER_CHUNK) {
      float w_values[R][PER_CHUNK];
#pragma unroll
      for (int j = 0; j < R; j++) load16(w[j] + at, w_values[j]);
#pragma unroll
      for (int i = 0; i < M; i++) {
        float x_values[PER_CHUNK];
        load16(row(i) + at, x_values);
#pragma unroll
        for (int j = 0; j < R; j++)
#pragma unroll
          for (int v = 0; v < PER_CHUNK; v++) acc[j][i] += x_values[v] * w_values[j][v];
      }
    }
  } else {
#pragma unroll 1
    for (unsigned at = lane_id(); at < k; at += WARP)
#pragma unroll
      for (int i = 0; i < M; i++)
#pragma unroll
        for (int j = 0; j < R; j++) acc[j][i] += widen(row(i)[at]) * widen(w[j][at]);
  }
#pragma unroll
  for (int j = 0; j < R; j++)
#pragma unroll
    for (int i = 0; i < M; i++) acc[j][i] = warp_sum(acc[j][i]);
}

// The COLUMNS elements of a warp in each of the m ≤ M rows of y. With a gate a warp has rows of Wg and the same rows of
// Wu, which are n rows further down in w.
template <int M, class T, class Epilogue>
__device__ __forceinline__ void gemv(const T *x, const T *w, Epilogue epilogue, T *y, unsigned m, unsigned n,
                                     unsigned k, const T *residual = nullptr) {
  constexpr int R = ROWS_OF_W<M>, COLUMNS = Epilogue::GATED ? R / 2 : R;
  unsigned column = (blockIdx.x * WARPS + threadIdx.x / WARP) * COLUMNS;
  if (column >= n) return;
  const T *row[R];
#pragma unroll
  for (int j = 0; j < R; j++) row[j] = w + (size_t(j / COLUMNS) * n + min(column + j % COLUMNS, n - 1)) * k;
  // Lane i·COLUMNS + j writes element (i, j). It loads the residual's element first, so that the load is in flight
  // during the dot products.
  auto offset = [&](unsigned i, unsigned j) { return size_t(i) * n + column + j; };
  auto writes = [&](unsigned i, unsigned j) { return i < m && column + j < n; };
  T residual_value{};
  if (residual) {
    unsigned i = lane_id() / COLUMNS, j = lane_id() % COLUMNS;
    if (writes(i, j)) residual_value = load_early(residual + offset(i, j));
  }
  float acc[R][M] = {};
  dots(acc, x, row, aligned(x) && aligned(w) && k % PER_16_BYTES<T> == 0, m, k);

  unsigned i = lane_id() / COLUMNS, j = lane_id() % COLUMNS;
  float s = 0.f, up = 0.f; // registers have no index: each lane picks its own element
#pragma unroll
  for (int e = 0; e < M * COLUMNS; e++)
    if (lane_id() == e) s = acc[e % COLUMNS][e / COLUMNS], up = acc[R - COLUMNS + e % COLUMNS][e / COLUMNS];
  if (!writes(i, j)) return;
  float value = epilogue(s, up, i, column + j);
  store(y + offset(i, j), residual ? value + widen(residual_value) : value);
}

// A kernel of each epilogue, for up to M rows of x.
#define GEMV(NAME, T, M)                                                                                     \
  extern "C" __global__ void __launch_bounds__(WARPS *WARP) NAME(PARAMETERS_RESIDUAL(T)) {                   \
    gemv<M>(x, w, Bias<T>{b}, y, m, n, k, residual);                                                         \
  }
#define GEMV_GELU(NAME, T, M)                                                                                \
  extern "C" __global__ void __launch_bounds__(WARPS *WARP) NAME(PARAMETERS(T)) {                            \
    gemv<M>(x, w, BiasGelu<T>{b}, y, m, n, k);                                                               \
  }
#define GEMV_SWIGLU(NAME, T, M)                                                                              \
  extern "C" __global__ void __launch_bounds__(WARPS *WARP) NAME(PARAMETERS(T)) {                            \
    gemv<M>(x, w, SwiGlu{}, y, m, n, k);                                                                     \
  }

GEMV(linear_f32_level4_row, float, 1)
GEMV_GELU(linear_gelu_f32_level4_row, float, 1)
GEMV_SWIGLU(linear_swiglu_f32_level4_row, float, 1)

GEMV(linear_f32_level4_rows4, float, 4)
GEMV_GELU(linear_gelu_f32_level4_rows4, float, 4)
GEMV_SWIGLU(linear_swiglu_f32_level4_rows4, float, 4)

GEMV(linear_f32_level4_rows8, float, 8)
GEMV_GELU(linear_gelu_f32_level4_rows8, float, 8)
GEMV_SWIGLU(linear_swiglu_f32_level4_rows8, float, 8)

GEMV(linear_bf16_level4_row, bf16, 1)
GEMV_GELU(linear_gelu_bf16_level4_row, bf16, 1)
GEMV_SWIGLU(linear_swiglu_bf16_level4_row, bf16, 1)

GEMV(linear_bf16_level4_rows4, bf16, 4)
GEMV_GELU(linear_gelu_bf16_level4_rows4, bf16, 4)
GEMV_SWIGLU(linear_swiglu_bf16_level4_rows4, bf16, 4)

GEMV(linear_bf16_level4_rows8, bf16, 8)
GEMV_GELU(linear_gelu_bf16_level4_rows8, bf16, 8)
GEMV_SWIGLU(linear_swiglu_bf16_level4_rows8, bf16, 8)
