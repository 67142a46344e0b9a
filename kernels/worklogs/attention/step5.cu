// Attention, step 5: both matmuls on tensor cores, in TF32.
//
// Against step 4: a warp multiplies by `mma.sync` (m16n8k8), 1024 multiply-adds at once. It has 16 queries. The scores
// never leave its registers: the accumulators of the first matmul are the operands of the second one. TF32 keeps 10 of
// the 23 bits of the mantissa, so the result is less exact than that of steps 1 to 4.
//
// Lane 4·g + t of a warp holds, of q and of the weights (A): rows g and g + 8, columns t and t + 4; of k and v (B): rows
// t and t + 4, column g; of the scores and y (C): rows g and g + 8, columns 2·t and 2·t + 1. So C is A if its columns
// 2·t and 2·t + 1 count as t and t + 4. The order of a sum's terms changes only its rounding, so v's rows are renumbered alike.
//
// Compiled for sm_80, which has TF32. Launch: (T/64, H) blocks of 128 threads.

constexpr unsigned D = 64, BM = 64, BN = 32; // channels, queries and keys of a tile
constexpr unsigned THREADS = 128;
constexpr float SCALE = 0.125f; // 1/√D

// The nearest TF32.
__device__ unsigned tf32(float x) {
    unsigned y;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"(x));
    return y;
}

// c += a·b
__device__ void mma(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// `combine` of the values of 4 neighbouring lanes, in each of them.
template <class F>
__device__ float row_reduce(float value, F combine) {
    value = combine(value, __shfl_xor_sync(~0u, value, 1));
    return combine(value, __shfl_xor_sync(~0u, value, 2));
}

extern "C" __global__ void __launch_bounds__(THREADS)
attention_step5(const float *q, const float *k, const float *v, float *y, unsigned T, unsigned S) {
    // Rows of Ks have 4 words more than they need: 32 lanes read 32 banks. In Vs two lanes share a bank, as rows are 2·t.
    __shared__ unsigned Ks[BN][D + 4], Vs[BN][D + 8];
    unsigned g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, h = blockIdx.y;
    unsigned row = blockIdx.x * BM + threadIdx.x / 32 * 16 + g; // this lane's queries: `row` and `row + 8`
    q += size_t(h) * T * D;
    k += size_t(h) * S * D;
    v += size_t(h) * S * D;
    y += size_t(h) * T * D;
    unsigned query[D / 8][4];
    for (unsigned c = 0; c < D / 8; c++) {
        for (unsigned i = 0; i < 4; i++) {
            unsigned r = row + i % 2 * 8, column = c * 8 + t + i / 2 * 4;
            query[c][i] = tf32(r < T ? q[size_t(r) * D + column] * SCALE : 0);
        }
    }

    float max[2] = {-INFINITY, -INFINITY}, sum[2] = {}, mean[D / 8][4] = {};
    for (unsigned s0 = 0; s0 < S; s0 += BN) {
        __syncthreads(); // the last tile has been read
        for (unsigned i = threadIdx.x; i < BN * D; i += THREADS) {
            bool inside = s0 + i / D < S;
            Ks[i / D][i % D] = tf32(inside ? k[size_t(s0) * D + i] : 0);
            Vs[i / D][i % D] = tf32(inside ? v[size_t(s0) * D + i] : 0);
        }
        __syncthreads();

        float score[BN / 8][4] = {};
        for (unsigned n = 0; n < BN / 8; n++) {
            for (unsigned c = 0; c < D / 8; c++) {
                mma(score[n], query[c], Ks[n * 8 + g][c * 8 + t], Ks[n * 8 + g][c * 8 + t + 4]);
            }
        }

        for (unsigned i = 0; i < 2; i++) { // the lane's two rows
            float new_max = max[i], weights = 0;
            for (unsigned n = 0; n < BN / 8; n++) {
                for (unsigned j = 0; j < 2; j++) {
                    float &x = score[n][i * 2 + j];
                    if (s0 + n * 8 + t * 2 + j >= S) x = -INFINITY;
                    new_max = fmaxf(new_max, x);
                }
            }
            new_max = row_reduce(new_max, [](float a, float b) { return fmaxf(a, b); });
            for (unsigned n = 0; n < BN / 8; n++) {
                for (unsigned j = 0; j < 2; j++) {
                    score[n][i * 2 + j] = __expf(score[n][i * 2 + j] - new_max);
                    weights += score[n][i * 2 + j];
                }
            }
            float scale = __expf(max[i] - new_max); // 0 for the first keys
            sum[i] = sum[i] * scale + row_reduce(weights, [](float a, float b) { return a + b; });
            for (unsigned c = 0; c < D / 8; c++) mean[c][i * 2] *= scale, mean[c][i * 2 + 1] *= scale;
            max[i] = new_max;
        }

        for (unsigned n = 0; n < BN / 8; n++) {
            // ANCHOR: mix
            unsigned weight[4] = {tf32(score[n][0]), tf32(score[n][2]), tf32(score[n][1]), tf32(score[n][3])};
            for (unsigned c = 0; c < D / 8; c++) {
                mma(mean[c], weight, Vs[n * 8 + t * 2][c * 8 + g], Vs[n * 8 + t * 2 + 1][c * 8 + g]);
            }
            // ANCHOR_END: mix
        }
    }

    for (unsigned i = 0; i < 2; i++) {
        if (row + i * 8 >= T) continue;
        for (unsigned c = 0; c < D / 8; c++) {
            float2 pair = {mean[c][i * 2] / sum[i], mean[c][i * 2 + 1] / sum[i]};
            *reinterpret_cast<float2 *>(y + size_t(row + i * 8) * D + c * 8 + t * 2) = pair;
        }
    }
}
