// Level 3 of rms_norm, in CUDA C++ to be read: the kernel of level3.ptx, without its registers and addresses. It passes
// over a row twice. Read next: level4.cu, which keeps the row in registers.
//
//   y = x / sqrt(mean(x * x) + eps) * w        over a row of C columns
//
// level3.ptx is the kernel that runs, and its header says more. A test holds the two to one answer, bit by bit.
//
// Launch: grid (rows), block (256).

constexpr int THREADS = 256;

// x (rows, C), w (C), y (rows, C).
extern "C" __global__ void __launch_bounds__(THREADS)
    rms_norm_f32_level3(const float *x, const float *w, float *y, unsigned columns, float eps) {
  __shared__ float partial[THREADS];
  x += size_t(blockIdx.x) * columns;
  y += size_t(blockIdx.x) * columns;

  // First pass: each thread sums the squares of its own columns.
  float squares = 0.f;
  for (unsigned c = threadIdx.x; c < columns; c += THREADS) squares = fmaf(x[c], x[c], squares);

  // A tree in shared memory: 256 sums become 128, 64, ... 1. In each step the first half of the threads that are left
  // adds the sums of the second half.
  partial[threadIdx.x] = squares;
  for (int stride = THREADS / 2; stride > 0; stride /= 2) {
    __syncthreads();
    if (threadIdx.x < stride) partial[threadIdx.x] += partial[threadIdx.x + stride];
  }
  __syncthreads();
  const float scale = 1.f / sqrtf(partial[0] / columns + eps);

  // Second pass, over the same columns.
  for (unsigned c = threadIdx.x; c < columns; c += THREADS) y[c] = x[c] * scale * w[c];
}
