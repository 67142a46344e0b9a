// The sum of each row of x (rows, columns): y_r = Σ_c x_rc. One warp per row.
//
// Launch: grid (rows), block (32).

// REGION: warp_sum
//| // Lane 0 gets the sum over the warp, by five __shfl_xor_sync(mask, value, bit).
//| __device__ float warp_sum(float value) {
//|   return value;
//| }
__device__ float warp_sum(float value) {
  for (int bit = 16; bit > 0; bit /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, bit);
  }
  return value;
}
// END

extern "C" __global__ void row_sum(const float *x, float *y, int columns) {
  const float *row = x + size_t(blockIdx.x) * columns;
  float sum = 0.f;
  // REGION: columns
  //|   // Add up this lane's columns of `row`: neighbours for neighbouring lanes.
  for (int column = threadIdx.x; column < columns; column += 32) {
    sum += row[column];
  }
  // END
  sum = warp_sum(sum);
  if (threadIdx.x == 0) {
    y[blockIdx.x] = sum;
  }
}
