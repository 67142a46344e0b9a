// Level 5 of add_layer_norm: a kernel for each width of a narrow row.
//
//   s = x + residual     m = mean(s)     v = mean((s - m)^2)     y = (s - m) / sqrt(v + eps) * w + b
//
// over a row of C columns. Why this is faster than level 4 where tensors are small stands in add_rms_norm/level5.cuh:
// all loads first, no registers and turns for pieces that a row has not, half a warp for half a row, no barrier, one
// instruction for 1 / sqrt. Most of it counts twice here, with two sums a row and two vectors beside it.
//
// Launch: block 128, grid ceil(rows * LANES / 128). C is a multiple of 16 bytes, LANES * PIECES pieces of 16 at the most,
// and every operand lies on 16 bytes.
//
// To be faster: begin before the kernel in front has ended, as sm_90 can (griddepcontrol), with w and b on their way
// meanwhile.
#pragma once

#include "common/narrow_row.cuh"

// x (rows, C), residual and sum (rows, C) or 0, w and b (C), y (rows, C).
template <typename T, int LANES, int PIECES>
__device__ __forceinline__ void add_layer_norm(const T *x, const T *residual, const T *w, const T *b, T *sum, T *y,
                                               unsigned rows, int columns, float eps) {
  constexpr int N = PER_16_BYTES<T>;
  const NarrowRow<T, LANES, PIECES> row(rows, columns);
  uint4 s[PIECES], of_residual[PIECES], of_w[PIECES], of_b[PIECES];
  row.load(x + row.start, s);
  if (residual) row.load(residual + row.start, of_residual);
  row.load(w, of_w);
  row.load(b, of_b);

  float total = 0.f, squares = 0.f;
  row.each_piece([&](int i, int c) {
    float v[N];
    unpack16<T>(s[i], v);
    if (residual) {
      s[i] = add16<T>(v, of_residual[i]);
      *reinterpret_cast<uint4 *>(sum + row.start + c) = s[i];
    }
#pragma unroll
    for (int j = 0; j < N; j++) total += v[j];
  });
  const float per_column = 1.f / columns, mean = warp_sum<LANES>(total) * per_column;

  row.each_piece([&](int i, int) {
    float v[N];
    unpack16<T>(s[i], v);
#pragma unroll
    for (int j = 0; j < N; j++) squares += (v[j] - mean) * (v[j] - mean);
  });
  const float scale = rsqrtf(warp_sum<LANES>(squares) * per_column + eps);

  row.each_piece([&](int i, int c) {
    float v[N], weight[N], bias[N];
    unpack16<T>(s[i], v);
    unpack16<T>(of_w[i], weight);
    unpack16<T>(of_b[i], bias);
#pragma unroll
    for (int j = 0; j < N; j++) v[j] = (v[j] - mean) * (scale * weight[j]) + bias[j];
    store16(y + row.start + c, v);
  });
}

#define KERNEL(NAME, T, LANES, PIECES)                                                                               \
  extern "C" __global__ void __launch_bounds__(NARROW_THREADS)                                                       \
      NAME(const T *x, const T *residual, const T *w, const T *b, T *sum, T *y, unsigned rows, unsigned columns,     \
           float eps) {                                                                                              \
    add_layer_norm<T, LANES, PIECES>(x, residual, w, b, sum, y, rows, columns, eps);                                 \
  }
