// Level 5 of decoder_pass: how x comes from f32 into its dtype after the last block.
//   y = x plus its partial sums
// x and y (H), parts (16, H).
//
// Launch: one block of H/2 threads. A thread has two columns.
//
// To be faster: the head could do it, if its blocks did not all read the partial sums then.
//
// Compiled for sm_90a: with the others.
#include "decoder_pass/level5/cluster.cuh"

constexpr int MOST_THREADS = 288; // for 576 columns

template <class E>
__device__ __forceinline__ void end(const Sums &p, E *y, unsigned h) {
  const int c = threadIdx.x * 2;
  wait_for_previous();
  let_next_start();
  const float2 v = sum_of_parts<MLP_CLUSTERS>(p, c, h);
  store(y + c, v.x), store(y + c + 1, v.y);
}

#define END(E, NAME)                                                                                                   \
  extern "C" __global__ void __launch_bounds__(MOST_THREADS)                                                           \
      decoder_end_##NAME##_level5(const float *x, const float *parts, E *y, unsigned h) {                              \
    end({x, parts, nullptr, nullptr}, y, h);                                                                           \
  }

END(bf16, bf16)
END(float, f32)
