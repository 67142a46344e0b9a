// f32 on tensor cores: each product of two f32 as three products of TF32 ("3×TF32").
//
// Tensor cores do not multiply f32. They multiply TF32, an f32 whose last 13 bits of the fraction count as zeros, so
// that 10 are left. But what is cut off is itself a number, and exactly so:
//
//     x = high + low        high: the first 10 bits of the fraction        low = x − high: the other 13
//
//     x·w = low·high + high·low + high·high  (+ low·low, at most 2⁻²⁰ of x·w: left out)
//
// That is three products instead of one, on units that do them at many times the rate of an FFMA. The first 11 bits of
// `low` count, so that an x is known to about 2⁻²¹, and a product to a few times that.
//
// The tensor cores' additions need care, too: they truncate where an FFMA rounds to nearest. Each addition then errs
// towards zero, and over a long K those errors add up instead of cancelling: with all of K in one accumulator they soon
// are far larger than those of the split. So each step has accumulators of its own, which start from zero, and an
// ordinary FADD, which rounds, adds them to those of the steps before (ACCUMULATE_PER_STEP). That is one FADD for a
// dozen mma, and the error stays that of the split. "Recovering single precision accuracy from tensor cores while
// surpassing the FP32 theoretical peak performance", Ootomo and Yokota 2022.
//
// An infinite element makes NaN, where an FFMA would make infinity: ∞ − ∞ is its low part.
#pragma once

#include "common/mma.cuh"

// c += a·bᵀ: a 16×8, b 8×8 of TF32, c 16×8 in f32. The 32-bit words lie in the lanes as pairs of bf16 do.
__device__ __forceinline__ void mma_tf32(float (&c)[4], const unsigned (&a)[4], unsigned b_left,
                                         unsigned b_right) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b_left), "r"(b_right));
}

// Matrices of f32, as ldmatrix gives them, in two parts.
template <int COUNT>
struct Split {
  unsigned high[COUNT][4], low[COUNT][4];

  __device__ explicit Split(const unsigned (&x)[COUNT][4]) {
#pragma unroll
    for (int i = 0; i < COUNT; i++)
#pragma unroll
      for (int j = 0; j < 4; j++) {
        high[i][j] = x[i][j] & 0xffffe000u;
        low[i][j] = __float_as_uint(__uint_as_float(x[i][j]) - __uint_as_float(high[i][j]));
      }
  }
};

// f32, 8 columns at a time: acc += a·bᵀ.
struct SplitTf32 {
  using Element = float;
  static constexpr bool ACCUMULATE_PER_STEP = true;

  // ANCHOR: multiply
  template <int MT, int NT>
  __device__ static void multiply(float (&acc)[MT][NT][4], const unsigned (&a)[MT][4],
                                  const unsigned (&b)[NT / 2][4]) {
    Split<MT> x(a);
    Split<NT / 2> w(b);
    multiply_fragments(acc, x.low, w.high, mma_tf32); // the small ones first
    multiply_fragments(acc, x.high, w.low, mma_tf32);
    multiply_fragments(acc, x.high, w.high, mma_tf32);
  }
  // ANCHOR_END: multiply
};

// The two parts of one f32.
__device__ __forceinline__ void split_tf32(float x, unsigned &high, unsigned &low) {
  high = __float_as_uint(x) & 0xffffe000u;
  low = __float_as_uint(x - __uint_as_float(high));
}
