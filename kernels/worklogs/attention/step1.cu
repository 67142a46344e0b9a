// Attention, step 1: three launches, with all scores in memory. y = softmax(q·kᵀ/√D)·v for each head.
//
// q and y (H, T, 64), k and v (H, S, 64), scores (H, T, S); row-major, f32. All steps have these operands.
//
// The scores cross six times: written by the first launch, read three times and written by the second, read by the third.
// With T = S = 4096 and 16 heads they are 1 GB, and q, k, v and y together 67 MB.
//
// Launch: scores (S/256, T, H) blocks of 256 threads, one per score. softmax (T, H) blocks of 256 threads.
// mix (T, H) blocks of 64 threads, one per channel.

constexpr unsigned D = 64, THREADS = 256;
constexpr float SCALE = 0.125f; // 1/√D

extern "C" __global__ void __launch_bounds__(THREADS)
attention_step1_scores(const float *q, const float *k, float *scores, unsigned T, unsigned S) {
    unsigned s = blockIdx.x * THREADS + threadIdx.x, t = blockIdx.y, h = blockIdx.z;
    if (s >= S) return;
    // ANCHOR: scores
    q += (size_t(h) * T + t) * D;
    k += (size_t(h) * S + s) * D;
    float sum = 0;
    for (unsigned c = 0; c < D; c++) sum += q[c] * k[c];
    scores[(size_t(h) * T + t) * S + s] = sum * SCALE;
    // ANCHOR_END: scores
}

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
attention_step1_softmax(const float *scores, float *p, unsigned T, unsigned S) {
    __shared__ float shared[THREADS];
    scores += (size_t(blockIdx.y) * T + blockIdx.x) * S;
    p += (size_t(blockIdx.y) * T + blockIdx.x) * S;
    float max = -INFINITY, sum = 0;
    for (unsigned s = threadIdx.x; s < S; s += THREADS) max = fmaxf(max, scores[s]);
    max = reduce(max, shared, [](float a, float b) { return fmaxf(a, b); });
    for (unsigned s = threadIdx.x; s < S; s += THREADS) sum += __expf(scores[s] - max);
    sum = reduce(sum, shared, [](float a, float b) { return a + b; });
    for (unsigned s = threadIdx.x; s < S; s += THREADS) p[s] = __expf(scores[s] - max) / sum;
}

extern "C" __global__ void __launch_bounds__(D)
attention_step1_mix(const float *p, const float *v, float *y, unsigned T, unsigned S) {
    unsigned t = blockIdx.x, h = blockIdx.y, c = threadIdx.x;
    p += (size_t(h) * T + t) * S;
    v += size_t(h) * S * D;
    float sum = 0;
    for (unsigned s = 0; s < S; s++) sum += p[s] * v[s * D + c];
    y[(size_t(h) * T + t) * D + c] = sum;
}
