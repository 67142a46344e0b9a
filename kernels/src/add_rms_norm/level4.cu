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
#include "common/row.cuh"

// A row that its threads hold.
template <typename T>
__device__ __forceinline__ void held_row(const T *x, const T *residual, const T *w, T *sum, T *y, int columns,
                                         float eps, float *scratch) {
  constexpr int N = Share<T>::N;
  Share<T> s, other; // other: first the residual, then w
  s.load(x, columns);
  if (residual) {
    other.load(residual, columns);
    s.each(columns, [&](float(&s)[N], int c, int i) {
#pragma unroll
      for (int j = 0; j < N; j++) s[j] = rounded<T>(s[j] + other.piece[i][j]);
      store16(sum + c, s);
    });
  }
  other.load(w, columns); // on its way while the squares are added up

  float squares = 0.f;
  s.each(columns, [&](float(&s)[N], int, int) {
#pragma unroll
    for (int j = 0; j < N; j++) squares += s[j] * s[j];
  });
  const float scale = 1.f / sqrtf(row_sum(squares, scratch) / columns + eps);

  s.each(columns, [&](float(&s)[N], int c, int i) {
#pragma unroll
    for (int j = 0; j < N; j++) s[j] *= scale * other.piece[i][j];
    store16(y + c, s);
  });
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
  __shared__ float scratch[ROW_BLOCK / WARP];
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return; // all threads of the row
  const size_t start = size_t(row) * columns;
  const T *added = residual ? residual + start : nullptr;
  const bool on_16_bytes = aligned(x) && aligned(residual) && aligned(w) && aligned(sum) && aligned(y);
  if (on_16_bytes && Share<T>::fits(columns)) {
    held_row(x + start, added, w, sum + start, y + start, columns, eps, scratch);
  } else {
    any_row(x + start, added, w, sum + start, y + start, columns, eps, scratch);
  }
}

// x (rows, C), residual and sum (rows, C) or 0, w (C), y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_BLOCK)
    add_rms_norm_f32_level4(const float *x, const float *residual, const float *w, float *sum, float *y,
                            unsigned rows, unsigned columns, float eps) {
  add_rms_norm(x, residual, w, sum, y, rows, columns, eps);
}

extern "C" __global__ void __launch_bounds__(ROW_BLOCK)
    add_rms_norm_bf16_level4(const bf16 *x, const bf16 *residual, const bf16 *w, bf16 *sum, bf16 *y,
                             unsigned rows, unsigned columns, float eps) {
  add_rms_norm(x, residual, w, sum, y, rows, columns, eps);
}
