// Level 4 of rms_norm: the row held in the registers of one warp, or of several.
//
//   y = x / sqrt(mean(x * x) + eps) * w        over a row of C columns
//
// Compared with level 3:
// - x stays in registers between its two uses; level 3 reads it again from a cache.
// - A load has 16 bytes, and all loads of x and w come before the sum: a thread waits for memory once; level 3 waits in
//   each turn of its two loops.
// - A warp adds up its squares with five shuffles; level 3 takes nine barriers of 256 threads. A block
//   has up to eight rows, none of which waits for another.
// The bytes that memory has to move are the same as long as a cache has x when level 3 reads it again: x, w in, y out.
//
// Launch: a thread holds up to four chunks of 16 bytes of its row, so one warp holds a row of up to 512 columns of f32
// or 1024 of bf16. A longer row is shared by 2, 4, 8 … warps, up to 16384 columns. Block (threads of a row, rows): one
// row per block if x has at most 128 rows, else up to eight rows of one warp, four of two, and so on. Every row is
// 16-byte aligned; the host launches fallback.cu for all others.
//
// To be faster: keep y on the chip for the matmul that reads it, in one launch with it.
//
// Compiled for sm_75 and sm_80: from sm_80 on, one instruction rounds two f32 to bf16; older GPUs need about ten.
//
// Measured on an NVIDIA H200: rms_norm 16384x8192 f32 at 99% of the memory bandwidth; see kernels/generated/rms_norm/level4.md.
#include "common/row.cuh"

// x (rows, C), w (C), y (rows, C).
template <typename T>
__device__ __forceinline__ void row_in_registers(const T *x, const T *w, T *y, unsigned rows, int columns, float eps) {
  constexpr int PER_CHUNK = PER_16_BYTES<T>;
  __shared__ float scratch[MAX_ROW_THREADS<T> / WARP];
  const unsigned row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return; // all threads of the row
  const size_t start = size_t(row) * unsigned(columns);

  const RowChunks<T> x_chunks(x + start, columns), w_chunks(w, columns);
  float squares = 0.f;
  for_each_chunk<T>(columns, [&](int i, int) {
    float v[PER_CHUNK];
    x_chunks.unpack(i, v);
#pragma unroll
    for (int j = 0; j < PER_CHUNK; j++) squares += v[j] * v[j];
  });
  const float scale = 1.f / sqrtf(row_sum(squares, scratch) / columns + eps);

  for_each_chunk<T>(columns, [&](int i, int c) {
    float v[PER_CHUNK], weight[PER_CHUNK];
    x_chunks.unpack(i, v);
    w_chunks.unpack(i, weight);
#pragma unroll
    for (int j = 0; j < PER_CHUNK; j++) v[j] = v[j] * (scale * weight[j]);
    store16(y + start + c, v);
  });
}

extern "C" __global__ void __launch_bounds__(MAX_ROW_THREADS<float>)
    rms_norm_f32_level4(const float *x, const float *w, float *y, unsigned rows, unsigned columns, float eps) {
  row_in_registers(x, w, y, rows, columns, eps);
}

extern "C" __global__ void __launch_bounds__(MAX_ROW_THREADS<bf16>)
    rms_norm_bf16_level4(const bf16 *x, const bf16 *w, bf16 *y, unsigned rows, unsigned columns, float eps) {
  row_in_registers(x, w, y, rows, columns, eps);
}
