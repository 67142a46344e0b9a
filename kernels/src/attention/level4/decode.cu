// Level 4 for few queries: the keys are split over blocks, warps and groups of lanes.
//
// A decode step has one query a head. A block a query, as at level 3, or a tile of queries, as in
// tile_f32.cu, would leave most of the GPU without work, and the step waits for keys and values to come
// from memory: what counts is how many bytes are on their way at a time. So a key is read by a group of
// LANES lanes with 16 bytes each, each group asks for 8 (or 4) keys and their values at once, and a long cache is
// split over several blocks ("Flash-decoding", Dao et al. 2023), whose parts attention_combine joins.
// The queries of one key head share what is read: rows are (t, head of the group), ROWS a block. Their
// dot products are summed over a group by a butterfly in which the lanes hand over half of their values at
// each step: about one shuffle a value in place of log₂ LANES, and each lane ends with its own few scores,
// whose exponentials no other lane computes. Warps do not wait for each other before the end.
// Prediction: the bytes of keys and values once for ROWS rows, at the rate of memory for a long cache; a
// few round trips for a short one. One launch, and attention_combine where there is a second split.
// It needs heads that begin and end at multiples of 16 bytes: where they do not, tile_f32.cu has a way.
//
// Launch: grid (splits, Hkv·⌈T·group/ROWS⌉, B), 256 threads, with `split` keys a split. A warp takes every
// eighth PASS of keys, with an online softmax of its own. attention_combine: a block a row of y.
//
// What would make it faster: one launch where the last block to finish joins the splits, which needs a
// counter in memory that outlives the launch.
//
// Measured: causal_attention_decode 255+1x8x8x64 f32 at 5% of the memory rate on an NVIDIA H200; see kernels/generated/attention/level4/decode.md.
#include "attention/level4/decode.cuh"

#define DECODE(D, ROWS, NAME, T)                                                                                     \
  extern "C" __global__ void __launch_bounds__(THREADS, 2)                                                           \
      attention_decode_d##D##x##ROWS##_##NAME##_level4(OPERANDS(T), unsigned split, float *partial) {                \
    decode<T, D, ROWS>(TAKE_OPERANDS(T), split, partial);                                                            \
  }

#define KERNELS(NAME, T)                                                                                             \
  DECODE(32, 1, NAME, T)                                                                                             \
  DECODE(32, 4, NAME, T)                                                                                             \
  DECODE(64, 1, NAME, T)                                                                                             \
  DECODE(64, 4, NAME, T)                                                                                             \
  DECODE(128, 1, NAME, T)                                                                                            \
  DECODE(128, 4, NAME, T)                                                                                            \
  extern "C" __global__ void __launch_bounds__(THREADS)                                                              \
      attention_combine_##NAME##_level4(const float *partial, T *y, unsigned splits, unsigned d) {                   \
    combine<T>(partial, y, splits, d);                                                                               \
  }

KERNELS(f32, float)
KERNELS(bf16, bf16)
