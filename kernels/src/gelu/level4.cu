// Level 4 of gelu: 16 bytes per thread.
//
//   y = x * (1 + erf(x / sqrt(2))) / 2
//
// Compared with level 3: a thread has four elements of f32, or eight of bf16, with one load and one store. So a quarter
// or an eighth of the threads are launched, and each has more bytes in flight. The formula is another one, of 13
// instructions (common/activation.cuh). There is nothing to add up, so the lanes of a warp do not work together.
// The bytes that memory has to move are the same: x in, y out.
//
// Launch: grid ceil(n / (256 * elements in 16 bytes)), block (256).
//
// To be faster: do not launch it; `linear` applies the same function in its epilogue.
//
// Compiled for sm_75 and sm_80: from sm_80 on, one instruction rounds two f32 to bf16; older GPUs need about ten.
//
// Measured on an NVIDIA H200: gelu 16384x8192 f32 at 100% of the memory bandwidth; see kernels/generated/gelu/level4.md.
#include "common/activation.cuh"
#include "common/vector.cuh"

constexpr int BLOCK = 256;

template <typename T>
__device__ __forceinline__ void gelu(const T *x, T *y, unsigned n) {
  constexpr int PER_CHUNK = PER_16_BYTES<T>;
  const size_t first = (size_t(blockIdx.x) * BLOCK + threadIdx.x) * PER_CHUNK;
  if (first + PER_CHUNK <= n && aligned(x) && aligned(y)) {
    float v[PER_CHUNK];
    load16(x + first, v);
#pragma unroll
    for (int j = 0; j < PER_CHUNK; j++) v[j] = gelu(v[j]);
    store16(y + first, v);
  } else {
    for (int j = 0; j < PER_CHUNK && first + j < n; j++) store(y + first + j, gelu(widen(x[first + j])));
  }
}

// x and y (n).
extern "C" __global__ void __launch_bounds__(BLOCK) gelu_f32_level4(const float *x, float *y, unsigned n) {
  gelu(x, y, n);
}

// x and y (n).
extern "C" __global__ void __launch_bounds__(BLOCK) gelu_bf16_level4(const bf16 *x, bf16 *y, unsigned n) {
  gelu(x, y, n);
}
