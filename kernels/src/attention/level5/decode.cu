// Level 5 for few queries: level 4's kernels, told the position by memory.
//
// A CUDA graph repeats its launches with the arguments that they had when it was recorded. A position that is
// an argument makes a recorded decode step good for one token; one that the kernel reads makes it good for
// all of them. What is left to the host is the number of splits: it is that of the last position of a
// bucket, and blocks whose keys are yet to come leave an empty part, which attention_combine gives no weight.
// Prediction: one more load, of an address that all threads share, before the first key: some hundred
// nanoseconds; and the launches of a step cost what a graph's node costs.
//
// Launch: as level4_decode.cu, with `split` and the grid for the last position of the bucket.
// position_set and position_advance: one thread.
//
// What would make it faster: the rotation of level5.cu in `rope` and this in one launch.
//
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit e0e5a46be, 2026-11-25):
//   causal_attention_decode 255+1x8x8x64 f32: level 2 11.7, level 3 16.7, level 4 5.3, level 5 5.3, copy 1.2, PyTorch 34.8, PyTorch compile 9.9
//   causal_attention_decode 255+1x9x3x64 f32: level 2 18.3, level 3 16.6, level 4 6.0, level 5 6.0, copy 1.1, PyTorch 39.5, PyTorch compile 14.1
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit 207e47f70, 2026-11-25):
//   causal_attention_decode 255+1x8x8x64 bf16: level 2 13.7, level 3 16.6, level 4 4.5, level 5 4.5, copy 1.1, PyTorch 31.9, PyTorch compile 7.6
//   causal_attention_decode 255+1x9x3x64 bf16: level 2 13.6, level 3 16.7, level 4 6.5, level 5 6.6, copy 1.1, PyTorch 33.2, PyTorch compile 11.7
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
