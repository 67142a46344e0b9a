// Level 4 of softmax: the row held in the registers of one warp, or of several.
//
//   y = exp(scale * x - m) / sum(exp(scale * x - m)),  m = max(scale * x),  over a row of C columns
//
// Compared with level 3:
// - x becomes its exponential and then its probability in the same registers: one read, one write and one
//   exponential per element. Level 3 reads x three times and computes two exponentials.
// - A load has 16 bytes, and all loads of a row come at once.
// - A warp finds the maximum and the sum with five shuffles each; level 3 takes 19 barriers of 256
//   threads. A block has up to eight rows, none of which waits for another.
// The bytes that memory has to move are the same as long as a cache has x when level 3 reads it again: x in, y out.
//
// Launch: a thread holds up to four chunks of 16 bytes of its row, so one warp holds a row of up to 512 columns of f32
// or 1024 of bf16. A longer row is shared by 2, 4, 8 … warps, up to 16384 columns. Block (threads of a row, rows): one
// row if there are at most 128, else up to eight rows of one warp, four of two, and so on. Every row is 16-byte
// aligned; the host launches fallback.cu for all others.
//
// To be faster: do not write y; attention multiplies by the probabilities while they are in registers.
//
// Compiled for sm_75 and sm_80: from sm_80 on, one instruction rounds two f32 to bf16; older GPUs need about ten.
//
// Measured on an NVIDIA H200: softmax 16384x8192 f32 at 97% of the memory bandwidth; see kernels/generated/softmax/level4.md.
#include "common/row.cuh"

// x and y (rows, C).
template <typename T>
__device__ __forceinline__ void row_in_registers(const T *x, T *y, unsigned rows, int columns, float scale) {
  constexpr int PER_CHUNK = PER_16_BYTES<T>;
  __shared__ float scratch[MAX_ROW_THREADS<T> / WARP];
  const unsigned row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return; // all threads of the row
  const size_t start = size_t(row) * unsigned(columns);

  const RowChunks<T> x_chunks(x + start, columns);
  float v[CHUNKS_PER_THREAD][PER_CHUNK], max = -INFINITY, sum = 0.f;
  for_each_chunk<T>(columns, [&](int i, int) {
    x_chunks.unpack(i, v[i]);
#pragma unroll
    for (int j = 0; j < PER_CHUNK; j++) max = fmaxf(max, v[i][j] *= scale);
  });
  max = row_max(max, scratch);

  for_each_chunk<T>(columns, [&](int i, int) {
#pragma unroll
    for (int j = 0; j < PER_CHUNK; j++) sum += v[i][j] = expf(v[i][j] - max);
  });
  const float share = 1.f / row_sum(sum, scratch);

  for_each_chunk<T>(columns, [&](int i, int c) {
#pragma unroll
    for (int j = 0; j < PER_CHUNK; j++) v[i][j] *= share;
    store16(y + start + c, v[i]);
  });
}

extern "C" __global__ void __launch_bounds__(MAX_ROW_THREADS<float>)
    softmax_f32_level4(const float *x, float *y, unsigned rows, unsigned columns, float scale) {
  row_in_registers(x, y, rows, columns, scale);
}

extern "C" __global__ void __launch_bounds__(MAX_ROW_THREADS<bf16>)
    softmax_bf16_level4(const bf16 *x, bf16 *y, unsigned rows, unsigned columns, float scale) {
  row_in_registers(x, y, rows, columns, scale);
}
