// Level 4 of softmax: a warp a row, the row held in registers.
//
//   y = exp(scale * x - m) / sum(exp(scale * x - m)),  m = max(scale * x),  over a row of C columns
//
// Against level 3:
// - x becomes its exponential and then its probability in the same registers: one read, one write and one
//   exponential an element, where level 3 reads x three times and makes two exponentials.
// - 16 bytes a load, and all loads of a row at once.
// - A warp finds the maximum and the sum with five shuffles each; level 3 takes 19 barriers of 256
//   threads. A block has up to eight rows, none of which waits for another.
// The bytes that have to cross the bus are the same: x in, y out.
//
// Launch: grid ceil(rows / rows of a block), which are one up to 128 rows in all, and eight at the most. A thread holds
// four pieces of 16 bytes: up to 512 columns of f32 or 1024 of bf16 a row is a warp's, block (32, 8); a longer one is
// shared by as few warps as can hold it, (64, 4), (128, 2) and so on, up to 16384 columns. A longer one still has 1024
// threads, 512 in bf16; one that is no multiple of 16 bytes, at most 256. Both are read three times as at level 3.
//
// To be faster: never write it, as attention does, which multiplies by the probabilities where they are.
//
// Compiled for sm_75 and sm_80: from sm_80 on, one instruction rounds two f32 to bf16; older GPUs need about ten.
//
// Measured: softmax 16384x8192 f32 at 97% of the memory rate on an NVIDIA H200; see kernels/generated/softmax/level4.md.
#include "common/row.cuh"

// A row that its threads hold.
template <typename T>
__device__ __forceinline__ void held_row(const T *x, T *y, int columns, float scale, float *scratch) {
  constexpr int N = PER_16_BYTES<T>;
  const Pieces<T> of_x(x, columns);
  float v[ROW_PIECES][N], max = -INFINITY, sum = 0.f;
  each_piece<T>(columns, [&](int i, int) {
    of_x.get(i, v[i]);
#pragma unroll
    for (int j = 0; j < N; j++) max = fmaxf(max, v[i][j] *= scale);
  });
  max = row_max(max, scratch);
  each_piece<T>(columns, [&](int i, int) {
#pragma unroll
    for (int j = 0; j < N; j++) sum += v[i][j] = expf(v[i][j] - max);
  });
  const float share = 1.f / row_sum(sum, scratch);
  each_piece<T>(columns, [&](int i, int c) {
#pragma unroll
    for (int j = 0; j < N; j++) v[i][j] *= share;
    store16(y + c, v[i]);
  });
}

// A row of any length, wherever it lies: one element at a time, read and raised again in each sweep.
template <typename T>
__device__ __forceinline__ void any_row(const T *x, T *y, int columns, float scale, float *scratch) {
  float max = -INFINITY, sum = 0.f;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) max = fmaxf(max, widen(x[c]) * scale);
  max = row_max(max, scratch);
  for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += expf(widen(x[c]) * scale - max);
  const float share = 1.f / row_sum(sum, scratch);
  for (int c = threadIdx.x; c < columns; c += blockDim.x) store(y + c, expf(widen(x[c]) * scale - max) * share);
}

template <typename T>
__device__ __forceinline__ void softmax(const T *x, T *y, unsigned rows, int columns, float scale) {
  __shared__ float scratch[ROW_THREADS<T> / WARP];
  const unsigned row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return; // all threads of the row
  const size_t start = size_t(row) * unsigned(columns);
  if (aligned(x) && aligned(y) && Pieces<T>::fit(columns)) {
    held_row(x + start, y + start, columns, scale, scratch);
  } else {
    any_row(x + start, y + start, columns, scale, scratch);
  }
}

// x and y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<float>)
    softmax_f32_level4(const float *x, float *y, unsigned rows, unsigned columns, float scale) {
  softmax(x, y, rows, columns, scale);
}

// x and y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_THREADS<bf16>)
    softmax_bf16_level4(const bf16 *x, bf16 *y, unsigned rows, unsigned columns, float scale) {
  softmax(x, y, rows, columns, scale);
}
