// Level 5 for few queries: level 4's kernels, told the position by memory.
//
// A CUDA graph repeats its launches with the arguments that they had when it was recorded. A position that is
// an argument makes a recorded decode step good for one token; one that the kernel reads makes it good for
// all of them. What is left to the host is the number of splits: it is that of the last position of a
// bucket, and blocks whose keys are yet to come leave an empty part, which attention_combine gives no weight.
// Prediction: one more load, of an address that all threads share, before the first key: some hundred
// nanoseconds; and the launches of a step cost what a graph's node costs.
//
// Launch: as level4/decode.cu, with `split` and the grid for the last position of the bucket.
// position_set and position_advance: one thread.
//
// What would make it faster: the rotation of rope/level5.cu and this in one launch.
//
// Measured: causal_attention_decode 255+1x8x8x64 f32 at 5% of the memory rate on an NVIDIA H200; see kernels/generated/attention/level5/decode.md.
#include "attention/level4/decode.cuh"

// ANCHOR: at
// The operands of queries that stand at `position` and behind.
template <typename T>
__device__ __forceinline__ Operands<T> at(Operands<T> o, const unsigned *position) {
  o.seen = *position + 1;
  o.keys = *position + o.queries;
  return o;
}
// ANCHOR_END: at

#define DECODE(D, ROWS, NAME, T)                                                                                     \
  extern "C" __global__ void __launch_bounds__(THREADS, 2)                                                           \
      attention_decode_d##D##x##ROWS##_##NAME##_level5(OPERANDS(T), unsigned split, float *partial,                  \
                                                       const unsigned *position) {                                   \
    decode<T, D, ROWS>(at(TAKE_OPERANDS(T), position), split, partial);                                              \
  }

#define KERNELS(NAME, T)                                                                                             \
  DECODE(32, 1, NAME, T)                                                                                             \
  DECODE(32, 4, NAME, T)                                                                                             \
  DECODE(64, 1, NAME, T)                                                                                             \
  DECODE(64, 4, NAME, T)                                                                                             \
  DECODE(128, 1, NAME, T)                                                                                            \
  DECODE(128, 4, NAME, T)

KERNELS(f32, float)
KERNELS(bf16, bf16)

extern "C" __global__ void __launch_bounds__(1) position_set_level5(unsigned *position, unsigned value) {
  *position = value;
}

extern "C" __global__ void __launch_bounds__(1) position_advance_level5(const unsigned *from, unsigned *to,
                                                                         unsigned tokens) {
  *to = *from + tokens;
}
