// Powers of 2.
#pragma once

// 2ˣ in one instruction, within 2 units in the last place. Results below 2⁻¹²⁶ are flushed to 0.
__device__ __forceinline__ float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
