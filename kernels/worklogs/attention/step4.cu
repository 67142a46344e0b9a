// Attention, step 4: a block computes a tile of 64 queries.
//
// Against step 3: a tile of 32 keys and values is brought into shared memory once for 64 queries, so that global memory
// gives them T/64 times instead of T times. Both matmuls are those of the matmul worklog's step 5: a thread has 4×4
// scores, and 4×8 elements of y. The online softmax is that of step 3, for four rows of a thread: eight neighbouring
// threads have the same rows, and meet by shuffles.
//
// Launch: (T/64, H) blocks of 128 threads.

constexpr unsigned D = 64, BM = 64, BN = 32; // channels, queries and keys of a tile
constexpr unsigned THREADS = 128, COLS = 8;  // threads side by side, who have the same rows
constexpr unsigned TM = 4, TN = BN / COLS, TD = D / COLS;
constexpr float SCALE = 0.125f; // 1/√D

// `combine` of the values of 8 neighbouring lanes, in each of them.
template <class F>
__device__ float row_reduce(float value, F combine) {
    for (unsigned lanes = COLS / 2; lanes > 0; lanes /= 2) value = combine(value, __shfl_xor_sync(~0u, value, lanes));
    return value;
}

extern "C" __global__ void __launch_bounds__(THREADS)
attention_step4(const float *q, const float *k, const float *v, float *y, unsigned T, unsigned S) {
    // Rows but those of Vs have one word more than they need, so that neighbouring rows begin in other banks.
    __shared__ float Qs[BM][D + 1], Ks[BN][D + 1], Vs[BN][D], Ps[BM][BN + 1];
    unsigned t0 = blockIdx.x * BM, h = blockIdx.y;
    unsigned row = threadIdx.x / COLS * TM, col = threadIdx.x % COLS;
    q += size_t(h) * T * D;
    k += size_t(h) * S * D;
    v += size_t(h) * S * D;
    y += size_t(h) * T * D;
    for (unsigned i = threadIdx.x; i < BM * D; i += THREADS) {
        Qs[i / D][i % D] = t0 + i / D < T ? q[size_t(t0) * D + i] * SCALE : 0;
    }

    float max[TM], sum[TM] = {}, mean[TM][TD] = {};
    for (unsigned i = 0; i < TM; i++) max[i] = -INFINITY;
    for (unsigned s0 = 0; s0 < S; s0 += BN) {
        __syncthreads(); // the last tile has been read
        for (unsigned i = threadIdx.x; i < BN * D; i += THREADS) {
            bool inside = s0 + i / D < S;
            Ks[i / D][i % D] = inside ? k[size_t(s0) * D + i] : 0;
            Vs[i / D][i % D] = inside ? v[size_t(s0) * D + i] : 0;
        }
        __syncthreads();

        // ANCHOR: scores
        // Scores of keys col, col + 8, …
        float score[TM][TN] = {};
        for (unsigned c = 0; c < D; c++) {
            float a[TM], b[TN];
            for (unsigned i = 0; i < TM; i++) a[i] = Qs[row + i][c];
            for (unsigned j = 0; j < TN; j++) b[j] = Ks[col + j * COLS][c];
            for (unsigned i = 0; i < TM; i++) {
                for (unsigned j = 0; j < TN; j++) score[i][j] += a[i] * b[j];
            }
        }
        // ANCHOR_END: scores

        // ANCHOR: softmax
        for (unsigned i = 0; i < TM; i++) {
            float new_max = max[i], weights = 0;
            for (unsigned j = 0; j < TN; j++) {
                if (s0 + col + j * COLS >= S) score[i][j] = -INFINITY;
                new_max = fmaxf(new_max, score[i][j]);
            }
            new_max = row_reduce(new_max, [](float a, float b) { return fmaxf(a, b); });
            for (unsigned j = 0; j < TN; j++) {
                float weight = __expf(score[i][j] - new_max);
                weights += weight;
                Ps[row + i][col + j * COLS] = weight;
            }
            float scale = __expf(max[i] - new_max); // 0 for the first keys
            sum[i] = sum[i] * scale + row_reduce(weights, [](float a, float b) { return a + b; });
            for (unsigned j = 0; j < TD; j++) mean[i][j] *= scale;
            max[i] = new_max;
        }
        // ANCHOR_END: softmax
        __syncwarp(); // the eight threads of a row are in one warp

        // Channels col, col + 8, …
        for (unsigned s = 0; s < BN; s++) {
            for (unsigned i = 0; i < TM; i++) {
                for (unsigned j = 0; j < TD; j++) mean[i][j] += Ps[row + i][s] * Vs[s][col + j * COLS];
            }
        }
    }

    for (unsigned i = 0; i < TM; i++) {
        if (t0 + row + i >= T) continue;
        for (unsigned j = 0; j < TD; j++) y[size_t(t0 + row + i) * D + col + j * COLS] = mean[i][j] / sum[i];
    }
}
