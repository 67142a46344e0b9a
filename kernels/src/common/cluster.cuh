// A cluster: blocks that run at the same time and can access each other's shared memory. It needs sm_90.
#pragma once

// This block's rank in its cluster.
__device__ __forceinline__ unsigned cluster_rank() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// cluster_start and cluster_arrive report this thread to the cluster's barrier; cluster_wait waits for all threads of the
// cluster. Either shows that a block runs, so that others may write to its memory; only cluster_arrive makes writes visible.
__device__ __forceinline__ void cluster_start() { asm volatile("barrier.cluster.arrive.relaxed.aligned;"); }
__device__ __forceinline__ void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

// Writes x to the place of `p`, in shared memory, in the block of this rank.
__device__ __forceinline__ void store_remote(float *p, unsigned rank, float x) {
  unsigned at = unsigned(__cvta_generic_to_shared(p));
  asm volatile("{ .reg .b32 remote;\n"
               "  mapa.shared::cluster.u32 remote, %0, %1;\n"
               "  st.shared::cluster.f32 [remote], %2; }" ::"r"(at),
               "r"(rank), "f"(x)
               : "memory");
}
