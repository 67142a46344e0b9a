// The PTX instructions of a matmul on tensor cores before Hopper: cp.async, ldmatrix and mma. They need sm_80.
#pragma once

#include "common/vector.cuh"

// The address of shared memory as these instructions take it.
__device__ __forceinline__ unsigned shared_address(const void *p) {
  return unsigned(__cvta_generic_to_shared(p));
}

// Starts to copy 16 bytes from global to shared memory (cp.async), without passing through registers. Unless
// they are `inside`, it writes 16 zeros and reads nothing. Both addresses have to be 16-byte aligned.
__device__ __forceinline__ void copy16(unsigned to, const void *from, bool inside) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(__cvta_generic_to_global(from)),
               "r"(inside ? 16 : 0)
               : "memory");
}

// Writes 16 bytes to shared memory.
__device__ __forceinline__ void store16_shared(unsigned to, unsigned a, unsigned b, unsigned c, unsigned d) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
}

// Closes a group of this thread's copies.
__device__ __forceinline__ void copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most PENDING of this thread's groups are in flight.
template <int PENDING>
__device__ __forceinline__ void copy_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

// Four 8×8 matrices of bf16 from shared memory (ldmatrix); lane l gives the address of row l % 8 of matrix l / 8, and
// gets of each matrix the two neighbours at row l / 4, columns 2·(l % 4) and one on.
__device__ __forceinline__ void load_matrices(unsigned (&m)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
               : "r"(address)
               : "memory");
}

// The same, each matrix transposed: of each the two neighbours at column l / 4, rows 2·(l % 4) and one on.
__device__ __forceinline__ void load_matrices_transposed(unsigned (&m)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
               : "r"(address)
               : "memory");
}

// c += a·bᵀ: a 16×16 in four 8×8 (upper left, lower left, upper right, lower right), b 8×16 in two (left,
// right), c 16×8 in f32. Lane l has of c the elements at row l / 4, columns 2·(l % 4) and one on, and the
// same two of row l / 4 + 8.
__device__ __forceinline__ void mma(float (&c)[4], const unsigned (&a)[4], unsigned b_left,
                                    unsigned b_right) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b_left), "r"(b_right));
}

// acc += a·bᵀ, a fragment of 16×8 accumulators per call of `mma`.
template <int MT, int NT, class Mma>
__device__ __forceinline__ void multiply_fragments(float (&acc)[MT][NT][4], const unsigned (&a)[MT][4],
                                                   const unsigned (&b)[NT / 2][4], Mma mma) {
#pragma unroll
  for (int m = 0; m < MT; m++)
#pragma unroll
    for (int n = 0; n < NT; n++) mma(acc[m][n], a[m], b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1]);
}
