// Matmul, step 1: one thread computes one element of C = A·B.
//
// A (M, K), B (K, N), C (M, N), row-major, f32. All steps have these operands. blockIdx.x counts along N, blockIdx.y along M.
//
// Neighbouring threads of a warp, x and x + 1, compute elements of neighbouring rows. So the 32 threads of a warp
// read 32 rows of A: each read of 4 bytes fetches a sector of 32 bytes of its own, and C is written the same way.
//
// Launch: a block of 32×32 threads for 32×32 elements of C.

extern "C" __global__ void __launch_bounds__(1024)
matmul_step1(const float *A, const float *B, float *C, unsigned M, unsigned N, unsigned K) {
    unsigned row = blockIdx.y * 32 + threadIdx.x;
    unsigned col = blockIdx.x * 32 + threadIdx.y;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (unsigned k = 0; k < K; k++) {
        sum += A[row * K + k] * B[k * N + col];
    }
    C[row * N + col] = sum;
}
