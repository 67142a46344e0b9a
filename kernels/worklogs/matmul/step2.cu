// Matmul, step 2: the threads of a warp compute elements of one row ("coalesced").
//
// Against step 1: threadIdx.x counts columns, not rows. The 32 threads of a warp then read 32 neighbouring elements
// of B, 128 bytes in 4 sectors, and one element of A, which the hardware fetches once for all.
//
// Launch: a block of 32×32 threads for 32×32 elements of C.

extern "C" __global__ void __launch_bounds__(1024)
matmul_step2(const float *A, const float *B, float *C, unsigned M, unsigned N, unsigned K) {
    unsigned row = blockIdx.y * 32 + threadIdx.y;
    unsigned col = blockIdx.x * 32 + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (unsigned k = 0; k < K; k++) {
        sum += A[row * K + k] * B[k * N + col];
    }
    C[row * N + col] = sum;
}
