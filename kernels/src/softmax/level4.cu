// Level 4 of softmax: a warp a row, the row held in registers.
//
//   y = exp(scale * x - m) / sum(exp(scale * x - m)),  m = max(scale * x),  over a row of C columns
//
// Against level 3:
// - x becomes its exponential and then its probability in the same registers: one read, one write and one
//   exponential an element, where level 3 reads x three times and makes two exponentials.
// - 16 bytes a load, and all loads of a row at once.
// - A warp finds the maximum and the sum with five shuffles each; level 3 takes sixteen barriers of 256
//   threads. A block has eight rows, none of which waits for another.
// The bytes that have to cross the bus are the same: x in, y out.
//
// Launch: grid ceil(rows / rows of a block). A thread holds 32 floats: up to 1024 columns a row is a warp's,
// block (32, 8); beyond, it is a block's, (256, 1), which holds 8192. What is longer still, or does not lie
// on 16 bytes, is read three times as at level 3.
//
// To be faster: never write it, as attention does, which multiplies by the probabilities where they are.
#include "common/row.cuh"

// A row that its threads hold.
template <typename T>
__device__ __forceinline__ void held_row(const T *x, T *y, int columns, float scale, float *scratch) {
  constexpr int N = Share<T>::N;
  Share<T> row;
  row.load(x, columns);
  float max = -INFINITY, sum = 0.f;
  row.each(columns, [&](float(&v)[N], int, int) {
#pragma unroll
    for (int j = 0; j < N; j++) max = fmaxf(max, v[j] *= scale);
  });
  max = row_max(max, scratch);
  row.each(columns, [&](float(&v)[N], int, int) {
#pragma unroll
    for (int j = 0; j < N; j++) sum += v[j] = expf(v[j] - max);
  });
  const float share = 1.f / row_sum(sum, scratch);
  row.each(columns, [&](float(&v)[N], int c, int) {
#pragma unroll
    for (int j = 0; j < N; j++) v[j] *= share;
    store16(y + c, v);
  });
}

// A row of any length, wherever it lies: one element at a time, read and raised again in each sweep.
template <typename T>
__device__ __forceinline__ void any_row(const T *x, T *y, int columns, float scale, float *scratch) {
  float max = -INFINITY, sum = 0.f;
#pragma unroll 1
  for (int c = threadIdx.x; c < columns; c += blockDim.x) max = fmaxf(max, widen(x[c]) * scale);
  max = row_max(max, scratch);
#pragma unroll 1
  for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += expf(widen(x[c]) * scale - max);
  const float share = 1.f / row_sum(sum, scratch);
#pragma unroll 1
  for (int c = threadIdx.x; c < columns; c += blockDim.x) store(y + c, expf(widen(x[c]) * scale - max) * share);
}

template <typename T>
__device__ __forceinline__ void softmax(const T *x, T *y, int rows, int columns, float scale) {
  __shared__ float scratch[ROW_BLOCK / WARP];
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return; // all threads of the row
  const size_t start = size_t(row) * columns;
  if (aligned(x) && aligned(y) && Share<T>::fits(columns)) {
    held_row(x + start, y + start, columns, scale, scratch);
  } else {
    any_row(x + start, y + start, columns, scale, scratch);
  }
}

// x and y (rows, C).
extern "C" __global__ void __launch_bounds__(ROW_BLOCK)
    softmax_f32_level4(const float *x, float *y, unsigned rows, unsigned columns, float scale) {
  softmax(x, y, rows, columns, scale);
}

extern "C" __global__ void __launch_bounds__(ROW_BLOCK)
    softmax_bf16_level4(const bf16 *x, bf16 *y, unsigned rows, unsigned columns, float scale) {
  softmax(x, y, rows, columns, scale);
}
