// Matmul, step 9: tensor cores, by `mma.sync`.
//
// Against step 8: one instruction of a warp multiplies 16×8 elements of A with 8×8 of B, 1024 multiply-adds, where an
// FFMA makes 32. It takes TF32: f32 with 10 of the 23 bits of the mantissa. Each element is rounded to it, by a
// relative error of at most 2^-11; sums keep f32's bits, cut off, not rounded. Steps 1 to 8 are more exact.
//
// The hardware fixes which lane holds which element of a fragment ("PTX ISA", mma.m16n8k8 with .tf32):
//     A: rows lane/4 and lane/4 + 8, columns lane%4 and lane%4 + 4.   B: rows lane%4 and lane%4 + 4, column lane/4.
//     C: rows lane/4 and lane/4 + 8, columns lane%4·2 and lane%4·2 + 1.
// Rows of As and Bs have 8 words more than they need, so that the 32 lanes read 32 banks: 8·(lane%4) + lane/4.
//
// Compiled for sm_80, which has TF32. Launch: a block of 256 threads for 128×128 elements of C, two blocks per SM.

constexpr unsigned BM = 128, BN = 128, BK = 16; // tiles: A has BM×BK, B has BK×BN, C has BM×BN
constexpr unsigned WM = 64, WN = 32;            // rows and columns of C that a warp computes
constexpr unsigned THREADS = BM / WM * (BN / WN) * 32;
constexpr unsigned LOADS = BM * BK / 4 / THREADS; // 16-byte loads per thread and tile
static_assert(BM == BN, "as many for each tile");

// Four elements of row `row` from column `col`; zeros outside a matrix of `rows` and `cols`.
__device__ float4 load4(const float *x, unsigned row, unsigned col, unsigned rows, unsigned cols) {
    if (row >= rows || col >= cols) return {0, 0, 0, 0};
    return *reinterpret_cast<const float4 *>(x + row * cols + col);
}

// The nearest TF32.
__device__ unsigned tf32(float x) {
    unsigned y;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"(x));
    return y;
}

// ANCHOR: mma
// c += a·b
__device__ void mma(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
// ANCHOR_END: mma

extern "C" __global__ void __launch_bounds__(THREADS, 2)
matmul_step9(const float *A, const float *B, float *C, unsigned M, unsigned N, unsigned K) {
    __shared__ __align__(16) unsigned As[2][BK][BM + 8]; // transposed
    __shared__ __align__(16) unsigned Bs[2][BK][BN + 8];
    unsigned row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    // The first row of a fragment of A and column of a fragment of B that this thread holds.
    unsigned y = warp / (BN / WN) * WM + lane / 4;
    unsigned x = warp % (BN / WN) * WN + lane / 4;
    // The first of four elements of each tile that this thread copies; the others are AY and BY rows further.
    constexpr unsigned AY = THREADS / (BK / 4), BY = THREADS / (BN / 4);
    unsigned ay = threadIdx.x / (BK / 4), ax = threadIdx.x % (BK / 4) * 4;
    unsigned by = threadIdx.x / (BN / 4), bx = threadIdx.x % (BN / 4) * 4;

    float sum[WM / 16][WN / 8][4] = {};
    float4 a4[LOADS], b4[LOADS];
    for (unsigned i = 0; i < LOADS; i++) {
        a4[i] = load4(A, row0 + ay + i * AY, ax, M, K);
        b4[i] = load4(B, by + i * BY, col0 + bx, K, N);
    }
    for (unsigned k0 = 0, now = 0; k0 < K; k0 += BK, now ^= 1) {
        for (unsigned i = 0; i < LOADS; i++) {
            As[now][ax + 0][ay + i * AY] = tf32(a4[i].x);
            As[now][ax + 1][ay + i * AY] = tf32(a4[i].y);
            As[now][ax + 2][ay + i * AY] = tf32(a4[i].z);
            As[now][ax + 3][ay + i * AY] = tf32(a4[i].w);
            *reinterpret_cast<uint4 *>(&Bs[now][by + i * BY][bx]) = {
                tf32(b4[i].x), tf32(b4[i].y), tf32(b4[i].z), tf32(b4[i].w)};
        }
        // One barrier is enough: a thread stores into this buffer again after the next one, and no thread gets there
        // before it has read this buffer.
        __syncthreads();
        for (unsigned i = 0; i < LOADS; i++) {
            a4[i] = load4(A, row0 + ay + i * AY, k0 + BK + ax, M, K);
            b4[i] = load4(B, k0 + BK + by + i * BY, col0 + bx, K, N);
        }
        // ANCHOR: loop
        for (unsigned k = lane % 4; k < BK; k += 8) {
            unsigned a[WM / 16][4], b[WN / 8][2];
            for (unsigned i = 0; i < WM / 16; i++) {
                a[i][0] = As[now][k][y + i * 16];
                a[i][1] = As[now][k][y + i * 16 + 8];
                a[i][2] = As[now][k + 4][y + i * 16];
                a[i][3] = As[now][k + 4][y + i * 16 + 8];
            }
            for (unsigned j = 0; j < WN / 8; j++) {
                b[j][0] = Bs[now][k][x + j * 8];
                b[j][1] = Bs[now][k + 4][x + j * 8];
            }
            for (unsigned i = 0; i < WM / 16; i++) {
                for (unsigned j = 0; j < WN / 8; j++) {
                    mma(sum[i][j], a[i], b[j]);
                }
            }
        }
        // ANCHOR_END: loop
    }

    for (unsigned i = 0; i < WM / 16; i++) {
        for (unsigned j = 0; j < WN / 8; j++) {
            unsigned row = row0 + y + i * 16;
            unsigned col = col0 + warp % (BN / WN) * WN + j * 8 + lane % 4 * 2;
            if (col >= N) continue;
            float *c = C + row * N + col;
            if (row < M) *reinterpret_cast<float2 *>(c) = {sum[i][j][0], sum[i][j][1]};
            if (row + 8 < M) *reinterpret_cast<float2 *>(c + 8 * N) = {sum[i][j][2], sum[i][j][3]};
        }
    }
}
