// Level 5 of layer_norm: a kernel for each width of a narrow row.
//
//   m = mean(x)     v = mean((x - m)^2)     y = (x - m) / sqrt(v + eps) * w + b        over a row of C columns
//
// rms_norm/level5.cu says why this is faster than level 4 where tensors are small: no registers and turns for chunks
// that a row does not have, half a warp for a short row, no barrier, a few instructions for 1 / sqrt. Most of it counts
// twice here, with two sums per row and two vectors. And all loads come first, those of w and b too: level 4 has no
// registers for that, and loads them after the mean.
//
// Launch: block 128, grid ceil(rows * LANES_PER_ROW / 128). A row has at most LANES_PER_ROW * CHUNKS_PER_LANE chunks of
// 16 bytes, all of them whole, and is 16-byte aligned in every operand.
//
// To be faster: load w and b before the wait. It was not tried: x, w and b are in flight at once, and a load before the
// wait must be volatile, which is no gain for many rows.
//
// Compiled for sm_75, sm_80 and sm_90: from sm_80 on, one instruction rounds two f32 to bf16; older GPUs need about ten.
// From sm_90 on, a launch of a recorded pass may overlap with the ones before and after it.
//
// Measured on an NVIDIA H200: layer_norm 4096x2048 bf16 at 93% of the memory bandwidth; see kernels/generated/layer_norm/level5.md.
#include "common/narrow_row.cuh"
#include "common/overlap.cuh"

// x (rows, C), w and b (C), y (rows, C), inverse_columns = 1 / C: a division on the host in place of one per thread.
template <typename T, int LANES_PER_ROW, int CHUNKS_PER_LANE>
__device__ __forceinline__ void layer_norm(const T *x, const T *w, const T *b, T *y, unsigned rows, int columns,
                                           float inverse_columns, float eps) {
  constexpr int PER_CHUNK = PER_16_BYTES<T>;
  const NarrowRow<T, LANES_PER_ROW, CHUNKS_PER_LANE> row(rows, columns);
  let_next_start();
  wait_for_previous();
  uint4 x_chunks[CHUNKS_PER_LANE], w_chunks[CHUNKS_PER_LANE], b_chunks[CHUNKS_PER_LANE];
  row.load(x + row.start, x_chunks);
  row.load(w, w_chunks);
  row.load(b, b_chunks);
  row.zero_outside(x_chunks);

  float total = 0.f, squares = 0.f;
  row.for_each_chunk([&](int i, int) {
    float v[PER_CHUNK];
    unpack16<T>(x_chunks[i], v);
#pragma unroll
    for (int j = 0; j < PER_CHUNK; j++) total += v[j];
  });
  const float mean = warp_sum<LANES_PER_ROW>(total) * inverse_columns;

  row.for_each_chunk([&](int i, int) {
    float v[PER_CHUNK];
    unpack16<T>(x_chunks[i], v);
#pragma unroll
    for (int j = 0; j < PER_CHUNK; j++) squares += (v[j] - mean) * (v[j] - mean);
  });
  const float scale = rsqrtf(warp_sum<LANES_PER_ROW>(squares) * inverse_columns + eps);

  row.for_each_chunk([&](int i, int c) {
    float v[PER_CHUNK], weight[PER_CHUNK], bias[PER_CHUNK];
    unpack16<T>(x_chunks[i], v);
    unpack16<T>(w_chunks[i], weight);
    unpack16<T>(b_chunks[i], bias);
#pragma unroll
    for (int j = 0; j < PER_CHUNK; j++) v[j] = (v[j] - mean) * (scale * weight[j]) + bias[j];
    store16(y + row.start + c, v);
  });
}

#define KERNEL(NAME, T, LANES_PER_ROW, CHUNKS_PER_LANE)                                                              \
  extern "C" __global__ void __launch_bounds__(NARROW_ROW_THREADS)                                                   \
      NAME(const T *x, const T *w, const T *b, T *y, unsigned rows, unsigned columns, float inverse_columns,         \
           float eps) {                                                                                              \
    layer_norm<T, LANES_PER_ROW, CHUNKS_PER_LANE>(x, w, b, y, rows, columns, inverse_columns, eps);                  \
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
