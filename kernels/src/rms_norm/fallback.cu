// Level 4 of rms_norm, for rows that level4.cu cannot take: longer than 16384 columns, or not 16-byte aligned, because
// their length is no multiple of 16 bytes or a tensor is not aligned.
//
//   y = x / sqrt(mean(x * x) + eps) * w        over a row of C columns
//
// It reads one element at a time and a row twice, as level 3 does, and adds up with level 4's shuffles.
//
// Launch: as level4.cu, a block has one row if there are at most 128 rows, else up to eight. Threads per row: a power of
// two from 32 up, one per column and at most 256. A row that is a multiple of 16 bytes has level4.cu's number, at most
// 1024 for f32 and 512 for bf16.
#include "common/row.cuh"

// x (rows, C), w (C), y (rows, C).
template <typename T>
__device__ __forceinline__ void row_through_memory(const T *x, const T *w, T *y, unsigned rows, int columns,
                                                   float eps) {
  __shared__ float scratch[MAX_ROW_THREADS<T> / WARP];
  const unsigned row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return; // all threads of the row
  x += size_t(row) * unsigned(columns);
  y += size_t(row) * unsigned(columns);

  float squares = 0.f;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) {
    const float v = widen(x[c]);
    squares += v * v;
  }
  const float scale = 1.f / sqrtf(row_sum(squares, scratch) / columns + eps);
  for (int c = threadIdx.x; c < columns; c += blockDim.x) store(y + c, widen(x[c]) * (scale * widen(w[c])));
}

extern "C" __global__ void __launch_bounds__(MAX_ROW_THREADS<float>)
    rms_norm_f32_level4_fallback(const float *x, const float *w, float *y, unsigned rows, unsigned columns,
                                 float eps) {
  row_through_memory(x, w, y, rows, columns, eps);
}

extern "C" __global__ void __launch_bounds__(MAX_ROW_THREADS<bf16>)
    rms_norm_bf16_level4_fallback(const bf16 *x, const bf16 *w, bf16 *y, unsigned rows, unsigned columns, float eps) {
  row_through_memory(x, w, y, rows, columns, eps);
}
