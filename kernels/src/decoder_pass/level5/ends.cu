// Level 5 of decoder_pass: how x comes from bf16 into f32 before the first block, and back into its dtype after the last.
//   begin, only bf16: x_out = x, and partial sums of 0
//   end: y = x plus its partial sums
// x and y (H), parts (16, H).
//
// Launch: begin, 16 blocks of H/2 threads, one per row of parts; end, one block of H/2 threads. A thread has two columns.
//
// To be faster: the embedding and the head could do both.
//
// Compiled for sm_90a: with the others.
#include "decoder_pass/level5/cluster.cuh"

constexpr int MOST_THREADS = 288; // for 576 columns

extern "C" __global__ void __launch_bounds__(MOST_THREADS)
    decoder_begin_bf16_level5(const bf16 *x, float *x_out, float *parts, unsigned h) {
  const unsigned c = threadIdx.x * 2;
  wait_for_previous();
  let_next_start();
  *reinterpret_cast<float2 *>(parts + blockIdx.x * h + c) = make_float2(0.f, 0.f);
  if (blockIdx.x == 0) *reinterpret_cast<float2 *>(x_out + c) = make_float2(load_at_once(x + c), load_at_once(x + c + 1));
}

template <class E>
__device__ __forceinline__ void end(const float *x, const float *parts, E *y, unsigned h) {
  const int c = threadIdx.x * 2;
  wait_for_previous();
  let_next_start();
  const float2 v = sum_of_parts<MLP_CLUSTERS>(x, parts, c, h);
  store(y + c, v.x), store(y + c + 1, v.y);
}

#define END(E, NAME)                                                                                                   \
  extern "C" __global__ void __launch_bounds__(MOST_THREADS)                                                           \
      decoder_end_##NAME##_level5(const float *x, const float *parts, E *y, unsigned h) {                              \
    end(x, parts, y, h);                                                                                               \
  }

END(bf16, bf16)
END(float, f32)
