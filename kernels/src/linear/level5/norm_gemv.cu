// Level 5 of linear, for one row of x and its RMSNorm, f32 and bf16: both in one launch.
//   y = h·wᵀ + b, or silu(h·Wgᵀ) ⊙ (h·Wuᵀ), where h = x/√(mean(x²) + eps) ⊙ g
// x and g (K), w (N, K), or (2F, K) with the rows of Wg above those of Wu, b (N) or none, y (N) or (F). A row
// is a whole number of 16-byte chunks; x, g and w are 16-byte aligned.
//
// Against level 4, where the norm is a launch and the GEMV another: in a decode step each takes two or three
// microseconds and most of them are latency, not traffic.
//   - The norm is a factor: h·wᵀ = ((x ⊙ g)·wᵀ)/√(mean(x²) + eps). A warp of the GEMV reads all of x for its dot
//     products, so it adds x² on the way and scales its sums at the end. One launch, one write and one read are gone.
//     Each warp repeats the norm's arithmetic: 3·K operations next to 2·R·K of its R rows of w.
//   - Loads first, conversions last: a lane requests all of its chunks of w, g and x before it unpacks one, so the row
//     waits for memory once. Level 4 goes through K in steps of two chunks, each of which waits.
//   - The warps of an SM share x and g in L1: all warps of the GPU read the same 1 KB, and L2 answers one after the other. A head
//     of 128,256 rows, at one row per warp, would read as many bytes of g from L2 as it has weights.
//   - The head of a decode step also chooses the token and advances the position (next_step.cuh): two launches are gone.
//   - R rows per warp: more in flight, and fewer warps that repeat the norm. A large w, such as the head's, has more.
//
// Prediction: one trip to memory, the shuffles and the launch: about 2 µs for w of a few MB, instead of 2.4 for the norm
// and 2.4 to 3 for the GEMV. A large w takes the time of a copy.
//   - In a decode step w and g are in flight while the kernel that computes x still runs (common/overlap.cuh): a launch
//     costs 1.4 to 1.6 µs instead of 2.2 to 2.4, as in a program of its own on an H200. Outcome: book/chapters/level5.md.
// To be faster: bulk copies to shared memory in place of loads to registers, which limit R.
//
// Compiled for sm_75 and sm_90: from sm_90 on, a launch may overlap with the one before.
// Bytes moved: 4 or 2 times (N·K + N + 2·K + N), x and g mostly from L2. Launch: R elements of y per warp, WARPS warps per block.
#include "common/overlap.cuh"
#include "common/warp.cuh"
#include "linear/level5/next_step.cuh"
#include "linear/parameters.cuh"

// One warp computes R elements of y. A row is at most CHUNKS chunks of 16 bytes per lane: lane l has chunks l, l + 32, …
template <int CHUNKS, int R, int WARPS, class T, class Epilogue, class Step>
__device__ __forceinline__ void norm_gemv(const T *x, const T *g, const T *w, Epilogue epilogue, T *y, Step step,
                                          unsigned n, unsigned k, float inverse_k, float eps) {
  constexpr int PER_CHUNK = PER_16_BYTES<T>, ROWS = Epilogue::GATED ? 2 * R : R;
  // A gated kernel has the most weights in a transformer block. In bf16 it is faster if the next kernel's do not arrive with them.
  constexpr bool EARLY = !Epilogue::GATED || sizeof(T) == 4;
  if (EARLY) let_next_start();
  unsigned column = (blockIdx.x * WARPS + threadIdx.x / WARP) * R;
  // A block that chooses has a barrier at its end. Its warps past the last column repeat that one.
  bool chooses = false;
  if constexpr (Step::CAN_CHOOSE) chooses = step.token;
  if (column >= n && !chooses) return;
  auto load_row = [&](auto load, const T *row, uint4(&chunks)[CHUNKS]) {
#pragma unroll
    for (int c = 0; c < CHUNKS; c++) {
      unsigned at = (c * WARP + lane_id()) * PER_CHUNK;
      chunks[c] = load(row + at, at < k);
    }
  };
  // With a gate, the rows of Wu are n rows below those of Wg. Columns past the end repeat the last.
  uint4 w_chunks[ROWS][CHUNKS], g_chunks[CHUNKS], x_chunks[CHUNKS];
#pragma unroll
  for (int j = 0; j < ROWS; j++)
    load_row(load16_at_once, w + (size_t(j / R) * n + min(column + j % R, n - 1)) * k, w_chunks[j]);
  load_row(load16_through_l1, g, g_chunks);
  wait_for_previous();
  if (!EARLY) let_next_start();
  load_row(load16_through_l1, x, x_chunks);
  await_all(x_chunks, k >> 31); // k >> 31 is 0, which the compiler cannot know

  float squares = 0.f, dots[ROWS] = {};
#pragma unroll
  for (int c = 0; c < CHUNKS; c++) {
    float h[PER_CHUNK], gain[PER_CHUNK];
    unpack16<T>(x_chunks[c], h);
    unpack16<T>(g_chunks[c], gain);
#pragma unroll
    for (int v = 0; v < PER_CHUNK; v++) squares += h[v] * h[v], h[v] *= gain[v];
#pragma unroll
    for (int j = 0; j < ROWS; j++) {
      float weight[PER_CHUNK];
      unpack16<T>(w_chunks[j][c], weight);
#pragma unroll
      for (int v = 0; v < PER_CHUNK; v++) dots[j] += h[v] * weight[v];
    }
  }
  float scale = rsqrtf(warp_sum(squares) * inverse_k + eps);
#pragma unroll
  for (int j = 0; j < ROWS; j++) dots[j] = warp_sum(dots[j]) * scale;

  // Lane j writes element j.
  Key key = 0;
#pragma unroll
  for (int j = 0; j < R; j++)
    if (lane_id() == j && column + j < n) {
      T element;
      store(&element, epilogue(dots[j], dots[ROWS - R + j], 0, column + j));
      y[column + j] = element;
      if (chooses) key = key_of(widen(element), column + j);
    }
  if constexpr (Step::CAN_CHOOSE) {
    step.advance();
    if (chooses) step.template choose<WARPS>(key, n);
  }
}

// A kernel of each epilogue, for rows of w of up to CHUNKS chunks per lane. NORM_HEAD can end a decode step.
#define NORM_LINEAR(NAME, T, CHUNKS, R, WARPS)                                                                       \
  extern "C" __global__ void __launch_bounds__(WARPS *WARP)                                                          \
      NAME(const T *x, const T *g, const T *w, const T *b, T *y, unsigned n, unsigned k, float inverse_k,            \
           float eps) {                                                                                              \
    norm_gemv<CHUNKS, R, WARPS>(x, g, w, Bias<T>{b}, y, NoStep{}, n, k, inverse_k, eps);                             \
  }
#define NORM_HEAD(NAME, T, CHUNKS, R, WARPS)                                                                         \
  extern "C" __global__ void __launch_bounds__(WARPS *WARP)                                                          \
      NAME(const T *x, const T *g, const T *w, const T *b, T *y, unsigned *token, const unsigned *from,              \
           unsigned *to, Key *largest, unsigned n, unsigned k, float inverse_k, float eps) {                         \
    NextStep step{token, from, to, largest};                                                                         \
    norm_gemv<CHUNKS, R, WARPS>(x, g, w, Bias<T>{b}, y, step, n, k, inverse_k, eps);                                 \
  }
#define NORM_SWIGLU(NAME, T, CHUNKS, R, WARPS)                                                                       \
  extern "C" __global__ void __launch_bounds__(WARPS *WARP)                                                          \
      NAME(const T *x, const T *g, const T *w, T *y, unsigned n, unsigned k, float inverse_k, float eps) {           \
    norm_gemv<CHUNKS, R, WARPS>(x, g, w, SwiGlu{}, y, NoStep{}, n, k, inverse_k, eps);                               \
  }

NORM_LINEAR(norm_linear_f32_level5_4, float, 4, 3, 4)
NORM_HEAD(norm_linear_f32_level5_4_tall, float, 4, 4, 4)
NORM_SWIGLU(norm_swiglu_f32_level5_4, float, 4, 2, 4)

NORM_LINEAR(norm_linear_f32_level5_6, float, 6, 2, 8)
NORM_HEAD(norm_linear_f32_level5_6_tall, float, 6, 4, 4)
NORM_SWIGLU(norm_swiglu_f32_level5_6, float, 6, 2, 4)

NORM_LINEAR(norm_linear_f32_level5_12, float, 12, 1, 4)
NORM_SWIGLU(norm_swiglu_f32_level5_12, float, 12, 1, 4)

NORM_HEAD(norm_linear_bf16_level5_2, bf16, 2, 3, 4)
NORM_SWIGLU(norm_swiglu_bf16_level5_2, bf16, 2, 3, 8)

NORM_LINEAR(norm_linear_bf16_level5_3, bf16, 3, 3, 8)
NORM_HEAD(norm_linear_bf16_level5_3_tall, bf16, 3, 8, 4)
NORM_SWIGLU(norm_swiglu_bf16_level5_3, bf16, 3, 2, 8)

NORM_HEAD(norm_linear_bf16_level5_8, bf16, 8, 2, 4)
NORM_SWIGLU(norm_swiglu_bf16_level5_8, bf16, 8, 1, 4)
