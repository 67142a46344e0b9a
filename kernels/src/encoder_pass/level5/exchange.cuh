// How the blocks of encoder_pass exchange what they compute: rows of a cluster through shared memory, k and v of all clusters
// through global memory.
//
// Only the threads that need bytes of another block wait for them (store_async), and there is no barrier of the whole cluster.
#pragma once

#include "encoder_pass/level5/encoder.cuh"

__device__ __forceinline__ unsigned transpose_matrix(unsigned m) {
  unsigned t;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(t) : "r"(m));
  return t;
}

// 16 bytes of global memory that other blocks write, or read, during the kernel: from the L2 cache, and to it.
__device__ __forceinline__ uint4 load_shared_by_all(const uint4 *p) {
  uint4 x;
  asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
               : "l"(p)
               : "memory");
  return x;
}
__device__ __forceinline__ void store_shared_by_all(uint4 *p, uint4 x) {
  asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w)
               : "memory");
}
__device__ __forceinline__ void fence_gpu() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

// The largest of four words: NONE if one is.
__device__ __forceinline__ unsigned largest(uint4 x) { return max(max(x.x, x.y), max(x.z, x.w)); }

// A wait that began at clock `start`, 0 for the first call, ends the program after 2³⁵ cycles, 17 s: a block that never comes
// would hang the GPU.
__device__ __forceinline__ void check_time(long long &start) {
  if (start == 0) start = clock64();
  if (clock64() - start > 1ll << 35) __trap();
}

// Vectors of a layer, which no kernel writes. `volatile` keeps the loads where they stand.
__device__ __forceinline__ float load_vector(const float *p) {
  float x;
  asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(x) : "l"(p));
  return x;
}
__device__ __forceinline__ float4 load_vector4(const float *p) {
  float4 x;
  asm volatile("ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w) : "l"(p));
  return x;
}

// 16 bytes from shared memory; 8 to it.
__device__ __forceinline__ uint4 load16_shared(unsigned from) {
  uint4 x;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
               : "r"(from)
               : "memory");
  return x;
}
__device__ __forceinline__ void store8_shared(unsigned to, unsigned a, unsigned b) {
  asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(to), "r"(a), "r"(b) : "memory");
}
