// Matmul, step 4: a thread computes 8 elements of a column ("1-D register tile").
//
// Against step 3: a thread reads one word of Bs and uses it for 8 elements. For each k it reads 9 words for 8
// multiply-adds, where step 3 reads 16. The tile of C is 64×64, so that global memory gives half as much.
//
// Launch: a block of 512 threads for 64×64 elements of C.

constexpr unsigned BM = 64, BN = 64, BK = 8; // the tiles: A has BM×BK, B has BK×BN, C has BM×BN
constexpr unsigned TM = 8;                   // rows of C that a thread computes
constexpr unsigned THREADS = BM * BN / TM;

extern "C" __global__ void __launch_bounds__(THREADS)
matmul_step4(const float *A, const float *B, float *C, unsigned M, unsigned N, unsigned K) {
    __shared__ float As[BM][BK];
    __shared__ float Bs[BK][BN];
    unsigned row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    // The rows and the column of C that this thread computes.
    unsigned y = threadIdx.x / BN * TM;
    unsigned x = threadIdx.x % BN;
    // The element of each tile that it copies: both tiles have as many elements as there are threads.
    unsigned ay = threadIdx.x / BK, ax = threadIdx.x % BK;
    unsigned by = threadIdx.x / BN, bx = threadIdx.x % BN;

    float sum[TM] = {};
    for (unsigned k0 = 0; k0 < K; k0 += BK) {
        As[ay][ax] = row0 + ay < M && k0 + ax < K ? A[(row0 + ay) * K + k0 + ax] : 0;
        Bs[by][bx] = k0 + by < K && col0 + bx < N ? B[(k0 + by) * N + col0 + bx] : 0;
        __syncthreads();
        for (unsigned k = 0; k < BK; k++) {
            float b = Bs[k][x];
            for (unsigned i = 0; i < TM; i++) {
                sum[i] += As[y + i][k] * b;
            }
        }
        __syncthreads();
    }

    for (unsigned i = 0; i < TM; i++) {
        unsigned row = row0 + y + i, col = col0 + x;
        if (row < M && col < N) C[row * N + col] = sum[i];
    }
}
