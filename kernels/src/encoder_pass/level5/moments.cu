// Level 5 of encoder_pass, bf16: the moments of each 32 columns of x, as the first block's norm needs them; encoder.cuh
// explains them. The matmuls write those of later blocks.
//   moments (…, C/32) = pairs of sum and squared deviations, x (…, C)
//
// A thread has 8 elements, 16 bytes, and 4 lanes have a part. To be faster: patch_embed could write them, too.
//
// Launch: ⌈chunks/256⌉ blocks of 256 threads, for x of so many chunks of 16 bytes; C is a multiple of 32.
//
// Compiled for sm_90: the launches overlap.
#include "common/overlap.cuh"
#include "encoder_pass/level5/encoder.cuh"

constexpr int THREADS = 256;

extern "C" __global__ void __launch_bounds__(THREADS)
    encoder_moments_bf16_level5(const uint4 *x, float2 *moments, unsigned chunks) {
  const unsigned i = blockIdx.x * THREADS + threadIdx.x;
  wait_for_previous();
  let_next_start();
  const uint4 chunk = i < chunks ? x[i] : make_uint4(0, 0, 0, 0);
  const float2 of_part = moments_of({chunk.x, chunk.y, chunk.z, chunk.w});
  if (i < chunks && i % 4 == 0) moments[i / 4] = of_part;
}
