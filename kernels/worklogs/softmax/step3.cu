// Softmax, step 3: the maximum and the sum in one pass ("online softmax"), and shuffles instead of a tree.
//
// Against step 2: a thread keeps a maximum and the sum of exp(x - maximum) so far. Where a larger element comes, the
// sum so far counts from the old maximum and is scaled by exp(old - new). Two passes are left, one to read, one to
// read and write: 3·M·N elements instead of 4·M·N. Two such pairs are joined in the same way, so lanes of a warp pass
// them by shuffles, and only the 8 warps meet in shared memory: 1 barrier instead of 20.
//
// Launch: a block of 256 threads for one row.

constexpr unsigned THREADS = 256, WARPS = THREADS / 32;

// ANCHOR: join
// A maximum, and the sum of exp(x - maximum) over the elements so far.
struct Online {
    float max, sum;
};

__device__ Online join(Online a, Online b) {
    float max = fmaxf(a.max, b.max);
    if (max == -INFINITY) return a; // nothing so far on either side
    return {max, a.sum * __expf(a.max - max) + b.sum * __expf(b.max - max)};
}
// ANCHOR_END: join

// The pairs of all lanes, joined, in every lane.
__device__ Online warp_join(Online a) {
    for (unsigned lanes = 16; lanes > 0; lanes /= 2) {
        a = join(a, {__shfl_xor_sync(~0u, a.max, lanes), __shfl_xor_sync(~0u, a.sum, lanes)});
    }
    return a;
}

extern "C" __global__ void __launch_bounds__(THREADS)
softmax_step3(const float *x, float *y, unsigned M, unsigned N) {
    __shared__ Online warps[WARPS];
    x += size_t(blockIdx.x) * N;
    y += size_t(blockIdx.x) * N;
    Online row = {-INFINITY, 0};
    for (unsigned j = threadIdx.x; j < N; j += THREADS) row = join(row, {x[j], 1});
    row = warp_join(row);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = row;
    __syncthreads();
    // Every warp joins the pairs of all warps.
    row = warp_join(threadIdx.x % 32 < WARPS ? warps[threadIdx.x % 32] : Online{-INFINITY, 0});
    for (unsigned j = threadIdx.x; j < N; j += THREADS) y[j] = __expf(x[j] - row.max) / row.sum;
}
