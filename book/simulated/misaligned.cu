// Four columns a load, from rows that begin where they like.

// ANCHOR: kernel
extern "C" __global__ void row_mean(const float *x, float *mean, int columns) {
  __shared__ float partial[128];
  int t = threadIdx.x;
  float sum = 0.f;
// ANCHOR: broken
  const float4 *row = (const float4 *)(x + blockIdx.x * columns);
  for (int c = t; c < columns / 4; c += 128) sum += row[c].x + row[c].y + row[c].z + row[c].w;
// ANCHOR_END: broken
  partial[t] = sum;
  __syncthreads();
  if (t < 32) {
    sum = partial[t] + partial[t + 32] + partial[t + 64] + partial[t + 96];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
    if (t == 0) mean[blockIdx.x] = sum / columns;
  }
}
// ANCHOR_END: kernel
