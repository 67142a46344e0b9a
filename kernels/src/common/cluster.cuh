// A cluster: blocks that run at the same time and can access each other's shared memory. It needs sm_90.
#pragma once

// This block's rank in its cluster.
__device__ __forceinline__ unsigned cluster_rank() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
