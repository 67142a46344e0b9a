// The maximum of each row of x (rows, columns): y_r = max_c x_rc. One warp per row.
//
// Launch: grid (rows), block (32).

// REGION: warp_max
//| // Lane 0 gets the maximum over the warp, by five __shfl_xor_sync(mask, value, bit).
//| __device__ float warp_max(float value) {
//|   return value;
//| }
__device__ float warp_max(float value) {
  for (int bit = 16; bit > 0; bit /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, bit));
  }
  return value;
}
// END

extern "C" __global__ void row_max(const float *x, float *y, int columns) {
  const float *row = x + size_t(blockIdx.x) * columns;
  // REGION: columns
  //|   // The maximum of this lane's columns of `row`: neighbours for neighbouring lanes. Which value has a lane without one?
  //|   float max = 0.f;
  float max = -INFINITY;
  for (int column = threadIdx.x; column < columns; column += 32) {
    max = fmaxf(max, row[column]);
  }
  // END
  max = warp_max(max);
  if (threadIdx.x == 0) {
    y[blockIdx.x] = max;
  }
}
