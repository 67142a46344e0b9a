// Attention, step 2: one launch. A block computes one query; its scores stay in shared memory.
//
// Against step 1: no score crosses memory, and two launches are gone. What is left: the S scores of a query have to fit
// into shared memory, and every query reads all keys and values by itself.
//
// Launch: (T, H) blocks of 128 threads, with S floats of dynamic shared memory.

constexpr unsigned D = 64, THREADS = 128;
constexpr float SCALE = 0.125f; // 1/√D

// `combine` of the values of all threads, in every thread.
template <class F>
__device__ float reduce(float value, float *shared, F combine) {
    shared[threadIdx.x] = value;
    __syncthreads();
    for (unsigned half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) shared[threadIdx.x] = combine(shared[threadIdx.x], shared[threadIdx.x + half]);
        __syncthreads();
    }
    float result = shared[0];
    __syncthreads(); // the next reduction stores into `shared`
    return result;
}

extern "C" __global__ void __launch_bounds__(THREADS)
attention_step2(const float *q, const float *k, const float *v, float *y, unsigned T, unsigned S) {
    extern __shared__ float scores[];
    __shared__ float query[D], shared[THREADS];
    unsigned t = blockIdx.x, h = blockIdx.y;
    q += (size_t(h) * T + t) * D;
    k += size_t(h) * S * D;
    v += size_t(h) * S * D;
    y += (size_t(h) * T + t) * D;
    if (threadIdx.x < D) query[threadIdx.x] = q[threadIdx.x] * SCALE;
    __syncthreads();

    // ANCHOR: body
    float max = -INFINITY, sum = 0;
    for (unsigned s = threadIdx.x; s < S; s += THREADS) {
        float score = 0;
        for (unsigned c = 0; c < D; c++) score += query[c] * k[s * D + c];
        scores[s] = score;
        max = fmaxf(max, score);
    }
    max = reduce(max, shared, [](float a, float b) { return fmaxf(a, b); });
    for (unsigned s = threadIdx.x; s < S; s += THREADS) {
        scores[s] = __expf(scores[s] - max);
        sum += scores[s];
    }
    sum = reduce(sum, shared, [](float a, float b) { return a + b; });

    // A thread takes one channel of every second value.
    unsigned c = threadIdx.x % D;
    float mean = 0;
    for (unsigned s = threadIdx.x / D; s < S; s += THREADS / D) mean += scores[s] * v[s * D + c];
    // ANCHOR_END: body
    shared[threadIdx.x] = mean;
    __syncthreads();
    if (threadIdx.x < D) y[c] = (shared[c] + shared[c + D]) / sum;
}
