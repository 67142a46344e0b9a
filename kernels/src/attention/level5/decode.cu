// Level 5 of attention, for few queries: level 4's kernels, which read the position from the device's memory.
//
// A CUDA graph repeats its launches with the arguments that they had when it was recorded. A position that is an
// argument makes a recorded decode step good for one token; one that the kernel reads makes it good for all tokens.
// The host still chooses the number of splits: that of the last position of a bucket. Blocks whose keys are yet to
// come leave an empty part, to which attention_combine (level4/decode.cu) gives the weight 0.
// Prediction: one more load before the first key, of an address that all threads share: a hit in L2, about 0.2 µs.
// The launches of a step cost what a graph's nodes cost.
//
// Launch: as level4/decode.cu, with `keys_per_split` and the grid for the last position of the bucket.
//
// To be faster: the rotation of rope/level5.cu and this in one launch, as in step_split.cu and step_cluster.cu.
//
// Measured on an NVIDIA H200: causal_attention_decode 4096+1x8x8x64 f32 with its other launches at 46% of the memory bandwidth; see kernels/generated/attention/level5/decode.md.
#include "attention/level4/decode.cuh"

// ANCHOR: at
// The parameters of queries that stand at `position` and after.
template <typename T>
__device__ __forceinline__ Params<T> at_position(Params<T> params, const unsigned *position) {
  params.visible_to_first = *position + 1;
  params.keys = *position + params.queries;
  return params;
}
// ANCHOR_END: at

// Heads of up to D channels, and ROWS rows per block.
#define DECODE(NAME, T, D, ROWS)                                                                                     \
  extern "C" __global__ void __launch_bounds__(THREADS, 2)                                                           \
      NAME(PARAMS(T), unsigned keys_per_split, float *partial, const unsigned *position) {                           \
    decode<T, D, ROWS>(at_position(MAKE_PARAMS(T), position), keys_per_split, partial);                              \
  }

DECODE(attention_decode_d32x1_f32_level5, float, 32, 1)
DECODE(attention_decode_d32x4_f32_level5, float, 32, 4)
DECODE(attention_decode_d64x1_f32_level5, float, 64, 1)
DECODE(attention_decode_d64x4_f32_level5, float, 64, 4)
DECODE(attention_decode_d128x1_f32_level5, float, 128, 1)
DECODE(attention_decode_d128x4_f32_level5, float, 128, 4)
DECODE(attention_decode_d32x1_bf16_level5, bf16, 32, 1)
DECODE(attention_decode_d32x4_bf16_level5, bf16, 32, 4)
DECODE(attention_decode_d64x1_bf16_level5, bf16, 64, 1)
DECODE(attention_decode_d64x4_bf16_level5, bf16, 64, 4)
DECODE(attention_decode_d128x1_bf16_level5, bf16, 128, 1)
DECODE(attention_decode_d128x4_bf16_level5, bf16, 128, 4)
