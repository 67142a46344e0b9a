// Powers of 2.
#pragma once

// 2ˣ in one instruction, within 2 units in the last place; below 2⁻¹²⁶ it is 0.
__device__ __forceinline__ float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
