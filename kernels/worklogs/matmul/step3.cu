// Matmul, step 3: a block copies tiles of A and B into shared memory, and all its threads read them there.
//
// Against step 2: each element that a block fetches from global memory serves 32 threads. Global memory and L2 give
// 2·M·N·K/32 elements instead of 2·M·N·K. What is left: each multiply-add still reads two words of shared memory.
//
// Launch: a block of 32×32 threads for 32×32 elements of C.

constexpr unsigned TILE = 32;

extern "C" __global__ void __launch_bounds__(1024)
matmul_step3(const float *A, const float *B, float *C, unsigned M, unsigned N, unsigned K) {
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    unsigned x = threadIdx.x, y = threadIdx.y;
    unsigned row = blockIdx.y * TILE + y;
    unsigned col = blockIdx.x * TILE + x;
    float sum = 0;
    for (unsigned k0 = 0; k0 < K; k0 += TILE) {
        // Elements outside the matrices are zero.
        As[y][x] = row < M && k0 + x < K ? A[row * K + k0 + x] : 0;
        Bs[y][x] = k0 + y < K && col < N ? B[(k0 + y) * N + col] : 0;
        __syncthreads();
        for (unsigned k = 0; k < TILE; k++) {
            sum += As[y][k] * Bs[k][x];
        }
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = sum;
}
