// Level 4 of layer_norm: the row held in the registers of one warp, or of several.
//
//   m = mean(x)     v = mean((x - m)^2)     y = (x - m) / sqrt(v + eps) * w + b        over a row of C columns
//
// Compared with level 3:
// - x stays in registers between its three uses; level 3 reads it twice more from a cache.
// - A load has 16 bytes, and all loads of a row come at once: a thread waits for memory once, not in each turn of a loop.
//   w and b come after the mean, and are in flight while the threads sum the squares. In f32 a thread has 64 registers,
//   and x, w and b take 48: if all are loaded first, ptxas waits for the first half of x before it loads the rest.
// - A warp adds up with five shuffles, twice; level 3 takes 19 barriers of 256 threads. A block has up to
//   eight rows, none of which waits for another.
// The bytes that memory has to move are the same as long as a cache has x when level 3 reads it again: x in, y out.
//
// Launch: a thread holds up to four chunks of 16 bytes of its row, so one warp holds a row of up to 512 columns of f32
// or 1024 of bf16. A longer row is shared by 2, 4, 8 … warps, up to 16384 columns. Block (threads of a row, rows): one
// row if there are at most 128, else up to eight rows of one warp, four of two, and so on. Every row is 16-byte
// aligned; the host launches fallback.cu for all others.
//
// To be faster: keep y on the chip for the matmul that reads it, in one launch with it.
//
// Compiled for sm_75 and sm_80: from sm_80 on, one instruction rounds two f32 to bf16; older GPUs need about ten.
//
// Measured on an NVIDIA H200: layer_norm 16384x8192 f32 at 95% of the memory bandwidth; see kernels/generated/layer_norm/level4.md.
#include "common/row.cuh"

// x (rows, C), w and b (C), y (rows, C).
template <typename T>
__device__ __forceinline__ void row_in_registers(const T *x, const T *w, const T *b, T *y, unsigned rows, int columns,
                                                 float eps) {
  constexpr int PER_CHUNK = PER_16_BYTES<T>;
  __shared__ float scratch[MAX_ROW_THREADS<T> / WARP];
  const unsigned row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return; // all threads of the row
  const size_t start = size_t(row) * unsigned(columns);

  RowChunks<T> x_chunks(x + start, columns);
  x_chunks.zero_outside(columns);
  float total = 0.f, squares = 0.f;
  for_each_chunk<T>(columns, [&](int i, int) {
    float v[PER_CHUNK];
    x_chunks.unpack(i, v);
#pragma unroll
    for (int j = 0; j < PER_CHUNK; j++) total += v[j];
  });
  const float mean = row_sum(total, scratch) / columns;

  const RowChunks<T> w_chunks(w, columns), b_chunks(b, columns);
  for_each_chunk<T>(columns, [&](int i, int) {
    float v[PER_CHUNK];
    x_chunks.unpack(i, v);
#pragma unroll
    for (int j = 0; j < PER_CHUNK; j++) squares += (v[j] - mean) * (v[j] - mean);
  });
  const float scale = 1.f / sqrtf(row_sum(squares, scratch) / columns + eps);

  for_each_chunk<T>(columns, [&](int i, int c) {
    float v[PER_CHUNK], weight[PER_CHUNK], bias[PER_CHUNK];
    x_chunks.unpack(i, v);
    w_chunks.unpack(i, weight);
    b_chunks.unpack(i, bias);
#pragma unroll
    for (int j = 0; j < PER_CHUNK; j++) v[j] = (v[j] - mean) * (scale * weight[j]) + bias[j];
    store16(y + start + c, v);
  });
}

extern "C" __global__ void __launch_bounds__(MAX_ROW_THREADS<float>)
    layer_norm_f32_level4(const float *x, const float *w, const float *b, float *y, unsigned rows, unsigned columns,
                          float eps) {
  row_in_registers(x, w, b, y, rows, columns, eps);
}

extern "C" __global__ void __launch_bounds__(MAX_ROW_THREADS<bf16>)
    layer_norm_bf16_level4(const bf16 *x, const bf16 *w, const bf16 *b, bf16 *y, unsigned rows, unsigned columns,
                           float eps) {
  row_in_registers(x, w, b, y, rows, columns, eps);
}
