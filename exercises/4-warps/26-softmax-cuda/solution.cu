// Softmax over each row of x (rows, columns), one warp per row: exp(x - max) / sum exp(x - max).
//
// Launch: grid (rows), block (32). One pass over the row computes the maximum and the sum (online
// softmax), a second one the quotients.

// Maximum m of the numbers so far, and the sum of exp(x - m); -infinity and 0 if there is none.
struct Stats {
  float max;
  float sum;
};

// REGION: merge
//| // Statistics of the numbers of both. A part without numbers has the sum 0.
//| __device__ Stats merge(Stats a, Stats b) {
//|   return {fmaxf(a.max, b.max), a.sum + b.sum};
//| }
__device__ float scaled(Stats s, float max) {
  return s.sum == 0.f ? 0.f : s.sum * expf(s.max - max);
}

__device__ Stats merge(Stats a, Stats b) {
  float max = fmaxf(a.max, b.max);
  return {max, scaled(a, max) + scaled(b, max)};
}
// END

extern "C" __global__ void softmax(const float *x, float *y, int columns) {
  const float *row = x + size_t(blockIdx.x) * columns;
  float *out = y + size_t(blockIdx.x) * columns;
  Stats stats = {-INFINITY, 0.f};
  for (int column = threadIdx.x; column < columns; column += 32) {
    stats = merge(stats, {row[column], 1.f});
  }
  // REGION: lanes
  //|   // Merge the statistics of the 32 lanes, so that each lane has those of the row.
  for (int bit = 16; bit > 0; bit /= 2) {
    Stats other = {__shfl_xor_sync(0xffffffff, stats.max, bit), __shfl_xor_sync(0xffffffff, stats.sum, bit)};
    stats = merge(stats, other);
  }
  // END
  for (int column = threadIdx.x; column < columns; column += 32) {
    out[column] = expf(row[column] - stats.max) / stats.sum;
  }
}
