// Level 4 of gelu: 16 bytes a thread.
//
//   y = x * (1 + erf(x / sqrt(2))) / 2
//
// Against level 3: a thread has four elements of f32, or eight of bf16, with one load and one store; a
// quarter, or an eighth, of the threads have to be started, and each keeps more bytes in flight. There is no
// row and nothing to add up, so no warp works together here.
// The bytes that have to cross the bus are the same: x in, y out.
//
// Launch: grid ceil(n / (256 * elements in 16 bytes)), block (256).
//
// To be faster: do not launch it; `linear` applies the same function to what it is about to write.
//
// Compiled for sm_75 and sm_80: from sm_80 on one instruction rounds two f32 to bf16, before it takes some ten.
//
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit e0e5a46be, 2026-11-25):
//   gelu 1024x1024 f32: level 2 5.4, level 3 3.4, level 4 2.3, copy 2.2, PyTorch 2.5, PyTorch compile 2.7
//   gelu 4096x4096 f32: level 2 77.7, level 3 52.9, level 4 32.9, copy 33.0, PyTorch 33.2, PyTorch compile 33.9
//   gelu 16384x8192 f32: level 2 612.8, level 3 411.8, level 4 251.4, copy 256.6, PyTorch 252.3, PyTorch compile 252.7
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit 207e47f70, 2026-11-25):
//   gelu 1024x1024 bf16: level 2 5.6, level 3 3.4, level 4 1.8, copy 1.5, PyTorch 2.4, PyTorch compile 2.8
//   gelu 4096x4096 bf16: level 2 78.5, level 3 48.4, level 4 17.6, copy 17.2, PyTorch 22.9, PyTorch compile 24.0
//   gelu 16384x8192 bf16: level 2 622.5, level 3 376.5, level 4 129.8, copy 126.9, PyTorch 167.9, PyTorch compile 172.3
#include "common/activation.cuh"
#include "common/vector.cuh"

constexpr int BLOCK = 256;

template <typename T>
__device__ __forceinline__ void gelu(const T *x, T *y, unsigned n) {
  constexpr int N = PER_16_BYTES<T>;
  const size_t first = (size_t(blockIdx.x) * BLOCK + threadIdx.x) * N;
  if (first + N <= n && aligned(x) && aligned(y)) {
    float v[N];
    load16(x + first, v);
#pragma unroll
    for (int j = 0; j < N; j++) v[j] = gelu(v[j]);
    store16(y + first, v);
  } else {
    for (int j = 0; j < N && first + j < n; j++) store(y + first + j, gelu(widen(x[first + j])));
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
