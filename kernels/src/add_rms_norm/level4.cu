// Level 4 of add_rms_norm: a warp a row, the row held in registers.
//
//   s = x + residual        y = s / sqrt(mean(s * s) + eps) * w        over a row of C columns
//
// Against level 3:
// - s stays in registers between its two uses; level 3 reads it again from a cache.
// - 16 bytes a load, and all loads of a row at once: a thread waits for memory once, not once in each turn
//   of a loop.
// - A warp adds up its squares with five shuffles; level 3 takes eight barriers of 256 threads. A block
//   has eight rows, none of which waits for another.
// The bytes that have to cross the bus are the same: x and residual in, s and y out.
//
// Launch: grid ceil(rows / rows of a block). A thread holds 32 floats: up to 1024 columns a row is a warp's,
// block (32, 8); beyond, it is a block's, (256, 1), which holds 8192. What is longer still, or does not lie
// on 16 bytes, goes through memory as at level 3.
//
// To be faster: keep s on the chip for the product that reads y, in one launch with it.
#include "common/vector.cuh"
#include "common/warp.cuh"

constexpr int BLOCK = 256;
constexpr int FLOATS = 32; // of a row, in each thread

// Reads this thread's part of a row, 16 bytes at a time: columns N * threadIdx.x, N * (threadIdx.x +
// blockDim.x), ... No value is used before all are asked for.
template <typename T, int N>
__device__ __forceinline__ void load_part(const T *row, int columns, float (&part)[FLOATS / N][N]) {
#pragma unroll
  for (int i = 0; i < FLOATS / N; i++) {
    int c = (i * blockDim.x + threadIdx.x) * N;
    if (c < columns) load(row + c, part[i]);
  }
}

// A row that its threads hold.
template <typename T>
__device__ __forceinline__ void held_row(const T *x, const T *residual, const T *w, T *sum, T *y, int columns,
                                         float eps, float *scratch) {
  constexpr int N = PER_16_BYTES<T>;
  float s[FLOATS / N][N], other[FLOATS / N][N]; // first the residual, then w
  float squares = 0.f;
  load_part(x, columns, s);
  if (residual) load_part(residual, columns, other);
#pragma unroll
  for (int i = 0; i < FLOATS / N; i++) {
    int c = (i * blockDim.x + threadIdx.x) * N;
    if (c >= columns) break;
    if (residual) {
#pragma unroll
      for (int j = 0; j < N; j++) s[i][j] = rounded<T>(s[i][j] + other[i][j]);
      store(sum + c, s[i]);
    }
#pragma unroll
    for (int j = 0; j < N; j++) squares += s[i][j] * s[i][j];
  }

  load_part(w, columns, other); // on its way while the squares are added up
  const float scale = 1.f / sqrtf(row_sum(squares, scratch) / columns + eps);
#pragma unroll
  for (int i = 0; i < FLOATS / N; i++) {
    int c = (i * blockDim.x + threadIdx.x) * N;
    if (c >= columns) break;
#pragma unroll
    for (int j = 0; j < N; j++) s[i][j] *= scale * other[i][j];
    store(y + c, s[i]);
  }
}

// A row of any length, wherever it lies: one element at a time, s read again where it was written.
template <typename T>
__device__ __forceinline__ void any_row(const T *x, const T *residual, const T *w, T *sum, T *y, int columns,
                                        float eps, float *scratch) {
  float squares = 0.f;
#pragma unroll 1
  for (int c = threadIdx.x; c < columns; c += blockDim.x) {
    float s = widen(x[c]);
    if (residual) {
      s = rounded<T>(s + widen(residual[c]));
      store(sum + c, s);
    }
    squares += s * s;
  }
  const float scale = 1.f / sqrtf(row_sum(squares, scratch) / columns + eps);
  const T *s = residual ? sum : x;
#pragma unroll 1
  for (int c = threadIdx.x; c < columns; c += blockDim.x) store(y + c, widen(s[c]) * (scale * widen(w[c])));
}

template <typename T>
__device__ __forceinline__ void add_rms_norm(const T *x, const T *residual, const T *w, T *sum, T *y, int rows,
                                             int columns, float eps) {
  __shared__ float scratch[BLOCK / WARP];
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return; // all threads of the row
  const bool on_16_bytes = columns % PER_16_BYTES<T> == 0 && aligned(x) && aligned(residual) && aligned(w) &&
                           aligned(sum) && aligned(y);
  const size_t start = size_t(row) * columns;
  if (residual) residual += start;
  if (on_16_bytes && columns <= blockDim.x * FLOATS) {
    held_row(x + start, residual, w, sum + start, y + start, columns, eps, scratch);
  } else {
    any_row(x + start, residual, w, sum + start, y + start, columns, eps, scratch);
  }
}

// x (rows, C), residual and sum (rows, C) or 0, w (C), y (rows, C).
extern "C" __global__ void __launch_bounds__(BLOCK)
    add_rms_norm_f32_level4(const float *x, const float *residual, const float *w, float *sum, float *y,
                            unsigned rows, unsigned columns, float eps) {
  add_rms_norm(x, residual, w, sum, y, rows, columns, eps);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    add_rms_norm_bf16_level4(const bf16 *x, const bf16 *residual, const bf16 *w, bf16 *sum, bf16 *y,
                             unsigned rows, unsigned columns, float eps) {
  add_rms_norm(x, residual, w, sum, y, rows, columns, eps);
}
