// Programmatic dependent launch: a kernel that starts before the one before it has ended. kernels/src/launch/chain.rs
// explains it. From compute capability 9.0 on; before, these functions do nothing, and launches wait for each other.
//
// A kernel loads before wait_for_previous only what no kernel before it in the chain writes, and loads it by an asm volatile, such
// as load16_at_once: the compiler may move other loads below the wait. What the kernels before wrote must not be loaded through
// const T *__restrict__: such loads (ld.global.nc) may rise above the wait.
//
// The place of let_next_start was chosen by measurement. At the top, the next kernel has the most time to load its weights.
// After the wait, these loads do not compete with this kernel's own. benches/NOTES.md has the times.
#pragma once

#include "common/vector.cuh"

// Lets the next kernel of the stream start as soon as every block of this one has called it or ended.
__device__ __forceinline__ void let_next_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// Waits until the kernels before this one in the stream have ended and what they wrote can be read.
__device__ __forceinline__ void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Loads 16 bytes, or zeros unless `inside`. `volatile` keeps the loads where they stand: the compiler would move each to
// where its value is used, which saves registers and costs a trip to memory. A predicate instead of a branch lets the next
// load start at once.
__device__ __forceinline__ uint4 load16_at_once(const void *p, bool inside) {
  uint4 x = make_uint4(0, 0, 0, 0);
  asm volatile("{ .reg .pred inside;\n"
               "  setp.ne.u32 inside, %5, 0;\n"
               "  @inside ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4]; }"
               : "+r"(x.x), "+r"(x.y), "+r"(x.z), "+r"(x.w)
               : "l"(p), "r"(unsigned(inside)));
  return x;
}

// Loads one element where it stands, for the same reason.
__device__ __forceinline__ float load_at_once(const float *p) {
  float x;
  asm volatile("ld.volatile.global.f32 %0, [%1];" : "=f"(x) : "l"(p));
  return x;
}
__device__ __forceinline__ float load_at_once(const bf16 *p) {
  bf16 x;
  asm volatile("ld.volatile.global.u16 %0, [%1];" : "=h"(x.bits) : "l"(p));
  return widen(x);
}

// Loads an element long before it is used. Without this the compiler would move the load to its use, where the thread
// would wait for memory.
__device__ __forceinline__ float load_early(const float *p) {
  float x = *p;
  asm volatile("" : "+f"(x));
  return x;
}
__device__ __forceinline__ bf16 load_early(const bf16 *p) {
  bf16 x = *p;
  asm volatile("" : "+h"(x.bits));
  return x;
}

// Delays the first use until all chunks have arrived: it ORs a zero made of all of them into chunk 0. So the compiler has
// no reason to request a chunk only after it has used another one, each a trip to memory. `zero` has to be 0, and the
// compiler must not know it.
template <int N>
__device__ __forceinline__ void await_all(uint4 (&chunks)[N], unsigned zero) {
  unsigned all = 0;
#pragma unroll
  for (int i = 1; i < N; i++) all |= chunks[i].w;
  all &= zero;
  chunks[0].x |= all, chunks[0].y |= all, chunks[0].z |= all, chunks[0].w |= all;
}

// Loads 16 bytes through L1, for operands that the SM's other warps load, too, such as x: L2 is asked once. A volatile
// load goes to L2 each time, where all warps of the GPU would wait for the few lines of one row. Unlike load16_at_once, the
// compiler may move this load down: see await_all.
__device__ __forceinline__ uint4 load16_through_l1(const void *p, bool inside) {
  uint4 x = make_uint4(0, 0, 0, 0);
  asm volatile("{ .reg .pred inside;\n"
               "  setp.ne.u32 inside, %5, 0;\n"
               "  @inside ld.global.v4.u32 {%0, %1, %2, %3}, [%4]; }"
               : "+r"(x.x), "+r"(x.y), "+r"(x.z), "+r"(x.w)
               : "l"(p), "r"(unsigned(inside))
               : "memory");
  return x;
}
