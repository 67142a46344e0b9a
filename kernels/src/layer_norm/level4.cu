// Level 4 of layer_norm: one warp per row, the row held in registers.
//
//   m = mean(x)     v = mean((x - m)^2)     y = (x - m) / sqrt(v + eps) * w + b        over a row of C columns
//
// Compared with level 3:
// - x stays in registers between its three uses; level 3 reads it twice more from a cache.
// - A load has 16 bytes, and all loads of a row come at once: a thread waits for memory once, not once in each turn of a
//   loop. w and b come after the mean, and are in flight while the threads sum the squares. A thread has 64 registers
//   here, and x, w and b take 48: if all are loaded first, ptxas waits for the first half of x before it loads the rest.
// - A warp adds up with five shuffles, twice; level 3 takes 19 barriers of 256 threads. A block has up to
//   eight rows, none of which waits for another.
// The bytes that have to cross the bus are the same: x in, y out.
//
// Launch: grid ceil(rows / rows of a block), which are one up to 128 rows in all, and eight at most. A thread holds
// four chunks of 16 bytes: up to 512 columns of f32 or 1024 of bf16 a row is a warp's, block (32, 8); a longer one is
// shared by as few warps as can hold it, (64, 4), (128, 2) and so on, up to 16384 columns. A longer one still has 1024
// threads, 512 in bf16; one that is no multiple of 16 bytes has 256 at most. Both go through memory as at level 3.
//
// To be faster: keep y on the chip for the matmul that reads it, in one launch with it.
//
// Compiled for sm_75 and sm_80: from sm_80 on, one instruction rounds two f32 to bf16; older GPUs need about ten.
//
// Measured: layer_norm 16384x8192 f32 at 95% of the memory rate on an NVIDIA H200; see kernels/generated/layer_norm/level4.md.
#include "common/row.cuh"

// A row that its threads hold.
template <typename T>
__device__ __forceinline__ void held_row(const T *x, const T *w, const T *b, T *y, int columns, float eps,
                                         float *scratch) {
  constexpr int N = PER_16_BYTES<T>;
  Pieces<T> of_x(x, columns);
  of_x.clear_outside(columns);
  float total = 0.f, squares = 0.f;
  each_piece<T>(columns, [&](int i, int) {
    float v[N];
    of_x.get(i, v);
#pragma unroll
    for (int j = 0; j < N; j++) total += v[j];
  });
  const float mean = row_sum(total, scratch) / columns;
  const Pieces<T> of_w(w, columns), of_b(b, columns);
  each_piece<T>(columns, [&](int i, int) {
    float v[N];
    of_x.get(i, v);
#pragma unroll
    for (int j = 0; j < N; j++) squares += (v[j] - mean) * (v[j] - mean);
  });
  const float scale = 1.f / sqrtf(row_sum(squares, scratch) / columns + eps);

  each_piece<T>(columns, [&](int i, int c) {
    float v[N], weight[N], bias[N];
    of_x.get(i, v);
    of_w.get(i, weight);
    of_b.get(i, bias);
#pragma unroll
    for (int j = 0; j < N; j++) v[j] = (v[j] - mean) * (scale * weight[j]) + bias[j];
    store16(y + c, v);
  });
}

// A row of any length at any address: one element at a time, read three times.
template <typename T>
__device__ __forceinline__ void any_row(const T *x, const T *w, const T *b, T *y, int columns, float eps,
                                        float *scratch) {
  float total = 0.f, squares = 0.f;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) total += widen(x[c]);
  const float mean = row_sum(total, scratch) / columns;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) {
    const float deviation = widen(x[c]) - mean;
    squares += deviation * deviation;
  }
  const float scale = 1.f / sqrtf(row_sum(squares, scratch) / columns + eps);
  for (int c = threadIdx.x; c < columns; c += blockDim.x) {
    store(y + c, (widen(x[c]) - mean) * scale * widen(w[c]) + widen(b[c]));
  }
}

template <typename T>
__device__ __forceinline__ void layer_norm(const T *x, const T *w, const T *b, T *y, unsigned rows, int columns,
                                           float eps) {
  __shared__ float scratch[ROW_THREADS<T> / WARP];
  const unsigned row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return; // all threads of the row
  const size_t start = size_t(row) * unsigned(columns);
  if (aligned(x) && aligned(w) && aligned(b) && aligned(y) && Pieces<T>::fit(columns)) {
    held_row(x + start, w, b, y + start, columns, eps, scratch);
  } else {
    any_row(x + start, w, b, y + start, columns, eps, scratch);
  }
}

// x (rows, C), w and b (C), y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<float>)
    layer_norm_f32_level4(const float *x, const float *w, const float *b, float *y, unsigned rows,
                          unsigned columns, float eps) {
  layer_norm(x, w, b, y, rows, columns, eps);
}

// x (rows, C), w and b (C), y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<bf16>)
    layer_norm_bf16_level4(const bf16 *x, const bf16 *w, const bf16 *b, bf16 *y, unsigned rows,
                           unsigned columns, float eps) {
  layer_norm(x, w, b, y, rows, columns, eps);
}
