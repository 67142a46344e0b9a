// Level 4 for few queries: the keys are split over blocks, warps and groups of lanes.
//
// A decode step has one query a head. A block a query, as at level 3, or a tile of queries, as in
// level4.cu, would leave most of the GPU without work, and the step waits for keys and values to come
// from memory: what counts is how many bytes are on their way at a time. So a key is read by a group of
// LANES lanes with 16 bytes each, each group asks for 8 (or 4) keys and their values at once, and a long cache is
// split over several blocks ("Flash-decoding", Dao et al. 2023), whose parts attention_combine joins.
// The queries of one key head share what is read: rows are (t, head of the group), ROWS a block. Their
// dot products are summed over a group by a butterfly in which the lanes hand over half of their values at
// each step: about one shuffle a value in place of log₂ LANES, and each lane ends with its own few scores,
// whose exponentials no other lane computes. Warps do not wait for each other before the end.
// Prediction: the bytes of keys and values once for ROWS rows, at the rate of memory for a long cache; a
// few round trips for a short one. One launch, or two where there is a second split.
// It needs heads that begin and end at multiples of 16 bytes: where they do not, level4.cu has a way.
//
// Launch: grid (splits, Hkv·⌈T·group/ROWS⌉, B), 256 threads, with `split` keys a split. A warp takes every
// eighth PASS of keys, with an online softmax of its own. attention_combine: a block a row of y.
//
// What would make it faster: one launch where the last block to finish joins the splits, which needs a
// counter in memory that outlives the launch.
//
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit e0e5a46be, 2026-11-25):
//   causal_attention_decode 255+1x8x8x64 f32: level 2 11.7, level 3 16.7, level 4 5.3, copy 1.2, PyTorch 34.8, PyTorch compile 9.9
//   causal_attention_decode 255+1x9x3x64 f32: level 2 18.3, level 3 16.6, level 4 6.0, copy 1.1, PyTorch 39.5, PyTorch compile 14.1
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit 207e47f70, 2026-11-25):
//   causal_attention_decode 255+1x8x8x64 bf16: level 2 13.7, level 3 16.6, level 4 4.5, copy 1.1, PyTorch 31.9, PyTorch compile 7.6
//   causal_attention_decode 255+1x9x3x64 bf16: level 2 13.6, level 3 16.7, level 4 6.5, copy 1.1, PyTorch 33.2, PyTorch compile 11.7
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
