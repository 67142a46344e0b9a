// Level 4 of softmax, for rows that level4.cu cannot take: longer than 16384 columns, or not 16-byte aligned, because
// their length is no multiple of 16 bytes or a tensor is not aligned.
//
//   y = exp(scale * x - m) / sum(exp(scale * x - m)),  m = max(scale * x),  over a row of C columns
//
// It reads one element at a time and a row three times, as level 3 does, and computes each exponential twice. The maximum
// and the sum come from level 4's shuffles.
//
// Launch: as level4.cu, a block has one row if there are at most 128 rows, else up to eight. Threads per row: a power of
// two from 32 up, one per column and at most 256. A row that is a multiple of 16 bytes has level4.cu's number, at most
// 1024 for f32 and 512 for bf16.
#include "common/row.cuh"

// x and y (rows, C).
template <typename T>
__device__ __forceinline__ void row_through_memory(const T *x, T *y, unsigned rows, int columns, float scale) {
  __shared__ float scratch[MAX_ROW_THREADS<T> / WARP];
  const unsigned row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return; // all threads of the row
  x += size_t(row) * unsigned(columns);
  y += size_t(row) * unsigned(columns);

  float max = -INFINITY, sum = 0.f;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) max = fmaxf(max, widen(x[c]) * scale);
  max = row_max(max, scratch);
  for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += expf(widen(x[c]) * scale - max);
  const float share = 1.f / row_sum(sum, scratch);
  for (int c = threadIdx.x; c < columns; c += blockDim.x) store(y + c, expf(widen(x[c]) * scale - max) * share);
}

extern "C" __global__ void __launch_bounds__(MAX_ROW_THREADS<float>)
    softmax_f32_level4_fallback(const float *x, float *y, unsigned rows, unsigned columns, float scale) {
  row_through_memory(x, y, rows, columns, scale);
}

extern "C" __global__ void __launch_bounds__(MAX_ROW_THREADS<bf16>)
    softmax_bf16_level4_fallback(const bf16 *x, bf16 *y, unsigned rows, unsigned columns, float scale) {
  row_through_memory(x, y, rows, columns, scale);
}
