// Matmul, step 5: a thread computes 8×8 elements ("2-D register tile").
//
// Against step 4: a thread reads 8 words of As and 8 of Bs for each k, and multiplies each with each: 16 words for
// 64 multiply-adds, a quarter of a word each. The tile of C is 128×128, so that global memory gives half as much.
//
// Launch: a block of 256 threads for 128×128 elements of C.

constexpr unsigned BM = 128, BN = 128, BK = 16; // tiles: A has BM×BK, B has BK×BN, C has BM×BN
constexpr unsigned TM = 8, TN = 8;             // rows and columns of C that a thread computes
constexpr unsigned THREADS = BM / TM * (BN / TN);

extern "C" __global__ void __launch_bounds__(THREADS)
matmul_step5(const float *A, const float *B, float *C, unsigned M, unsigned N, unsigned K) {
    __shared__ float As[BM][BK];
    __shared__ float Bs[BK][BN];
    unsigned row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    // The rows and columns of C that this thread computes.
    unsigned y = threadIdx.x / (BN / TN) * TM;
    unsigned x = threadIdx.x % (BN / TN) * TN;

    float sum[TM][TN] = {};
    for (unsigned k0 = 0; k0 < K; k0 += BK) {
        for (unsigned i = threadIdx.x; i < BM * BK; i += THREADS) {
            unsigned ay = i / BK, ax = i % BK;
            As[ay][ax] = row0 + ay < M && k0 + ax < K ? A[(row0 + ay) * K + k0 + ax] : 0;
        }
        for (unsigned i = threadIdx.x; i < BK * BN; i += THREADS) {
            unsigned by = i / BN, bx = i % BN;
            Bs[by][bx] = k0 + by < K && col0 + bx < N ? B[(k0 + by) * N + col0 + bx] : 0;
        }
        __syncthreads();
#pragma unroll
        for (unsigned k = 0; k < BK; k++) {
            float a[TM], b[TN];
            for (unsigned i = 0; i < TM; i++) a[i] = As[y + i][k];
            for (unsigned j = 0; j < TN; j++) b[j] = Bs[k][x + j];
            for (unsigned i = 0; i < TM; i++) {
                for (unsigned j = 0; j < TN; j++) {
                    sum[i][j] += a[i] * b[j];
                }
            }
        }
        __syncthreads();
    }

    for (unsigned i = 0; i < TM; i++) {
        for (unsigned j = 0; j < TN; j++) {
            unsigned row = row0 + y + i, col = col0 + x + j;
            if (row < M && col < N) C[row * N + col] = sum[i][j];
        }
    }
}
