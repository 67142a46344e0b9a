// The mean of each column of x, one thread per column: neighbouring threads read neighbouring words. And the mean of
// each row, one thread per row: neighbouring threads read words that are a row apart.

// ANCHOR: kernels
extern "C" __global__ void column_mean(const float *x, float *mean, int rows, int columns) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.f;
  if (c < columns) {
    for (int r = 0; r < rows; r++) sum += x[r * columns + c];
    mean[c] = sum / rows;
  }
}

extern "C" __global__ void row_mean(const float *x, float *mean, int rows, int columns) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.f;
  if (r < rows) {
    for (int c = 0; c < columns; c++) sum += x[r * columns + c];
    mean[r] = sum / columns;
  }
}
// ANCHOR_END: kernels
