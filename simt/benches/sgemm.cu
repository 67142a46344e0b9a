// C = A·B, row by row, of square matrices whose size N is a multiple of 64: what the bench runs.
//
//     nvcc --ptx -std=c++17 -O3 -arch=compute_75 -o sgemm.ptx sgemm.cu

// One element a thread, 16×16 threads.
extern "C" __global__ void naive(float *c, const float *a, const float *b, int n) {
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

constexpr int BM = 64, BN = 64, BK = 16, TM = 4, TN = 4;

// A tile of 64×64 per block, 4×4 elements per thread, 256 threads.
extern "C" __global__ void tiled(float *c, const float *a, const float *b, int n) {
    __shared__ float as[BK][BM], bs[BK][BN];
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    int row = blockIdx.y * BM, column = blockIdx.x * BN;
    float sum[TM][TN] = {};
    for (int first = 0; first < n; first += BK) {
        for (int i = threadIdx.x; i < BM * BK; i += 256) {
            as[i % BK][i / BK] = a[(row + i / BK) * n + first + i % BK];
            bs[i / BN][i % BN] = b[(first + i / BN) * n + column + i % BN];
        }
        __syncthreads();
        for (int k = 0; k < BK; k++) {
            for (int y = 0; y < TM; y++)
                for (int x = 0; x < TN; x++) sum[y][x] += as[k][ty * TM + y] * bs[k][tx * TN + x];
        }
        __syncthreads();
    }
    for (int y = 0; y < TM; y++)
        for (int x = 0; x < TN; x++) c[(row + ty * TM + y) * n + column + tx * TN + x] = sum[y][x];
}
