// Level 5 of rms_norm: a kernel for each width of a narrow row.
//
//   y = x / sqrt(mean(x * x) + eps) * w        over a row of C columns
//
// Level 4's kernel takes a row of any width. A small tensor waits for all that this needs:
// - Level 4 has registers for four chunks of 16 bytes of each operand in each thread, and walks through four, however
//   short the row. Here CHUNKS_PER_LANE is a template parameter.
// - Rows of 256 bytes and less are half a warp's; at level 4 its other half is idle.
// - Level 4 also takes rows of several warps, and reserves four of a block's 16 barriers for them. A row of one warp
//   needs none.
// - 1 / sqrt is rsqrt.approx, with an error of at most 2^-22.9 (PTX ISA): a few machine instructions. The root and the
//   division of IEEE are many, one after the other, and nothing else can be done meanwhile.
// The bytes are the same, and so are large tensors' times: those wait for memory.
//
// Launch: block 128, grid ceil(rows * LANES_PER_ROW / 128). A row has at most LANES_PER_ROW * CHUNKS_PER_LANE chunks of
// 16 bytes, all of them whole, and is 16-byte aligned in every operand.
//
// To be faster: start before the previous kernel has ended, as sm_90 can (griddepcontrol), with w in flight meanwhile.
//
// Compiled for sm_75 and sm_80: from sm_80 on, one instruction rounds two f32 to bf16; older GPUs need about ten.
//
// Measured on an NVIDIA H200: rms_norm 4096x2048 bf16 at 115% of the memory bandwidth (data in caches); see kernels/generated/rms_norm/level5.md.
#include "common/narrow_row.cuh"

// ANCHOR: narrow
// x (rows, C), w (C), y (rows, C), inverse_columns = 1 / C: a division on the host in place of one per thread.
template <typename T, int LANES_PER_ROW, int CHUNKS_PER_LANE>
__device__ __forceinline__ void rms_norm(const T *x, const T *w, T *y, unsigned rows, int columns,
                                         float inverse_columns, float eps) {
  constexpr int PER_CHUNK = PER_16_BYTES<T>;
  const NarrowRow<T, LANES_PER_ROW, CHUNKS_PER_LANE> row(rows, columns);
  uint4 x_chunks[CHUNKS_PER_LANE], w_chunks[CHUNKS_PER_LANE];
  row.load(x + row.start, x_chunks);
  row.load(w, w_chunks);

  float squares = 0.f;
  row.for_each_chunk([&](int i, int) {
    float v[PER_CHUNK];
    unpack16<T>(x_chunks[i], v);
#pragma unroll
    for (int j = 0; j < PER_CHUNK; j++) squares += v[j] * v[j];
  });
  const float scale = rsqrtf(warp_sum<LANES_PER_ROW>(squares) * inverse_columns + eps);

  row.for_each_chunk([&](int i, int c) {
    float v[PER_CHUNK], weight[PER_CHUNK];
    unpack16<T>(x_chunks[i], v);
    unpack16<T>(w_chunks[i], weight);
#pragma unroll
    for (int j = 0; j < PER_CHUNK; j++) v[j] = v[j] * (scale * weight[j]);
    store16(y + row.start + c, v);
  });
}
// ANCHOR_END: narrow

#define KERNEL(NAME, T, LANES_PER_ROW, CHUNKS_PER_LANE)                                                              \
  extern "C" __global__ void __launch_bounds__(NARROW_ROW_THREADS)                                                   \
      NAME(const T *x, const T *w, T *y, unsigned rows, unsigned columns, float inverse_columns, float eps) {        \
    rms_norm<T, LANES_PER_ROW, CHUNKS_PER_LANE>(x, w, y, rows, columns, inverse_columns, eps);                       \
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
