// Level 4 of rms_norm: one warp per row, the row held in registers.
//
//   y = x / sqrt(mean(x * x) + eps) * w        over a row of C columns
//
// Compared with level 3:
// - x stays in registers between its two uses; level 3 reads it again from a cache.
// - A load has 16 bytes, and all loads of x and w come before the sum: a thread waits for memory once, not once in each
//   turn of a loop, and then again for w.
// - A warp adds up its squares with five shuffles; level 3 takes nine barriers of 256 threads. A block
//   has up to eight rows, none of which waits for another.
// The bytes that have to cross the bus are the same: x in, y out.
//
// Launch: grid ceil(rows / rows of a block), which are one up to 128 rows in all, and eight at most. A thread holds
// four chunks of 16 bytes: up to 512 columns of f32 or 1024 of bf16 a row is a warp's, block (32, 8); a longer one is
// shared by as few warps as can hold it, (64, 4), (128, 2) and so on, up to 16384 columns. A longer one still has 1024
// threads, 512 in bf16; one that is no multiple of 16 bytes has 256 at most. Both go through memory as at level 3.
//
// To be faster: keep y on the chip for the matmul that reads it, in one launch with it.
//
// Compiled for sm_75 and sm_80: from sm_80 on one instruction rounds two f32 to bf16, before it takes some ten.
//
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit e0e5a46be, 2026-11-25):
//   rms_norm 1x512 f32: level 2 4.4, level 3 1.9, level 4 1.4, copy 1.0, PyTorch 1.8, PyTorch compile 1.4
//   rms_norm 128x512 f32: level 2 4.7, level 3 2.2, level 4 1.6, copy 1.1, PyTorch 2.1, PyTorch compile 1.5
//   rms_norm 1024x1024 f32: level 2 8.3, level 3 3.5, level 4 2.8, copy 2.2, PyTorch 3.7, PyTorch compile 2.8
//   rms_norm 4096x2048 f32: level 2 46.5, level 3 23.4, level 4 17.4, copy 17.0, PyTorch 20.1, PyTorch compile 19.8
//   rms_norm 4096x4096 f32: level 2 50.8, level 3 44.4, level 4 33.8, copy 33.1, PyTorch 44.9, PyTorch compile 33.8
//   rms_norm 16384x8192 f32: level 2 318.0, level 3 393.7, level 4 254.6, copy 254.8, PyTorch 385.5, PyTorch compile 250.9
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit 207e47f70, 2026-11-25):
//   rms_norm 1x512 bf16: level 2 6.0, level 3 1.9, level 4 1.4, copy 0.9, PyTorch 1.5, PyTorch compile 1.3
//   rms_norm 128x512 bf16: level 2 6.8, level 3 2.2, level 4 1.6, copy 1.1, PyTorch 1.9, PyTorch compile 1.7
//   rms_norm 1024x1024 bf16: level 2 5.8, level 3 3.6, level 4 2.3, copy 1.5, PyTorch 2.8, PyTorch compile 2.4
//   rms_norm 4096x2048 bf16: level 2 26.0, level 3 14.0, level 4 6.5, copy 5.5, PyTorch 9.8, PyTorch compile 8.9
//   rms_norm 4096x4096 bf16: level 2 55.7, level 3 30.5, level 4 17.5, copy 17.1, PyTorch 23.7, PyTorch compile 18.2
//   rms_norm 16384x8192 bf16: level 2 375.4, level 3 195.1, level 4 129.8, copy 126.9, PyTorch 198.6, PyTorch compile 126.5
#include "common/row.cuh"

// A row that its threads hold.
template <typename T>
__device__ __forceinline__ void held_row(const T *x, const T *w, T *y, int columns, float eps, float *scratch) {
  constexpr int N = PER_16_BYTES<T>;
  const Pieces<T> of_x(x, columns), of_w(w, columns);
  float squares = 0.f;
  each_piece<T>(columns, [&](int i, int) {
    float v[N];
    of_x.get(i, v);
#pragma unroll
    for (int j = 0; j < N; j++) squares += v[j] * v[j];
  });
  const float scale = 1.f / sqrtf(row_sum(squares, scratch) / columns + eps);

  each_piece<T>(columns, [&](int i, int c) {
    float v[N], weight[N];
    of_x.get(i, v);
    of_w.get(i, weight);
#pragma unroll
    for (int j = 0; j < N; j++) v[j] = v[j] * (scale * weight[j]);
    store16(y + c, v);
  });
}

// A row of any length at any address: one element at a time, read twice.
template <typename T>
__device__ __forceinline__ void any_row(const T *x, const T *w, T *y, int columns, float eps, float *scratch) {
  float squares = 0.f;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) {
    const float v = widen(x[c]);
    squares += v * v;
  }
  const float scale = 1.f / sqrtf(row_sum(squares, scratch) / columns + eps);
  for (int c = threadIdx.x; c < columns; c += blockDim.x) store(y + c, widen(x[c]) * (scale * widen(w[c])));
}

template <typename T>
__device__ __forceinline__ void rms_norm(const T *x, const T *w, T *y, unsigned rows, int columns, float eps) {
  __shared__ float scratch[ROW_THREADS<T> / WARP];
  const unsigned row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return; // all threads of the row
  const size_t start = size_t(row) * unsigned(columns);
  if (aligned(x) && aligned(w) && aligned(y) && Pieces<T>::fit(columns)) {
    held_row(x + start, w, y + start, columns, eps, scratch);
  } else {
    any_row(x + start, w, y + start, columns, eps, scratch);
  }
}

// x (rows, C), w (C), y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<float>)
    rms_norm_f32_level4(const float *x, const float *w, float *y, unsigned rows, unsigned columns,
                        float eps) {
  rms_norm(x, w, y, rows, columns, eps);
}

// x (rows, C), w (C), y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<bf16>)
    rms_norm_bf16_level4(const bf16 *x, const bf16 *w, bf16 *y, unsigned rows, unsigned columns,
                         float eps) {
  rms_norm(x, w, y, rows, columns, eps);
}
