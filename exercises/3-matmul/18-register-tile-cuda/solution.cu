// y = a·b: a (rows, inner), b (inner, columns), y (rows, columns). A thread computes 4×4 elements.
//
// Launch: grid (⌈columns/32⌉, ⌈rows/32⌉), block (8, 8), for 32×32 elements of y.

constexpr int TILE = 32, STEP = 8, THREADS = 64;

// REGION: owner
//| // The rows and columns of the block's tile that a thread computes: i and j count from 0 to 3.
//| __device__ int row_of(int ty, int i) { return 4 * ty + i; }
//| __device__ int column_of(int tx, int j) { return 4 * tx + j; }
// Neighbouring threads have neighbouring rows and columns: what they read lies in different banks.
__device__ int row_of(int ty, int i) { return ty + 8 * i; }
__device__ int column_of(int tx, int j) { return tx + 8 * j; }
// END

extern "C" __global__ void matmul(const float *a, const float *b, float *y,
                                  int rows, int inner, int columns) {
  __shared__ float a_tile[TILE][STEP];
  __shared__ float b_tile[STEP][TILE];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row0 = blockIdx.y * TILE, column0 = blockIdx.x * TILE;

  float sum[4][4] = {};
  for (int k0 = 0; k0 < inner; k0 += STEP) {
    for (int i = ty * 8 + tx; i < TILE * STEP; i += THREADS) {
      int row = row0 + i / STEP, k = k0 + i % STEP;
      a_tile[i / STEP][i % STEP] = row < rows && k < inner ? a[row * inner + k] : 0;
      int below = k0 + i / TILE, column = column0 + i % TILE;
      b_tile[i / TILE][i % TILE] = below < inner && column < columns ? b[below * columns + column] : 0;
    }
    __syncthreads();
    // REGION: multiply
    //|     // For each k of the step: read 4 words of a_tile and 4 of b_tile, and add their
    //|     // 16 products to sum[i][j].
    for (int k = 0; k < STEP; k++) {
      float x[4], w[4];
      for (int i = 0; i < 4; i++) x[i] = a_tile[row_of(ty, i)][k];
      for (int j = 0; j < 4; j++) w[j] = b_tile[k][column_of(tx, j)];
      for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++) sum[i][j] += x[i] * w[j];
      }
    }
    // END
    __syncthreads();
  }

  // REGION: store
  //|   // Right as it is. With other rows and columns, you may write several words at once.
  //|   for (int i = 0; i < 4; i++) {
  //|     for (int j = 0; j < 4; j++) {
  //|       int row = row0 + row_of(ty, i), column = column0 + column_of(tx, j);
  //|       if (row < rows && column < columns) y[row * columns + column] = sum[i][j];
  //|     }
  //|   }
  for (int i = 0; i < 4; i++) {
    int row = row0 + row_of(ty, i);
    for (int j = 0; j < 4; j++) {
      int column = column0 + column_of(tx, j);
      if (row < rows && column < columns) y[row * columns + column] = sum[i][j];
    }
  }
  // END
}
