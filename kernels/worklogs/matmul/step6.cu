// Matmul, step 6: loads and stores of 16 bytes.
//
// Against step 5: a thread moves four neighbouring elements with one instruction (`float4`), in global memory and in
// shared memory. The elements of A that a thread needs for one k are neighbours only if the tile is transposed,
// As[k][row], which costs four stores of 4 bytes for each load. K and N have to be multiples of 4.
//
// Launch: a block of 256 threads for 128×128 elements of C.

constexpr unsigned BM = 128, BN = 128, BK = 16; // tiles: A has BM×BK, B has BK×BN, C has BM×BN
constexpr unsigned TM = 8, TN = 8;              // rows and columns of C that a thread computes
constexpr unsigned THREADS = BM / TM * (BN / TN);
constexpr unsigned LOADS = BM * BK / 4 / THREADS; // 16-byte loads per thread and tile
static_assert(BM == BN, "as many for each tile");

// Four elements of row `row` from column `col`; zeros outside a matrix of `rows` and `cols`.
__device__ float4 load4(const float *x, unsigned row, unsigned col, unsigned rows, unsigned cols) {
    if (row >= rows || col >= cols) return {0, 0, 0, 0};
    return *reinterpret_cast<const float4 *>(x + row * cols + col);
}

extern "C" __global__ void __launch_bounds__(THREADS)
matmul_step6(const float *A, const float *B, float *C, unsigned M, unsigned N, unsigned K) {
    __shared__ __align__(16) float As[BK][BM]; // transposed
    __shared__ __align__(16) float Bs[BK][BN];
    unsigned row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    // The rows and columns of C that this thread computes.
    unsigned y = threadIdx.x / (BN / TN) * TM;
    unsigned x = threadIdx.x % (BN / TN) * TN;

    float sum[TM][TN] = {};
    for (unsigned k0 = 0; k0 < K; k0 += BK) {
        for (unsigned i = 0; i < LOADS; i++) {
            // The first of four elements of each tile that this thread copies.
            unsigned ay = threadIdx.x / (BK / 4) + i * (THREADS / (BK / 4)), ax = threadIdx.x % (BK / 4) * 4;
            unsigned by = threadIdx.x / (BN / 4) + i * (THREADS / (BN / 4)), bx = threadIdx.x % (BN / 4) * 4;
            float4 a4 = load4(A, row0 + ay, k0 + ax, M, K);
            float4 b4 = load4(B, k0 + by, col0 + bx, K, N);
            As[ax + 0][ay] = a4.x;
            As[ax + 1][ay] = a4.y;
            As[ax + 2][ay] = a4.z;
            As[ax + 3][ay] = a4.w;
            *reinterpret_cast<float4 *>(&Bs[by][bx]) = b4;
        }
        __syncthreads();
#pragma unroll
        for (unsigned k = 0; k < BK; k++) {
            float a[TM], b[TN];
            for (unsigned i = 0; i < TM; i += 4) {
                *reinterpret_cast<float4 *>(a + i) = *reinterpret_cast<float4 *>(&As[k][y + i]);
            }
            for (unsigned j = 0; j < TN; j += 4) {
                *reinterpret_cast<float4 *>(b + j) = *reinterpret_cast<float4 *>(&Bs[k][x + j]);
            }
            for (unsigned i = 0; i < TM; i++) {
                for (unsigned j = 0; j < TN; j++) {
                    sum[i][j] += a[i] * b[j];
                }
            }
        }
        __syncthreads();
    }

    for (unsigned i = 0; i < TM; i++) {
        for (unsigned j = 0; j < TN; j += 4) {
            unsigned row = row0 + y + i, col = col0 + x + j;
            if (row >= M || col >= N) continue;
            *reinterpret_cast<float4 *>(C + row * N + col) = *reinterpret_cast<float4 *>(&sum[i][j]);
        }
    }
}
