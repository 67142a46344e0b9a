// y = a·b: a (rows, inner), b (inner, columns), y (rows, columns), through tiles in shared memory.
//
// Launch: grid (⌈columns/32⌉, ⌈rows/32⌉), block (32, 32), for 32×32 elements of y.

constexpr int TILE = 32;

extern "C" __global__ void matmul(const float *a, const float *b, float *y,
                                  int rows, int inner, int columns) {
  __shared__ float a_tile[TILE][TILE];
  __shared__ float b_tile[TILE][TILE];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * TILE + ty, column = blockIdx.x * TILE + tx;
  // REGION: matmul
  float sum = 0;
  for (int k0 = 0; k0 < inner; k0 += TILE) {
    a_tile[ty][tx] = row < rows && k0 + tx < inner ? a[row * inner + k0 + tx] : 0;
    b_tile[ty][tx] = k0 + ty < inner && column < columns ? b[(k0 + ty) * columns + column] : 0;
    __syncthreads();
    for (int k = 0; k < TILE; k++) {
      sum += a_tile[ty][k] * b_tile[k][tx];
    }
    __syncthreads();
  }
  if (row < rows && column < columns) {
    y[row * columns + column] = sum;
  }
  // END
}
