// Softmax, step 4: the row stays in registers, and loads and stores have 16 bytes.
//
// Against step 3: each element is read once and written once, 2·M·N elements, which is the minimum. A thread holds up
// to 8 groups of four elements, all of which it requests before it uses the first. N has to be a multiple of 4 and at
// most 8192. The maximum is known before the first exponential, so each element has one instead of three, and the
// division is a multiplication.
//
// Launch: a block of 256 threads for one row.

constexpr unsigned THREADS = 256, WARPS = THREADS / 32;
constexpr unsigned GROUPS = 8; // of four elements, in a thread's registers

// `combine` of the values of all threads, in every thread.
template <class F>
__device__ float reduce(float value, float *warps, F combine) {
    for (unsigned lanes = 16; lanes > 0; lanes /= 2) {
        value = combine(value, __shfl_xor_sync(~0u, value, lanes));
    }
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
    __syncthreads();
    value = warps[threadIdx.x % WARPS];
    for (unsigned lanes = WARPS / 2; lanes > 0; lanes /= 2) {
        value = combine(value, __shfl_xor_sync(~0u, value, lanes));
    }
    return value;
}

extern "C" __global__ void __launch_bounds__(THREADS)
softmax_step4(const float *x, float *y, unsigned M, unsigned N) {
    __shared__ float maxima[WARPS], sums[WARPS];
    const float4 *x4 = reinterpret_cast<const float4 *>(x + size_t(blockIdx.x) * N);
    float4 *y4 = reinterpret_cast<float4 *>(y + size_t(blockIdx.x) * N);

    float4 row[GROUPS];
#pragma unroll
    for (unsigned i = 0; i < GROUPS; i++) {
        unsigned j = i * THREADS + threadIdx.x;
        row[i] = j < N / 4 ? x4[j] : make_float4(-INFINITY, -INFINITY, -INFINITY, -INFINITY);
    }

    float max = -INFINITY;
#pragma unroll
    for (unsigned i = 0; i < GROUPS; i++) {
        max = fmaxf(fmaxf(fmaxf(row[i].x, row[i].y), fmaxf(row[i].z, row[i].w)), max);
    }
    max = reduce(max, maxima, [](float a, float b) { return fmaxf(a, b); });

    float sum = 0;
#pragma unroll
    for (unsigned i = 0; i < GROUPS; i++) {
        row[i] = {__expf(row[i].x - max), __expf(row[i].y - max), __expf(row[i].z - max), __expf(row[i].w - max)};
        sum += row[i].x + row[i].y + row[i].z + row[i].w;
    }
    sum = reduce(sum, sums, [](float a, float b) { return a + b; });

    float scale = 1 / sum;
#pragma unroll
    for (unsigned i = 0; i < GROUPS; i++) {
        unsigned j = i * THREADS + threadIdx.x;
        if (j < N / 4) y4[j] = {row[i].x * scale, row[i].y * scale, row[i].z * scale, row[i].w * scale};
    }
}
