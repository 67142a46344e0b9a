// Reductions over the lanes of a warp by shuffles, and over the warps that share a row.
//
// A shuffle reads a register of another lane: no shared memory, no barrier, five steps for 32 lanes. In
// each step a lane adds the value of the lane at distance d (d = 16, 8, 4, 2, 1). Both lanes of a pair do so, and all
// lanes end with the same result, bit by bit: no lane has to broadcast it.
#pragma once

constexpr int WARP = 32;
constexpr unsigned ALL_LANES = 0xffffffffu;

// This thread's lane, 0 to 31.
__device__ __forceinline__ int lane_id() { return threadIdx.x % WARP; }

// ANCHOR: warp_sum
// The sum of x over WIDTH neighbouring lanes, a power of two: lanes 0 to WIDTH - 1, the next WIDTH, and so on. Each lane
// gets the sum that it is part of. All 32 lanes of the warp have to call it.
template <int WIDTH = WARP>
__device__ __forceinline__ float warp_sum(float x) {
#pragma unroll
  for (int d = WIDTH / 2; d > 0; d /= 2) x += __shfl_xor_sync(ALL_LANES, x, d);
  return x;
}
// ANCHOR_END: warp_sum

// As warp_sum, the maximum of x. fmaxf returns the operand that is not NaN, so the result is NaN only if all are.
template <int WIDTH = WARP>
__device__ __forceinline__ float warp_max(float x) {
#pragma unroll
  for (int d = WIDTH / 2; d > 0; d /= 2) x = fmaxf(x, __shfl_xor_sync(ALL_LANES, x, d));
  return x;
}

// A barrier for the threads of one row, those with the same threadIdx.y: row y uses barrier y of the block's 16.
// Threads of other rows do not wait, and may have returned. A row of one warp needs no barrier, and a block has at most
// four rows of several warps: 256 threads in all. The numbers are constants because ptxas reserves all 16 barriers of a
// block for a number in a register: an SM then has room for 4 blocks on an H200, 2 on a T4, 1 on an RTX 30.
__device__ __forceinline__ void row_barrier() {
  switch (threadIdx.y) {
    case 0: asm volatile("bar.sync 0, %0;" ::"r"(blockDim.x) : "memory"); break;
    case 1: asm volatile("bar.sync 1, %0;" ::"r"(blockDim.x) : "memory"); break;
    case 2: asm volatile("bar.sync 2, %0;" ::"r"(blockDim.x) : "memory"); break;
    default: asm volatile("bar.sync 3, %0;" ::"r"(blockDim.x) : "memory");
  }
}

// Gathers one value per warp of this thread's row: lane i of each warp gets the x of warp i, and lanes without a warp get
// `fill`. All threads of the row have to call it with an x that is the same in all lanes of a warp. `scratch` is shared
// memory, blockDim.x / 32 floats for each threadIdx.y. The first barrier waits for threads that still read an earlier
// result, so that one scratch serves any number of calls.
__device__ __forceinline__ float gather_warps(float x, float *scratch, float fill) {
  const int warps = blockDim.x / WARP;
  scratch += threadIdx.y * warps;
  row_barrier();
  if (lane_id() == 0) scratch[threadIdx.x / WARP] = x;
  row_barrier();
  return lane_id() < warps ? scratch[lane_id()] : fill;
}

// The sum of x over the threads of one threadIdx.y, blockDim.x of them: 32, 64, ... 1024. Every thread gets it.
// `scratch` as in gather_warps.
__device__ __forceinline__ float row_sum(float x, float *scratch) {
  x = warp_sum(x);
  return blockDim.x == WARP ? x : warp_sum(gather_warps(x, scratch, 0.f));
}

// As row_sum, the maximum of x.
__device__ __forceinline__ float row_max(float x, float *scratch) {
  x = warp_max(x);
  return blockDim.x == WARP ? x : warp_max(gather_warps(x, scratch, x));
}
