// Level 4 of ternary_linear: activations rounded to 8 bits, and dp4a.
//   y = s ⊙ (x·tᵀ) for ternary t
//
// Compared with levels 1 to 3, which multiply with a dequantised matrix: K/4 bytes per row of weights in place of
// 4·K in f32, and four products and additions per instruction. For few rows of x, one launch:
//
//   dp4a, grid (M, ⌈N/32⌉), block 256: every block rounds its row of x for itself, into shared memory
//   (a byte for each activation), while its first weights are in flight.
//
// For many rows, or a row too long for shared memory, two:
//
//   quantize, grid (⌈M/8⌉·8), block 256: rounds a row of x once, for all blocks of the second launch.
//   dp4a_tile, grid (⌈M/8⌉, ⌈N/32⌉), block 256: eight rows of x at a time.
//
// A warp has TN = 4 rows of weights; a lane loads 16 bytes of each, 64 weights, and the activations that
// they meet; shuffles add the lanes up. A word of weights holds 16 codes. Shifted by 0, 2, 4 or 6 bits and
// masked with 0x03030303 it is four codes in four bytes, those of activations j, j + 4, j + 8 and j + 12.
// The activations are interleaved in just that order when they are rounded, so that the weights stay as
// they are stored. The codes are t + 1: Σ q·t = Σ q·(t + 1) − Σ q, so no sign is ever made.
// Per 16 weights: 7 shifts and masks, which serve all rows of x of the warp, and 4 dp4a for each.
//
// Bytes: weights M or ⌈M/8⌉ times (from L2 after the first); x, or q of 8 rows, once per block, mostly from L2; y once.
// To be faster: round in the kernel that makes x, usually a norm; for large M the 8-bit tensor cores
// (mma.sync m16n8k32, sm_80) multiply 32 times as much per instruction as a warp's dp4a.
//
// Measured on an NVIDIA H200: ternary_linear 32x4096x4096 f32 at 96% of the fastest f32 matmul; see kernels/generated/ternary_linear/level4/dp4a.md.

#include "common/vector.cuh"
#include "common/warp.cuh"

constexpr int WARPS = 8;
constexpr int TN = 4;                           // rows of weights per warp
constexpr int TILE_TM = 8;                      // rows of x per warp in the tile kernel
constexpr unsigned STEP = 16 * WARP;            // bytes of a row of weights that a warp loads at a time
constexpr unsigned STEP_GROUPS = STEP * 4 / 16; // groups of 16 activations that those weights meet

// A row of x: q = round(x·c) with c = 127/max(max|x|, 1e-5), and Σ q.
struct Rounded {
  float c;
  int sum;
};

// Bytes of a row's q: whole steps of a warp, four activations to a byte of weights.
__device__ __forceinline__ size_t q_bytes(unsigned stride) { return size_t((stride + STEP - 1) / STEP) * STEP * 4; }

// As warp_sum and warp_max, for integers; every lane gets the result.
__device__ __forceinline__ unsigned warp_sum_u32(unsigned x) {
#pragma unroll
  for (int d = WARP / 2; d > 0; d /= 2) x += __shfl_xor_sync(ALL_LANES, x, d);
  return x;
}
__device__ __forceinline__ unsigned warp_max_u32(unsigned x) {
#pragma unroll
  for (int d = WARP / 2; d > 0; d /= 2) x = max(x, __shfl_xor_sync(ALL_LANES, x, d));
  return x;
}

// Sums of COUNT values over the lanes. The sum of value i goes to the 32/COUNT lanes from i·32/COUNT on. In each step a
// lane sends half of its values to another lane, and adds what it receives to the other half: 31 shuffles for 32 values,
// where 32 separate sums take 160.
template <int COUNT, int D = WARP / 2>
__device__ __forceinline__ int scattered_sum(const int (&values)[COUNT]) {
  if constexpr (D == 0) {
    return values[0];
  } else if constexpr (COUNT == 1) {
    const int sum[1] = {values[0] + __shfl_xor_sync(ALL_LANES, values[0], D)};
    return scattered_sum<1, D / 2>(sum);
  } else {
    const bool upper = lane_id() & D;
    int sums[COUNT / 2];
#pragma unroll
    for (int i = 0; i < COUNT / 2; i++) {
      const int low = values[i], high = values[i + COUNT / 2];
      sums[i] = (upper ? high : low) + __shfl_xor_sync(ALL_LANES, upper ? low : high, D);
    }
    return scattered_sum<COUNT / 2, D / 2>(sums);
  }
}

// Activations k to k + 15, 0 beyond K; four per load where every row is aligned to four elements.
template <class T>
__device__ __forceinline__ void load_group(float4 (&v)[4], const T *x, unsigned k, unsigned K, bool is_aligned) {
  auto at = [&](unsigned k) { return k < K ? widen(x[k]) : 0.f; };
#pragma unroll
  for (unsigned i = 0; i < 4; i++, k += 4)
    v[i] = is_aligned && k < K ? load4(x + k) : make_float4(at(k), at(k + 1), at(k + 2), at(k + 3));
}

// The maximum |x| of a group as bits. Without their signs, the bits of f32 are in the order of their
// values, with NaN above infinity: unlike fmaxf, the maximum of integers does not lose NaN.
__device__ __forceinline__ unsigned max_bits(const float4 (&v)[4]) {
  auto bits = [](float x) { return __float_as_uint(x) & 0x7fffffff; };
  unsigned maximum = 0;
#pragma unroll
  for (int i = 0; i < 4; i++)
    maximum = max(max(maximum, max(bits(v[i].x), bits(v[i].y))), max(bits(v[i].z), bits(v[i].w)));
  return maximum;
}

// round(x·c) of a group, activations j, j + 4, j + 8 and j + 12 in word j; adds them to `sum`.
__device__ __forceinline__ int4 round_group(const float4 (&v)[4], float c, int &sum) {
  auto pack = [&](float a, float b, float d, float e) {
    auto byte = [&](float x) { return __float2int_rn(x * c) & 0xff; };
    const int word = byte(a) | byte(b) << 8 | byte(d) << 16 | byte(e) << 24;
    sum = __dp4a(word, 0x01010101, sum);
    return word;
  };
  return make_int4(pack(v[0].x, v[1].x, v[2].x, v[3].x), pack(v[0].y, v[1].y, v[2].y, v[3].y),
                   pack(v[0].z, v[1].z, v[2].z, v[3].z), pack(v[0].w, v[1].w, v[2].w, v[3].w));
}

// The index in q of a group of 16 activations. In each step of its warp a lane multiplies four groups: the first groups
// of all lanes come first, then the second, third and fourth, so that a warp reads 512 neighbouring bytes.
__device__ __forceinline__ unsigned interleaved_index(unsigned group) {
  return group / STEP_GROUPS * STEP_GROUPS + group % 4 * WARP + group % STEP_GROUPS / 4;
}

// Rounds a row of x into q, with zeros beyond K; all threads of the block get c and the sum, and q is
// there for all of them if it is in shared memory. A thread's first group stays in its registers.
template <class T>
__device__ Rounded round_row(const T *x, int4 *q, unsigned K, unsigned stride) {
  constexpr unsigned THREADS = WARPS * WARP;
  __shared__ unsigned maximum[WARPS], sums[WARPS];
  const unsigned groups = q_bytes(stride) / 16;
  const bool is_aligned = K % 4 == 0 && aligned<4 * sizeof(T)>(x);
  float4 first[4], v[4];
  load_group(first, x, threadIdx.x * 16, K, is_aligned);
  unsigned bits = max_bits(first);
  for (unsigned group = threadIdx.x + THREADS; group < groups; group += THREADS) {
    load_group(v, x, group * 16, K, is_aligned);
    bits = max(bits, max_bits(v));
  }
  bits = warp_max_u32(bits);
  if (lane_id() == 0) maximum[threadIdx.x / WARP] = bits;
  __syncthreads();
  const float max = __uint_as_float(warp_max_u32(maximum[lane_id() % WARPS]));
  const float c = 127.f / (max < 1e-5f ? 1e-5f : max);
  int sum = 0;
  if (threadIdx.x < groups) q[interleaved_index(threadIdx.x)] = round_group(first, c, sum);
  for (unsigned group = threadIdx.x + THREADS; group < groups; group += THREADS) {
    load_group(v, x, group * 16, K, is_aligned);
    q[interleaved_index(group)] = round_group(v, c, sum);
  }
  sum = warp_sum_u32(sum);
  if (lane_id() == 0) sums[threadIdx.x / WARP] = sum;
  __syncthreads();
  return {c, int(warp_sum_u32(lane_id() < WARPS ? sums[lane_id()] : 0))};
}

// This warp's rows of weights, from row n on; beyond the last, that one again.
struct Weights {
  const unsigned char *codes;
  size_t offsets[TN];
  unsigned stride;

  __device__ Weights(const unsigned char *codes, unsigned n, unsigned N, unsigned stride)
      : codes(codes), stride(stride) {
#pragma unroll
    for (int i = 0; i < TN; i++) offsets[i] = size_t(min(n + i, N - 1)) * stride;
  }
  __device__ void load(uint4 (&v)[TN], unsigned byte) const {
    if (byte < stride)
#pragma unroll
      for (int i = 0; i < TN; i++) v[i] = *reinterpret_cast<const uint4 *>(codes + offsets[i] + byte);
  }
};

// acc[m][n] += the 64 codes of each v[n] with row m's activations from q + m·pitch on.
template <int TM>
__device__ __forceinline__ void multiply(int (&acc)[TM * TN], const uint4 (&v)[TN], const signed char *q,
                                         size_t pitch) {
#pragma unroll
  for (int i = 0; i < 4; i++) {
    int4 a[TM];
#pragma unroll
    for (int m = 0; m < TM; m++) a[m] = *reinterpret_cast<const int4 *>(q + m * pitch + i * STEP);
#pragma unroll
    for (int n = 0; n < TN; n++) {
      const unsigned word = i == 0 ? v[n].x : i == 1 ? v[n].y : i == 2 ? v[n].z : v[n].w;
      auto codes = [&](int j) { return int(word >> (2 * j) & 0x03030303); };
#pragma unroll
      for (int m = 0; m < TM; m++) {
        int &sum = acc[m * TN + n];
        sum = __dp4a(a[m].x, codes(0), sum);
        sum = __dp4a(a[m].y, codes(1), sum);
        sum = __dp4a(a[m].z, codes(2), sum);
        sum = __dp4a(a[m].w, codes(3), sum);
      }
    }
  }
}

// acc[m][n] = Σ q·(t + 1) over this lane's weights; v holds its first.
template <int TM>
__device__ __forceinline__ void dots(int (&acc)[TM * TN], const Weights &weights, uint4 (&v)[TN],
                                     const signed char *q, size_t pitch) {
  q += 16 * lane_id();
  for (unsigned byte = 16 * lane_id(); byte < weights.stride; byte += STEP, q += 4 * STEP) {
    multiply<TM>(acc, v, q, pitch);
    weights.load(v, byte + STEP);
  }
}

// x (M, K), codes (N, stride), scales (N), y (M, N); shared memory: q_bytes(stride)
template <class T>
__device__ void ternary_linear_dp4a(const T *x, const unsigned char *codes, const float *scales, T *y, unsigned N,
                                    unsigned K, unsigned stride) {
  extern __shared__ int4 q[];
  const size_t m = blockIdx.x;
  const unsigned first = (blockIdx.y * WARPS + threadIdx.x / WARP) * TN;
  const Weights weights(codes, first, N, stride);
  uint4 v[TN];
  weights.load(v, 16 * lane_id());
  const Rounded row = round_row(x + m * K, q, K, stride);
  int acc[TN] = {};
  dots<1>(acc, weights, v, reinterpret_cast<const signed char *>(q), 0);
  const int total = scattered_sum(acc);
  const unsigned n = first + lane_id() / (WARP / TN);
  if (lane_id() % (WARP / TN) == 0 && n < N) store(y + m * N + n, float(total - row.sum) * (scales[n] / row.c));
}

// q (⌈M/8⌉·8, q_bytes) and its rows, codes (N, stride), scales (N), y (M, N)
template <class T>
__device__ void ternary_linear_dp4a_tile(const signed char *q, const Rounded *rows, const unsigned char *codes,
                                         const float *scales, T *y, unsigned M, unsigned N, unsigned stride) {
  const unsigned first = (blockIdx.y * WARPS + threadIdx.x / WARP) * TN;
  const size_t pitch = q_bytes(stride);
  const Weights weights(codes, first, N, stride);
  uint4 v[TN];
  weights.load(v, 16 * lane_id());
  int acc[TILE_TM * TN] = {};
  dots<TILE_TM>(acc, weights, v, q + size_t(blockIdx.x) * TILE_TM * pitch, pitch);
  static_assert(TILE_TM * TN == WARP, "one sum per lane");
  const int total = scattered_sum(acc);
  const unsigned m = blockIdx.x * TILE_TM + lane_id() / TN, n = first + lane_id() % TN;
  if (m < M && n < N) store(y + size_t(m) * N + n, float(total - rows[m].sum) * (scales[n] / rows[m].c));
}

// x (M, K) to q (⌈M/8⌉·8, q_bytes) and as many rows, of zeros beyond M, so that tiles are whole.
template <class T>
__device__ void ternary_linear_quantize(const T *x, int4 *q, Rounded *rows, unsigned M, unsigned K,
                                        unsigned stride) {
  const size_t m = blockIdx.x;
  const Rounded row = round_row(x + m * K, q + m * (q_bytes(stride) / 16), m < M ? K : 0, stride);
  if (threadIdx.x == 0) rows[m] = row;
}

#define DP4A(NAME, T)                                                                                              \
  extern "C" __global__ void __launch_bounds__(WARPS *WARP)                                                        \
      NAME(const T *__restrict__ x, const unsigned char *__restrict__ codes, const float *__restrict__ scales,     \
           T *__restrict__ y, unsigned N, unsigned K, unsigned stride) {                                           \
    ternary_linear_dp4a(x, codes, scales, y, N, K, stride);                                                        \
  }
#define QUANTIZE(NAME, T)                                                                                          \
  extern "C" __global__ void __launch_bounds__(WARPS *WARP)                                                        \
      NAME(const T *__restrict__ x, int4 *__restrict__ q, Rounded *__restrict__ rows, unsigned M, unsigned K,      \
           unsigned stride) {                                                                                      \
    ternary_linear_quantize(x, q, rows, M, K, stride);                                                             \
  }
#define DP4A_TILE(NAME, T)                                                                                         \
  extern "C" __global__ void __launch_bounds__(WARPS *WARP, 2)                                                     \
      NAME(const signed char *__restrict__ q, const Rounded *__restrict__ rows,                                    \
           const unsigned char *__restrict__ codes, const float *__restrict__ scales, T *__restrict__ y,           \
           unsigned M, unsigned N, unsigned stride) {                                                              \
    ternary_linear_dp4a_tile(q, rows, codes, scales, y, M, N, stride);                                             \
  }

DP4A(ternary_linear_dp4a_f32_level4, float)
QUANTIZE(ternary_linear_quantize_f32_level4, float)
DP4A_TILE(ternary_linear_dp4a_tile_f32_level4, float)
DP4A(ternary_linear_dp4a_bf16_level4, bf16)
QUANTIZE(ternary_linear_quantize_bf16_level4, bf16)
DP4A_TILE(ternary_linear_dp4a_tile_bf16_level4, bf16)
