// Level 3 of linear, in CUDA C++ to be read: the kernel of linear.ptx, with the same sums in the same order, but without
// its registers and addresses. The host launches linear.ptx, whose header says what the tile is for and where it loses. A
// test checks that both give the same bits.
//
//   y = x·wᵀ + b + r        x (M, K), w (N, K), b (N) or none, the residual r (M, N) or none, y (M, N), all row-major
//
// Read next: common/gemm/tile_f32.cuh (level 4), where a thread computes 8×8 elements of y instead of 4×1, so that a
// word read from shared memory serves more of them, and the next step is in flight while this one is computed.
constexpr int TILE = 32;           // rows of x, rows of w and columns of a step
constexpr int THREADS_Y = 8;       // threads (32, 8): a thread has one column of y, and every eighth row
constexpr int ROWS = TILE / THREADS_Y;
constexpr int PITCH = TILE + 4;    // words from row to row: neighbouring rows lie in different banks

// The parameters of linear.ptx in their order, so that one launch serves both.
extern "C" __global__ void __launch_bounds__(TILE *THREADS_Y)
    linear_f32_level3(const float *x, const float *w, const float *b, const float *residual, float *y, unsigned m,
                      unsigned n, unsigned k, unsigned /* row_bytes */) {
  __shared__ __align__(16) float xs[TILE][PITCH], ws[TILE][PITCH];
  const unsigned tx = threadIdx.x, ty = threadIdx.y;
  const unsigned tiles_n = (n + TILE - 1) / TILE;
  const unsigned tile_m = blockIdx.x / tiles_n * TILE, tile_n = blockIdx.x % tiles_n * TILE;

  float sum[ROWS] = {};
  for (unsigned step = 0; step < k; step += TILE) {
    // The block fetches 32 columns of its 32 rows of x and w; a warp reads 32 neighbouring elements of a row. Zeros
    // past the last column; a row past the last is the last again, and what comes of it is not written.
    const unsigned column = step + tx;
    for (int i = 0; i < ROWS; i++) {
      const unsigned row = ty + i * THREADS_Y;
      const unsigned row_x = min(tile_m + row, m - 1), row_w = min(tile_n + row, n - 1);
      xs[row][tx] = column < k ? x[size_t(row_x) * k + column] : 0.f;
      ws[row][tx] = column < k ? w[size_t(row_w) * k + column] : 0.f;
    }
    __syncthreads();
    for (int c = 0; c < TILE; c++)
      for (int i = 0; i < ROWS; i++) sum[i] += xs[ty + i * THREADS_Y][c] * ws[tx][c];
    __syncthreads(); // the next step writes where others may still read
  }

  const unsigned column = tile_n + tx;
  if (column >= n) return;
  const float bias = b ? b[column] : 0.f;
  for (int i = 0; i < ROWS; i++) {
    const unsigned row = tile_m + ty + i * THREADS_Y;
    if (row >= m) return;
    const size_t at = size_t(row) * n + column;
    const float value = sum[i] + bias;
    y[at] = residual ? value + residual[at] : value;
  }
}
