// Fewer lanes at every step, and a mask that names all.

// ANCHOR: kernel
extern "C" __global__ void row_mean(const float *x, float *mean, int columns) {
  __shared__ float partial[128];
  int t = threadIdx.x;
  float sum = 0.f;
  for (int c = t; c < columns; c += 128) sum += x[blockIdx.x * columns + c];
  partial[t] = sum;
  __syncthreads();
  if (t < 32) {
    sum = partial[t] + partial[t + 32] + partial[t + 64] + partial[t + 96];
// ANCHOR: broken
    for (int d = 16; d > 0; d /= 2) {
      if (t < d) sum += __shfl_down_sync(0xffffffff, sum, d);
    }
// ANCHOR_END: broken
    if (t == 0) mean[blockIdx.x] = sum / columns;
  }
}
// ANCHOR_END: kernel
