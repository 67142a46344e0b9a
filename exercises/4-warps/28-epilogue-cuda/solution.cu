// y = silu(x·g) ⊙ (x·u), a linear layer with SwiGLU; silu(z) = z / (1 + exp(-z)).
// x (rows, K), g and u (K, columns), y (rows, columns).
//
// Launch: grid (blocks, rows), block (32). One thread per element of y. The block brings its row of
// x into shared memory in slices of 32.

constexpr int SLICE = 32;

__device__ float silu(float z) { return z / (1.f + expf(-z)); }

extern "C" __global__ void linear_swiglu(const float *x, const float *g, const float *u, float *y,
                                         int k, int columns) {
  __shared__ float slice[SLICE];
  int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y;
  bool is_inside = column < columns;
  // REGION: slices
  float gate = 0.f, up = 0.f;
  for (int first = 0; first < k; first += SLICE) {
    int count = min(SLICE, k - first);
    if (threadIdx.x < count) slice[threadIdx.x] = x[row * k + first + threadIdx.x];
    __syncthreads();
    for (int i = 0; is_inside && i < count; i++) {
      gate += slice[i] * g[(first + i) * columns + column];
      up += slice[i] * u[(first + i) * columns + column];
    }
    __syncthreads();
  }
  if (is_inside) y[row * columns + column] = silu(gate) * up;
  // END
}
