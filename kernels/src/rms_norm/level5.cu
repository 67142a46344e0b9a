// Level 5 of rms_norm: a kernel for each width of a narrow row.
//
//   y = x / sqrt(mean(x * x) + eps) * w        over a row of C columns
//
// Level 4's kernel takes a row of any width. A small tensor waits for all that this needs:
// - Level 4 has registers for four pieces of 16 bytes of each operand in each thread, and walks through four, however
//   short the row. Here PIECES is part of the kernel.
// - Rows of 256 bytes and less are half a warp's; at level 4 its other half is idle.
// - Level 4's barrier, for rows of several warps, has a number that only the run knows. The compiler then takes all 16
//   that a block can have, and no more than four blocks share an SM (cudaOccupancyMaxActiveBlocksPerMultiprocessor, on an
//   H200). A row of one warp needs none.
// - 1 / sqrt is one instruction, rsqrt.approx, with an error of at most 2^-22.9 (PTX ISA). The root and the division of
//   IEEE are many instructions, one after the other, and nothing else can be done meanwhile.
// The bytes are the same, and so are large tensors' times: those wait for memory.
//
// Launch: block 128, grid ceil(rows * LANES / 128). A row is a multiple of 16 bytes, at most LANES * PIECES pieces of
// 16 bytes, and every operand begins at a multiple of 16 bytes.
//
// To be faster: start before the previous kernel has ended, as sm_90 can (griddepcontrol), with w in flight meanwhile.
//
// Compiled for sm_75 and sm_80: from sm_80 on, one instruction rounds two f32 to bf16; older GPUs need about ten.
//
// Measured: rms_norm 4096x2048 bf16 at 135% of the memory rate (data in caches) on an NVIDIA H200; see kernels/generated/rms_norm/level5.md.
#include "common/narrow_row.cuh"

// ANCHOR: narrow
// x (rows, C), w (C), y (rows, C).
template <typename T, int LANES, int PIECES>
__device__ __forceinline__ void rms_norm(const T *x, const T *w, T *y, unsigned rows, int columns, float eps) {
  constexpr int N = PER_16_BYTES<T>;
  const NarrowRow<T, LANES, PIECES> row(rows, columns);
  uint4 of_x[PIECES], of_w[PIECES];
  row.load(x + row.start, of_x);
  row.load(w, of_w);

  float squares = 0.f;
  row.each_piece([&](int i, int) {
    float v[N];
    unpack16<T>(of_x[i], v);
#pragma unroll
    for (int j = 0; j < N; j++) squares += v[j] * v[j];
  });
  const float scale = rsqrtf(warp_sum<LANES>(squares) * (1.f / columns) + eps);

  row.each_piece([&](int i, int c) {
    float v[N], weight[N];
    unpack16<T>(of_x[i], v);
    unpack16<T>(of_w[i], weight);
#pragma unroll
    for (int j = 0; j < N; j++) v[j] = v[j] * (scale * weight[j]);
    store16(y + row.start + c, v);
  });
}
// ANCHOR_END: narrow

#define KERNEL(NAME, T, LANES, PIECES)                                                                               \
  extern "C" __global__ void __launch_bounds__(NARROW_THREADS)                                                       \
      NAME(const T *x, const T *w, T *y, unsigned rows, unsigned columns, float eps) {                               \
    rms_norm<T, LANES, PIECES>(x, w, y, rows, columns, eps);                                                         \
  }

KERNEL(rms_norm_f32_level5_16x1, float, 16, 1)
KERNEL(rms_norm_f32_level5_32x1, float, 32, 1)
KERNEL(rms_norm_f32_level5_32x2, float, 32, 2)
KERNEL(rms_norm_f32_level5_32x4, float, 32, 4)
KERNEL(rms_norm_f32_level5_32x8, float, 32, 8)
KERNEL(rms_norm_bf16_level5_16x1, bf16, 16, 1)
KERNEL(rms_norm_bf16_level5_32x1, bf16, 32, 1)
KERNEL(rms_norm_bf16_level5_32x2, bf16, 32, 2)
KERNEL(rms_norm_bf16_level5_32x4, bf16, 32, 4)
KERNEL(rms_norm_bf16_level5_32x8, bf16, 32, 8)
