// The end of a decode step in the kernel of its head: the most probable token, and the position of the next step.
//
// Against next_token/level4.cu, whose one block reads all logits once more, and a launch that adds 1 to the position:
//   - Each warp has the largest key of its logits at hand, and each block sends the largest of its own to memory by one
//     atomic maximum. Then it takes a ticket. The block with the last ticket reads the maximum and writes the token.
//   - The fence before the ticket orders the maximum before it, and the fence after the ticket orders the read after
//     it: a block that sees all tickets taken sees all maxima, too ("PTX ISA", memory consistency model).
//   - The ticket goes back to 0 by itself, and the last block resets the maximum, so that a replay starts as the first step did.
// All of it comes after wait_for_previous: the kernels that read the position, and the step before, have ended.
#pragma once

#include "next_token/key.cuh"

// For kernels that end no step.
struct NoStep {
  static constexpr bool CAN_CHOOSE = false;
};

struct NextStep {
  static constexpr bool CAN_CHOOSE = true;
  unsigned *token;      // (1), or null if the kernel does not choose
  const unsigned *from; // (1), the position; or null if the kernel does not advance it
  unsigned *to;         // the same
  Key *largest;         // (2), zeros between steps: the largest key, and in the lower half of the other word the ticket

  // Called by all threads of a block of WARPS warps with the key of one of the n logits each, or 0.
  template <int WARPS>
  __device__ __forceinline__ void choose(Key mine, unsigned n) const {
    __shared__ Key of_warp[WARPS];
    mine = warp_max(mine);
    if (lane_id() == 0) of_warp[threadIdx.x / WARP] = mine;
    __syncthreads();
    if (threadIdx.x > 0) return;
#pragma unroll
    for (int w = 1; w < WARPS; w++) mine = max(mine, of_warp[w]);
    atomicMax(largest, mine);
    __threadfence();
    unsigned last = gridDim.x - 1;
    if (atomicInc(reinterpret_cast<unsigned *>(largest + 1), last) != last) return;
    __threadfence();
    Key key = *largest;
    *token = is_nan(key) ? n : index_of(key);
    *largest = 0;
  }

  // Called by all threads: one of the grid adds 1 to the position.
  __device__ __forceinline__ void advance() const {
    if (from && blockIdx.x == 0 && threadIdx.x == 0) *to = *from + 1;
  }
};
