// Level 4: y = s ⊙ (x·tᵀ) for ternary t with activations rounded to 8 bits and dp4a.
//
// Against levels 1 to 3, which multiply with a dequantised matrix: K/4 bytes a row of weights in place of
// 4·K in f32, and four products and additions an instruction. Two launches:
//
// 1. quantize, grid (M), block 1024: q = round(x·c), c = 127/max(max|x|, 1e-5), and Σ q.
// 2. dp4a, grid (⌈M/TM⌉, ⌈N/16⌉), block 128: a warp has TN = 4 rows of weights and TM rows of x (1 or 4).
//    A lane loads 16 bytes of each row, 64 weights, and as many activations; shuffles add the lanes up.
//
// A word of weights holds 16 codes. Shifted by 0, 2, 4 or 6 bits and masked with 0x03030303 it is four
// codes in four bytes: those of activations j, j + 4, j + 8 and j + 12, j = 0…3. The activations are
// interleaved in just that order when they are rounded, once, so that the weights stay as they are stored.
// The codes are t + 1: Σ q·t = Σ q·(t + 1) − Σ q, so no sign is ever made.
// Per 16 weights: 7 shifts and masks, shared by TM rows of x, and 4 dp4a.
//
// Bytes: weights ⌈M/TM⌉ times (from L2 after the first), x three times, q, y.
// To be faster: round in the kernel that makes x (a norm, usually) and save the first launch; for large M
// the 8-bit tensor cores (mma.sync m16n8k32, sm_80) do 16 times as much an instruction as dp4a.

#include "common/vector.cuh"
#include "common/warp.cuh"

constexpr int QUANTIZE_WARPS = 32;
constexpr int WARPS = 4;
constexpr int TN = 4;        // rows of weights a warp
constexpr int TILE_TM = 4;   // rows of x a warp, where there are several

// The sum, and the greatest, over the lanes of a warp; every lane gets it.
__device__ __forceinline__ unsigned lanes_sum(unsigned x) {
#pragma unroll
  for (int d = WARP / 2; d > 0; d /= 2) x += __shfl_xor_sync(ALL_LANES, x, d);
  return x;
}
__device__ __forceinline__ unsigned lanes_max(unsigned x) {
#pragma unroll
  for (int d = WARP / 2; d > 0; d /= 2) x = max(x, __shfl_xor_sync(ALL_LANES, x, d));
  return x;
}

// 127/max(max|x|, 1e-5) over a row, or NaN where there is one in x; all threads of the block get it.
template <class T>
__device__ float row_scale(const T *x, unsigned K) {
  __shared__ unsigned greatest[QUANTIZE_WARPS];
  // Without their signs, the bits of f32 are in the order of their values, with NaN above infinity:
  // unlike fmaxf, the maximum of integers does not lose NaN.
  unsigned bits = 0;
  for (unsigned k = threadIdx.x; k < K; k += QUANTIZE_WARPS * WARP)
    bits = max(bits, __float_as_uint(widen(x[k])) & 0x7fffffff);
  bits = lanes_max(bits);
  if (lane_id() == 0) greatest[threadIdx.x / WARP] = bits;
  __syncthreads();
  const float max = __uint_as_float(lanes_max(greatest[lane_id()]));
  return 127.f / (max < 1e-5f ? 1e-5f : max);
}

// x (M, K) to q (M, K4), scale (M) and sum (M); K4 is K rounded up to whole rows of weights, q is 0 there.
template <class T>
__device__ void ternary_linear_quantize(const T *x, unsigned *q, float *scale, int *sum, unsigned K,
                                        unsigned K4) {
  __shared__ unsigned sums[QUANTIZE_WARPS];
  x += size_t(blockIdx.x) * K;
  q += size_t(blockIdx.x) * (K4 / 4);
  const float c = row_scale(x, K);
  unsigned total = 0; // wraps as two's complement does
  for (unsigned word = threadIdx.x; word < K4 / 4; word += QUANTIZE_WARPS * WARP) {
    const unsigned k = word / 4 * 16 + word % 4;
    unsigned packed = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const int rounded = k + 4 * i < K ? __float2int_rn(widen(x[k + 4 * i]) * c) : 0;
      packed |= (rounded & 0xffu) << (8 * i);
      total += rounded;
    }
    q[word] = packed;
  }
  total = lanes_sum(total);
  if (lane_id() == 0) sums[threadIdx.x / WARP] = total;
  __syncthreads();
  if (threadIdx.x < WARP) total = lanes_sum(sums[lane_id()]);
  if (threadIdx.x == 0) scale[blockIdx.x] = c, sum[blockIdx.x] = int(total);
}

// acc[m][n] += the 16 codes of each weights[n] with their activations; `q` is that of row 0.
template <int TM>
__device__ __forceinline__ void multiply_word(int (&acc)[TM][TN], const unsigned (&weights)[TN],
                                              const signed char *const (&q)[TM], unsigned at) {
  int codes[TN][4];
#pragma unroll
  for (int n = 0; n < TN; n++)
#pragma unroll
    for (int j = 0; j < 4; j++) codes[n][j] = int(weights[n] >> (2 * j) & 0x03030303);
#pragma unroll
  for (int m = 0; m < TM; m++) {
    const int4 v = *reinterpret_cast<const int4 *>(q[m] + at);
#pragma unroll
    for (int n = 0; n < TN; n++) {
      acc[m][n] = __dp4a(v.x, codes[n][0], acc[m][n]);
      acc[m][n] = __dp4a(v.y, codes[n][1], acc[m][n]);
      acc[m][n] = __dp4a(v.z, codes[n][2], acc[m][n]);
      acc[m][n] = __dp4a(v.w, codes[n][3], acc[m][n]);
    }
  }
}

// q (M, 4·stride), scale (M), sum (M), codes (N, stride), scales (N), y (M, N)
template <int TM, class T>
__device__ void ternary_linear_dp4a(const signed char *q, const float *scale, const int *sum,
                                    const unsigned char *codes, const float *scales, T *y, unsigned M,
                                    unsigned N, unsigned stride) {
  const unsigned m0 = blockIdx.x * TM;
  const unsigned n0 = (blockIdx.y * WARPS + threadIdx.x / WARP) * TN;
  // Beyond the end the last row stands in: it is read, and not written.
  const signed char *x[TM];
  const unsigned char *w[TN];
#pragma unroll
  for (int m = 0; m < TM; m++) x[m] = q + size_t(min(m0 + m, M - 1)) * stride * 4;
#pragma unroll
  for (int n = 0; n < TN; n++) w[n] = codes + size_t(min(n0 + n, N - 1)) * stride;
  int acc[TM][TN] = {};
  for (unsigned byte = 16 * lane_id(); byte < stride; byte += 16 * WARP) {
    uint4 v[TN];
#pragma unroll
    for (int n = 0; n < TN; n++) v[n] = *reinterpret_cast<const uint4 *>(w[n] + byte);
    const unsigned words[4][TN] = {{v[0].x, v[1].x, v[2].x, v[3].x}, {v[0].y, v[1].y, v[2].y, v[3].y},
                                   {v[0].z, v[1].z, v[2].z, v[3].z}, {v[0].w, v[1].w, v[2].w, v[3].w}};
#pragma unroll
    for (int i = 0; i < 4; i++) multiply_word(acc, words[i], x, 4 * byte + 16 * i);
  }
#pragma unroll
  for (int m = 0; m < TM; m++)
#pragma unroll
    for (int n = 0; n < TN; n++) {
      const int total = int(lanes_sum(acc[m][n]));
      if (lane_id() == m * TN + n && m0 + m < M && n0 + n < N)
        store(y + size_t(m0 + m) * N + n0 + n, float(total - sum[m0 + m]) * (scales[n0 + n] / scale[m0 + m]));
    }
}

#define KERNELS(NAME, T)                                                                                       \
  extern "C" __global__ void __launch_bounds__(QUANTIZE_WARPS *WARP)                                           \
      ternary_linear_quantize_##NAME##_level4(const T *__restrict__ x, unsigned *__restrict__ q,               \
                                              float *__restrict__ scale, int *__restrict__ sum, unsigned K,    \
                                              unsigned K4) {                                                   \
    ternary_linear_quantize(x, q, scale, sum, K, K4);                                                          \
  }                                                                                                            \
  extern "C" __global__ void __launch_bounds__(WARPS *WARP) ternary_linear_dp4a_##NAME##_level4(               \
      const signed char *__restrict__ q, const float *__restrict__ scale, const int *__restrict__ sum,         \
      const unsigned char *__restrict__ codes, const float *__restrict__ scales, T *__restrict__ y,            \
      unsigned M, unsigned N, unsigned stride) {                                                               \
    ternary_linear_dp4a<1>(q, scale, sum, codes, scales, y, M, N, stride);                                     \
  }                                                                                                            \
  extern "C" __global__ void __launch_bounds__(WARPS *WARP) ternary_linear_dp4a_tile_##NAME##_level4(          \
      const signed char *__restrict__ q, const float *__restrict__ scale, const int *__restrict__ sum,         \
      const unsigned char *__restrict__ codes, const float *__restrict__ scales, T *__restrict__ y,            \
      unsigned M, unsigned N, unsigned stride) {                                                               \
    ternary_linear_dp4a<TILE_TM>(q, scale, sum, codes, scales, y, M, N, stride);                               \
  }

KERNELS(f32, float)
KERNELS(bf16, bf16)
