// Reductions over the lanes of a warp by shuffles, and over the warps that share a row.
//
// A shuffle reads a register of another lane: no shared memory, no barrier, five steps for 32 lanes. In
// each step a lane adds what the lane at distance d holds (d = 16, 8, 4, 2, 1); since both do so, all
// lanes end with the same result, bit by bit, and none has to tell the others.
#pragma once

constexpr int WARP = 32;
constexpr unsigned ALL_LANES = 0xffffffffu;

// This thread's place in its warp.
__device__ __forceinline__ int lane_id() { return threadIdx.x % WARP; }

// ANCHOR: warp_sum
// The sum of x over groups of LANES neighbouring lanes, a power of two; every lane gets its group's.
// All 32 lanes of the warp have to call it.
template <int LANES = WARP>
__device__ __forceinline__ float warp_sum(float x) {
#pragma unroll
  for (int d = LANES / 2; d > 0; d /= 2) x += __shfl_xor_sync(ALL_LANES, x, d);
  return x;
}
// ANCHOR_END: warp_sum

// As warp_sum, the greatest x. NaN is left out, as fmaxf leaves it out, unless all are.
template <int LANES = WARP>
__device__ __forceinline__ float warp_max(float x) {
#pragma unroll
  for (int d = LANES / 2; d > 0; d /= 2) x = fmaxf(x, __shfl_xor_sync(ALL_LANES, x, d));
  return x;
}

// The threads of one threadIdx.y wait for each other, and for no others: barrier 1 + threadIdx.y of the 16
// that a block has. Other rows may have returned.
__device__ __forceinline__ void row_barrier() {
  asm volatile("bar.sync %0, %1;" ::"r"(1 + threadIdx.y), "r"(blockDim.x) : "memory");
}

// Beyond a warp: what the warps of one threadIdx.y have, a value each, in the lanes of every one of them; `otherwise`
// in the lanes that are left. All threads of the row have to call it, and `scratch` holds blockDim.x / 32 floats in
// shared memory for each threadIdx.y. The first barrier waits for those that still read an earlier result, so that
// one scratch serves any number of calls.
__device__ __forceinline__ float gather_warps(float x, float *scratch, float otherwise) {
  const int warps = blockDim.x / WARP;
  scratch += threadIdx.y * warps;
  row_barrier();
  if (lane_id() == 0) scratch[threadIdx.x / WARP] = x;
  row_barrier();
  return lane_id() < warps ? scratch[lane_id()] : otherwise;
}

// The sum of x over the threads of one threadIdx.y, a warp or several: 32, 64, ... 1024 = blockDim.x of
// them; every one gets it. `scratch` as of gather_warps.
__device__ __forceinline__ float row_sum(float x, float *scratch) {
  x = warp_sum(x);
  return blockDim.x == WARP ? x : warp_sum(gather_warps(x, scratch, 0.f));
}

// As row_sum, the greatest x.
__device__ __forceinline__ float row_max(float x, float *scratch) {
  x = warp_max(x);
  return blockDim.x == WARP ? x : warp_max(gather_warps(x, scratch, x));
}
