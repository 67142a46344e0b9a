// Level 5 of layer_norm: a kernel for each width of a narrow row.
//
//   m = mean(x)     v = mean((x - m)^2)     y = (x - m) / sqrt(v + eps) * w + b        over a row of C columns
//
// rms_norm/level5.cu says why this is faster than level 4 where tensors are small: no registers and turns for chunks
// that a row has not, half a warp for half a row, no barrier, one instruction for 1 / sqrt. Most of it counts twice here,
// with two sums per row and two vectors. And all loads come first, those of w and b too: level 4 has no registers for
// that, and loads them after the mean.
//
// Launch: block 128, grid ceil(rows * LANES / 128). C is a multiple of 16 bytes, at most LANES * PIECES chunks of 16,
// and every operand lies on 16 bytes.
//
// To be faster: start before the previous kernel has ended, as sm_90 can (griddepcontrol), with w and b in flight
// meanwhile.
//
// Compiled for sm_75 and sm_80: from sm_80 on, one instruction rounds two f32 to bf16; older GPUs need about ten.
//
// Measured: layer_norm 4096x2048 bf16 at 95% of the memory rate on an NVIDIA H200; see kernels/generated/layer_norm/level5.md.
#include "common/narrow_row.cuh"

// x (rows, C), w and b (C), y (rows, C).
template <typename T, int LANES, int PIECES>
__device__ __forceinline__ void layer_norm(const T *x, const T *w, const T *b, T *y, unsigned rows, int columns,
                                           float eps) {
  constexpr int N = PER_16_BYTES<T>;
  const NarrowRow<T, LANES, PIECES> row(rows, columns);
  uint4 of_x[PIECES], of_w[PIECES], of_b[PIECES];
  row.load(x + row.start, of_x);
  row.load(w, of_w);
  row.load(b, of_b);
  row.clear_outside(of_x);

  float total = 0.f, squares = 0.f;
  row.each_piece([&](int i, int) {
    float v[N];
    unpack16<T>(of_x[i], v);
#pragma unroll
    for (int j = 0; j < N; j++) total += v[j];
  });
  const float per_column = 1.f / columns, mean = warp_sum<LANES>(total) * per_column;

  row.each_piece([&](int i, int) {
    float v[N];
    unpack16<T>(of_x[i], v);
#pragma unroll
    for (int j = 0; j < N; j++) squares += (v[j] - mean) * (v[j] - mean);
  });
  const float scale = rsqrtf(warp_sum<LANES>(squares) * per_column + eps);

  row.each_piece([&](int i, int c) {
    float v[N], weight[N], bias[N];
    unpack16<T>(of_x[i], v);
    unpack16<T>(of_w[i], weight);
    unpack16<T>(of_b[i], bias);
#pragma unroll
    for (int j = 0; j < N; j++) v[j] = (v[j] - mean) * (scale * weight[j]) + bias[j];
    store16(y + row.start + c, v);
  });
}

#define KERNEL(NAME, T, LANES, PIECES)                                                                               \
  extern "C" __global__ void __launch_bounds__(NARROW_THREADS)                                                       \
      NAME(const T *x, const T *w, const T *b, T *y, unsigned rows, unsigned columns, float eps) {                   \
    layer_norm<T, LANES, PIECES>(x, w, b, y, rows, columns, eps);                                                    \
  }

KERNEL(layer_norm_f32_level5_16x1, float, 16, 1)
KERNEL(layer_norm_f32_level5_32x1, float, 32, 1)
KERNEL(layer_norm_f32_level5_32x2, float, 32, 2)
KERNEL(layer_norm_f32_level5_32x4, float, 32, 4)
KERNEL(layer_norm_f32_level5_32x8, float, 32, 8)
KERNEL(layer_norm_bf16_level5_16x1, bf16, 16, 1)
KERNEL(layer_norm_bf16_level5_32x1, bf16, 32, 1)
KERNEL(layer_norm_bf16_level5_32x2, bf16, 32, 2)
KERNEL(layer_norm_bf16_level5_32x4, bf16, 32, 4)
KERNEL(layer_norm_bf16_level5_32x8, bf16, 32, 8)
