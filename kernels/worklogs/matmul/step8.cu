// Matmul, step 8: two buffers of each tile ("double buffering").
//
// Against step 7: a thread loads its elements of the next tiles into registers before it computes with the current
// ones, and stores them into the other buffer afterwards. The loads are in flight during 1024 multiply-adds of the
// thread, and a step along K has one barrier where it had two.
//
// Launch: a block of 256 threads for 128×128 elements of C, two blocks per SM.

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

extern "C" __global__ void __launch_bounds__(THREADS, 2)
matmul_step8(const float *A, const float *B, float *C, unsigned M, unsigned N, unsigned K) {
    __shared__ __align__(16) float As[2][BK][BM + 4]; // transposed
    __shared__ __align__(16) float Bs[2][BK][BN];
    unsigned row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    // The first row and column of C that this thread computes: four from there, and four half a tile further.
    unsigned y = (warp / 2 * 4 + lane / 8) * 4;
    unsigned x = (warp % 2 * 8 + lane % 8) * 4;

    // The first of four elements of each tile that this thread copies; the others are AY and BY rows further.
    constexpr unsigned AY = THREADS / (BK / 4), BY = THREADS / (BN / 4);
    unsigned ay = threadIdx.x / (BK / 4), ax = threadIdx.x % (BK / 4) * 4;
    unsigned by = threadIdx.x / (BN / 4), bx = threadIdx.x % (BN / 4) * 4;

    float sum[TM][TN] = {};
    float4 a4[LOADS], b4[LOADS];
    for (unsigned i = 0; i < LOADS; i++) {
        a4[i] = load4(A, row0 + ay + i * AY, ax, M, K);
        b4[i] = load4(B, by + i * BY, col0 + bx, K, N);
    }
    for (unsigned k0 = 0, now = 0; k0 < K; k0 += BK, now ^= 1) {
        for (unsigned i = 0; i < LOADS; i++) {
            As[now][ax + 0][ay + i * AY] = a4[i].x;
            As[now][ax + 1][ay + i * AY] = a4[i].y;
            As[now][ax + 2][ay + i * AY] = a4[i].z;
            As[now][ax + 3][ay + i * AY] = a4[i].w;
            *reinterpret_cast<float4 *>(&Bs[now][by + i * BY][bx]) = b4[i];
        }
        // One barrier per step is enough. The next store into this buffer comes after the next step's barrier, and a
        // thread arrives there only when it has read this buffer.
        __syncthreads();
        for (unsigned i = 0; i < LOADS; i++) {
            a4[i] = load4(A, row0 + ay + i * AY, k0 + BK + ax, M, K);
            b4[i] = load4(B, k0 + BK + by + i * BY, col0 + bx, K, N);
        }
#pragma unroll
        for (unsigned k = 0; k < BK; k++) {
            float a[TM], b[TN];
            for (unsigned i = 0; i < TM; i += 4) {
                *reinterpret_cast<float4 *>(a + i) = *reinterpret_cast<float4 *>(&As[now][k][y + i * (BM / TM)]);
            }
            for (unsigned j = 0; j < TN; j += 4) {
                *reinterpret_cast<float4 *>(b + j) = *reinterpret_cast<float4 *>(&Bs[now][k][x + j * (BN / TN)]);
            }
            for (unsigned i = 0; i < TM; i++) {
                for (unsigned j = 0; j < TN; j++) {
                    sum[i][j] += a[i] * b[j];
                }
            }
        }
    }

    for (unsigned i = 0; i < TM; i++) {
        for (unsigned j = 0; j < TN; j += 4) {
            unsigned row = row0 + y + i / 4 * (BM / 2) + i % 4;
            unsigned col = col0 + x + j / 4 * (BN / 2);
            if (row >= M || col >= N) continue;
            *reinterpret_cast<float4 *>(C + row * N + col) = *reinterpret_cast<float4 *>(&sum[i][j]);
        }
    }
}
