// f32 on tensor cores as FP16: each product of two f32 as three products of FP16.
//
//     x = high + low/2048        high: x rounded to FP16        low: what is left, times 2048, rounded, too
//
//     x·w = high·high + (high·low + low·high)/2048  (+ low·low/2048²: left out)
//
// FP16 has the 11 bits of TF32 (split_tf32.cuh) in half the bytes, and tensor cores multiply it at twice the rate. Both parts
// round, so that the error is about 2⁻²³ of |x|·|w|. What TF32 has and FP16 lacks is the range of f32: |x| has to be below 65504,
// and below 2⁻¹⁴ the error is 2⁻³⁶, no fraction of |x|. A caller knows such bounds, or scales by a power of two.
#pragma once

// Two f32 rounded to FP16, `low` in the lower half.
__device__ __forceinline__ unsigned pack_f16(float low, float high) {
  unsigned packed;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

// The f32 of the lower and of the upper half of two packed FP16.
__device__ __forceinline__ float unpack_f16_low(unsigned packed) {
  float x;
  asm("{ .reg .b16 l, h; mov.b32 {l, h}, %1; cvt.f32.f16 %0, l; }" : "=f"(x) : "r"(packed));
  return x;
}
__device__ __forceinline__ float unpack_f16_high(unsigned packed) {
  float x;
  asm("{ .reg .b16 l, h; mov.b32 {l, h}, %1; cvt.f32.f16 %0, h; }" : "=f"(x) : "r"(packed));
  return x;
}

// The two parts of two f32.
__device__ __forceinline__ void split_f16(float a, float b, unsigned &high, unsigned &low) {
  high = pack_f16(a, b);
  low = pack_f16((a - unpack_f16_low(high)) * 2048.f, (b - unpack_f16_high(high)) * 2048.f);
}
