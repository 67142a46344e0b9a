// Attention, step 3: online softmax. A warp computes one query, and no score is stored.
//
// Against step 2: the warp takes 32 keys at a time, one per lane, and keeps the maximum so far, the sum of
// exp(score - maximum) and the weighted sum of the values. Where a larger score comes, both sums are scaled by
// exp(old - new). S is not limited, and there is no barrier. What is left: every query still reads all keys and values.
//
// Launch: (T/4, H) blocks of 128 threads, a query per warp.

constexpr unsigned D = 64, WARPS = 4;
constexpr float SCALE = 0.125f; // 1/√D

// `combine` of the values of all lanes, in every lane.
template <class F>
__device__ float warp_reduce(float value, F combine) {
    for (unsigned lanes = 16; lanes > 0; lanes /= 2) value = combine(value, __shfl_xor_sync(~0u, value, lanes));
    return value;
}

extern "C" __global__ void __launch_bounds__(WARPS * 32)
attention_step3(const float *q, const float *k, const float *v, float *y, unsigned T, unsigned S) {
    __shared__ float queries[WARPS][D];
    unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    unsigned t = blockIdx.x * WARPS + warp, h = blockIdx.y;
    if (t >= T) return;
    q += (size_t(h) * T + t) * D;
    k += size_t(h) * S * D;
    v += size_t(h) * S * D;
    y += (size_t(h) * T + t) * D;
    float *query = queries[warp];
    query[lane] = q[lane] * SCALE;
    query[lane + 32] = q[lane + 32] * SCALE;
    __syncwarp();

    float max = -INFINITY, sum = 0;
    float mean[2] = {}; // channels `lane` and `lane + 32`
    for (unsigned s0 = 0; s0 < S; s0 += 32) {
        float score = -INFINITY;
        if (s0 + lane < S) {
            score = 0;
            for (unsigned c = 0; c < D; c++) score += query[c] * k[(s0 + lane) * D + c];
        }
        // ANCHOR: loop
        float new_max = fmaxf(max, warp_reduce(score, [](float a, float b) { return fmaxf(a, b); }));
        float scale = __expf(max - new_max); // 0 for the first keys
        float weight = __expf(score - new_max);
        sum = sum * scale + warp_reduce(weight, [](float a, float b) { return a + b; });
        mean[0] *= scale;
        mean[1] *= scale;
        for (unsigned s = s0; s < min(s0 + 32, S); s++) {
            float w = __shfl_sync(~0u, weight, s - s0);
            mean[0] += w * v[s * D + lane];
            mean[1] += w * v[s * D + lane + 32];
        }
        max = new_max;
        // ANCHOR_END: loop
    }
    y[lane] = mean[0] / sum;
    y[lane + 32] = mean[1] / sum;
}
