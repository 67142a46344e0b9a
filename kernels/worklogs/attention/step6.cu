// Attention, step 6: the keys of a query are split over blocks. For decode, where T is 1.
//
// Against step 5: with one query per head a tile is nearly empty, and H blocks cannot fill the GPU. Here each block takes
// a chunk of the keys, as step 3 does with all of them, and writes its maximum, its sum and its weighted sum of the
// values. A second launch joins the chunks in the way in which online softmax joins old and new keys.
//
// Launch: (chunks, T, H) blocks of 128 threads, then (T, H) blocks of 64 threads, one per channel.

constexpr unsigned D = 64, WARPS = 4, PART = D + 2; // of a part: the values, the maximum, the sum
constexpr float SCALE = 0.125f;                     // 1/√D

// `combine` of the values of all lanes, in every lane.
template <class F>
__device__ float warp_reduce(float value, F combine) {
    for (unsigned lanes = 16; lanes > 0; lanes /= 2) value = combine(value, __shfl_xor_sync(~0u, value, lanes));
    return value;
}

// ANCHOR: join
// Joins parts of values o, maximum m and sum l: Σ o·exp(m - max) for channel c, and Σ l·exp(m - max).
__device__ float2 join(const float *parts, unsigned n, unsigned c, float &max) {
    max = -INFINITY;
    for (unsigned i = 0; i < n; i++) max = fmaxf(max, parts[i * PART + D]);
    float mean = 0, sum = 0;
    for (unsigned i = 0; i < n; i++) {
        float scale = __expf(parts[i * PART + D] - max);
        mean += parts[i * PART + c] * scale;
        sum += parts[i * PART + D + 1] * scale;
    }
    return {mean, sum};
}
// ANCHOR_END: join

extern "C" __global__ void __launch_bounds__(WARPS * 32)
attention_step6_parts(const float *q, const float *k, const float *v, float *parts, unsigned T, unsigned S,
                      unsigned keys) { // keys of a chunk, a multiple of 128
    __shared__ float query[D], shared[WARPS * PART];
    unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, t = blockIdx.y, h = blockIdx.z;
    q += (size_t(h) * T + t) * D;
    k += size_t(h) * S * D;
    v += size_t(h) * S * D;
    if (threadIdx.x < D) query[threadIdx.x] = q[threadIdx.x] * SCALE;
    __syncthreads();

    // A warp takes every fourth 32 keys of the chunk, one per lane. A finite maximum: a warp may have no key at all.
    float max = -1e30f, sum = 0, mean[2] = {}; // channels `lane` and `lane + 32`
    unsigned end = min((blockIdx.x + 1) * keys, S);
    for (unsigned s0 = blockIdx.x * keys + warp * 32; s0 < end; s0 += WARPS * 32) {
        float score = -INFINITY;
        if (s0 + lane < end) {
            score = 0;
            const float4 *key = reinterpret_cast<const float4 *>(k + size_t(s0 + lane) * D);
#pragma unroll
            for (unsigned c = 0; c < D / 4; c++) {
                float4 x = key[c];
                score += query[c * 4] * x.x + query[c * 4 + 1] * x.y + query[c * 4 + 2] * x.z + query[c * 4 + 3] * x.w;
            }
        }
        float new_max = fmaxf(max, warp_reduce(score, [](float a, float b) { return fmaxf(a, b); }));
        float scale = __expf(max - new_max), weight = __expf(score - new_max);
        sum = sum * scale + warp_reduce(weight, [](float a, float b) { return a + b; });
        mean[0] *= scale;
        mean[1] *= scale;
        for (unsigned s = s0; s < min(s0 + 32, end); s++) {
            float w = __shfl_sync(~0u, weight, s - s0);
            mean[0] += w * v[size_t(s) * D + lane];
            mean[1] += w * v[size_t(s) * D + lane + 32];
        }
        max = new_max;
    }

    float *own = shared + warp * PART;
    own[lane] = mean[0];
    own[lane + 32] = mean[1];
    if (lane == 0) own[D] = max, own[D + 1] = sum;
    __syncthreads();
    if (threadIdx.x >= D) return;
    float2 joined = join(shared, WARPS, threadIdx.x, max);
    parts += ((size_t(h) * T + t) * gridDim.x + blockIdx.x) * PART;
    parts[threadIdx.x] = joined.x;
    if (threadIdx.x == 0) parts[D] = max, parts[D + 1] = joined.y;
}

extern "C" __global__ void __launch_bounds__(D)
attention_step6_join(const float *parts, float *y, unsigned T, unsigned chunks) {
    size_t row = size_t(blockIdx.y) * T + blockIdx.x;
    float max;
    float2 joined = join(parts + row * chunks * PART, chunks, threadIdx.x, max);
    y[row * D + threadIdx.x] = joined.x / joined.y;
}
