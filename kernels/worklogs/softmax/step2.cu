// Softmax, step 2: the threads of a block share a row, and meet in shared memory.
//
// Against step 1: neighbouring threads read neighbouring elements, 32 of them in 4 sectors instead of 32. Each thread
// has the maximum of its own elements, and a tree joins them: in each round, half of the threads take the value of the
// other half. Thread 0's value is then that of the row.
//
// Launch: a block of 256 threads for one row.

constexpr unsigned THREADS = 256;

// Combines the values of all threads: `combine` of all of them, in every thread.
template <class F>
__device__ float reduce(float value, float *shared, F combine) {
    shared[threadIdx.x] = value;
    __syncthreads();
    for (unsigned half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            shared[threadIdx.x] = combine(shared[threadIdx.x], shared[threadIdx.x + half]);
        }
        __syncthreads();
    }
    float result = shared[0];
    __syncthreads(); // the next reduction stores into `shared`
    return result;
}

extern "C" __global__ void __launch_bounds__(THREADS)
softmax_step2(const float *x, float *y, unsigned M, unsigned N) {
    __shared__ float shared[THREADS];
    x += size_t(blockIdx.x) * N;
    y += size_t(blockIdx.x) * N;
    float max = -INFINITY;
    for (unsigned j = threadIdx.x; j < N; j += THREADS) max = fmaxf(max, x[j]);
    max = reduce(max, shared, [](float a, float b) { return fmaxf(a, b); });
    float sum = 0;
    for (unsigned j = threadIdx.x; j < N; j += THREADS) sum += __expf(x[j] - max);
    sum = reduce(sum, shared, [](float a, float b) { return a + b; });
    for (unsigned j = threadIdx.x; j < N; j += THREADS) y[j] = __expf(x[j] - max) / sum;
}
