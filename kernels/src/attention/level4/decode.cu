// Level 4 of attention, for few queries: keys are split over blocks, warps and groups of lanes. Code: decode.cuh.
//
// A decode step has one query per head. One block per query, as at level 3, or one block per tile of queries, as in
// tile_f32.cu, leaves most of the GPU idle, and the step waits for keys and values to come from memory. So what counts
// is how many bytes are in flight:
//   - A group of lanes reads a key together, 16 bytes per lane, and requests 8 (or 4) keys and values before using one.
//   - A long cache is split over several blocks ("Flash-decoding", Dao et al. 2023). attention_combine combines
//     them.
//   - Query heads that share a key head share what is read: a row is (t, query head), ROWS rows per block.
//   - The dot products are summed over a group by a butterfly, a reduce-scatter: each lane hands over half of its
//     values at each step, about one shuffle per value in place of log₂(lanes of a group). Each lane ends with a few
//     scores; where a group has more lanes than scores, neighbours have the same one. Warps wait only at the end.
// Prediction: memory-bound for a long cache, which reads keys and values once for ROWS rows; latency-bound for a short
// one, a few round trips to memory. One launch, and attention_combine where there is more than one split.
// Verdict: for a short cache the prediction held. 256 keys are one split, and their time is far above the bound of their
// bytes and about the same in bf16 as in f32, which has twice the bytes. It is above the time of a copy, too, because the
// recorded op has a second launch, of rope/level4.cu, and a key's scores wait for the key, the exponentials for the scores,
// and the warps for each other. 4097 keys, 17 splits in three launches, take 2.2 times their bound, in bf16 3.9 times.
// Each head of q, k and v has to be 16-byte aligned. The tiles compute the others.
//
// Launch: grid (splits, Hkv·⌈T·H/Hkv/ROWS⌉, B), 256 threads, `keys_per_split` keys per split. Warp w takes passes w,
// w + 8, … of KEYS_PER_PASS keys, with an online softmax of its own. attention_combine: one block per row of y.
//
// To be faster: one launch in which the last block to finish combines the splits. level5/step_split.cu does this with a
// counter in memory that outlives the launch.
//
// Measured on an NVIDIA H200: causal_attention_decode 4096+1x8x8x64 f32 with its other launches at 46% of the memory bandwidth; see kernels/generated/attention/level4/decode.md.
#include "attention/level4/decode.cuh"

// Heads of up to D channels, and ROWS rows per block.
#define DECODE(NAME, T, D, ROWS)                                                                                     \
  extern "C" __global__ void __launch_bounds__(THREADS, 2)                                                           \
      NAME(PARAMS(T), unsigned keys_per_split, float *partial) {                                                     \
    decode<T, D, ROWS>(MAKE_PARAMS(T), keys_per_split, partial);                                                     \
  }

#define COMBINE(NAME, T)                                                                                             \
  extern "C" __global__ void __launch_bounds__(THREADS)                                                              \
      NAME(const float *partial, T *y, unsigned splits, unsigned head_dim) {                                         \
    combine_splits<T>(partial, y, splits, head_dim);                                                                 \
  }

DECODE(attention_decode_d32x1_f32_level4, float, 32, 1)
DECODE(attention_decode_d32x4_f32_level4, float, 32, 4)
DECODE(attention_decode_d64x1_f32_level4, float, 64, 1)
DECODE(attention_decode_d64x4_f32_level4, float, 64, 4)
DECODE(attention_decode_d128x1_f32_level4, float, 128, 1)
DECODE(attention_decode_d128x4_f32_level4, float, 128, 4)
COMBINE(attention_combine_f32_level4, float)
DECODE(attention_decode_d32x1_bf16_level4, bf16, 32, 1)
DECODE(attention_decode_d32x4_bf16_level4, bf16, 32, 4)
DECODE(attention_decode_d64x1_bf16_level4, bf16, 64, 1)
DECODE(attention_decode_d64x4_bf16_level4, bf16, 64, 4)
DECODE(attention_decode_d128x1_bf16_level4, bf16, 128, 1)
DECODE(attention_decode_d128x4_bf16_level4, bf16, 128, 4)
COMBINE(attention_combine_bf16_level4, bf16)
