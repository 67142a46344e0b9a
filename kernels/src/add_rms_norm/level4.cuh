// Level 4 of add_rms_norm: a warp a row, the row held in registers.
//
//   s = x + residual        y = s / sqrt(mean(s * s) + eps) * w        over a row of C columns
//
// Against level 3:
// - s stays in registers between its two uses; level 3 reads it again from a cache.
// - 16 bytes a load, and all loads of a row at once: a thread waits for memory once, not once in each turn
//   of a loop.
// - A warp adds up its squares with five shuffles; level 3 takes nine barriers of 256 threads. A block
//   has up to eight rows, none of which waits for another.
// The bytes that have to cross the bus are the same: x and residual in, s and y out.
//
// Launch: grid ceil(rows / rows of a block), which are one up to 128 rows in all, and eight at the most. A thread holds
// four pieces of 16 bytes: up to 512 columns of f32 or 1024 of bf16 a row is a warp's, block (32, 8); a longer one is
// shared by as few warps as can hold it, (64, 4), (128, 2) and so on, up to 16384 columns. A longer one still has 1024
// threads, 512 in bf16; one that is no multiple of 16 bytes has 256 at the most. Both go through memory as at level 3.
//
// To be faster: keep s on the chip for the product that reads y, in one launch with it.
#pragma once

#include "common/row.cuh"

// A row that its threads hold.
template <typename T>
__device__ __forceinline__ void held_row(const T *x, const T *residual, const T *w, T *sum, T *y, int columns,
                                         float eps, float *scratch) {
  constexpr int N = PER_16_BYTES<T>;
  Pieces<T> s(x, columns); // x, and then the sum
  const Pieces<T> of_residual(residual, columns);
  float squares = 0.f;
  each_piece<T>(columns, [&](int i, int c) {
    float v[N];
    s.get(i, v);
    if (residual) {
      s.add(i, of_residual, v);
      s.store(i, sum + c);
    }
#pragma unroll
    for (int j = 0; j < N; j++) squares += v[j] * v[j];
  });
  // On their way while the threads add up.
  const Pieces<T> of_w(w, columns);
  const float scale = 1.f / sqrtf(row_sum(squares, scratch) / columns + eps);

  each_piece<T>(columns, [&](int i, int c) {
    float v[N], weight[N];
    s.get(i, v);
    of_w.get(i, weight);
#pragma unroll
    for (int j = 0; j < N; j++) v[j] = v[j] * (scale * weight[j]);
    store16(y + c, v);
  });
}

// A row of any length, wherever it lies: one element at a time, s read again where it was written.
template <typename T>
__device__ __forceinline__ void any_row(const T *x, const T *residual, const T *w, T *sum, T *y, int columns,
                                        float eps, float *scratch) {
  float squares = 0.f;
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
  for (int c = threadIdx.x; c < columns; c += blockDim.x) store(y + c, widen(s[c]) * (scale * widen(w[c])));
}

template <typename T>
__device__ __forceinline__ void add_rms_norm(const T *x, const T *residual, const T *w, T *sum, T *y, unsigned rows,
                                             int columns, float eps) {
  __shared__ float scratch[ROW_THREADS<T> / WARP];
  const unsigned row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return; // all threads of the row
  const size_t start = size_t(row) * unsigned(columns);
  const T *added = residual ? residual + start : nullptr;
  const bool on_16_bytes = aligned(x) && aligned(residual) && aligned(w) && aligned(sum) && aligned(y);
  if (on_16_bytes && Pieces<T>::fit(columns)) {
    held_row(x + start, added, w, sum + start, y + start, columns, eps, scratch);
  } else {
    any_row(x + start, added, w, sum + start, y + start, columns, eps, scratch);
  }
}
