// Softmax, step 1: one thread computes one row, y_j = exp(x_j - max) / Σ_k exp(x_k - max).
//
// x and y (M, N), row-major, f32. All steps have these operands. Without the maximum, exp(89) would already be infinite
// in f32; with it, the largest exponent is 0.
//
// Three passes over the row: the maximum, the sum, the result. Neighbouring threads of a warp read neighbouring rows, so
// each read of 4 bytes fetches a sector of 32 bytes of its own.
//
// Launch: a block of 128 threads for 128 rows.

constexpr unsigned THREADS = 128;

extern "C" __global__ void __launch_bounds__(THREADS)
softmax_step1(const float *x, float *y, unsigned M, unsigned N) {
    unsigned row = blockIdx.x * THREADS + threadIdx.x;
    if (row >= M) return;
    x += size_t(row) * N;
    y += size_t(row) * N;
    float max = -INFINITY;
    for (unsigned j = 0; j < N; j++) max = fmaxf(max, x[j]);
    float sum = 0;
    for (unsigned j = 0; j < N; j++) sum += __expf(x[j] - max);
    for (unsigned j = 0; j < N; j++) y[j] = __expf(x[j] - max) / sum;
}
