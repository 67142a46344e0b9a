// The mean of each row of x, one block per row: every thread adds up its columns, shared memory brings the sums of
// 128 threads to the first warp, and shuffles bring those of its lanes to lane 0.
//
// The other files of this folder are this kernel with one mistake each.

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
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
    if (t == 0) mean[blockIdx.x] = sum / columns;
  }
}
// ANCHOR_END: kernel
