// Level 4 of ternary_linear: sums of two activations are looked up in shared memory.
//   y = s ⊙ (x·tᵀ) for ternary t
//
// Compared with levels 1 to 3, which multiply with a dequantised matrix: K/4 bytes per row of weights in place of
// 4·K in f32, and no products. A table holds the nine sums t₀·x₀ + t₁·x₁ of two neighbouring activations; two
// codes of a weight row, a nibble, are the index. T-MAC's tables of four activations, a byte the index,
// would halve the look-ups, but take 171 entries: 684 KiB for K = 4096, where a block has 48.
// For two weights: an address in one instruction (`entry_at`), a load from shared memory and an addition.
//
// Launch: grid (M, ⌈N/32⌉), block 256: a block makes the tables of one row of x, 2048 activations at a
// time, and eight warps look up four rows of weights each. Shared memory 46,464 bytes.
// Bytes: x once for each 32 rows of weights, weights M times (from L2 after the first), y once.
// To be faster: a table serves only 32 rows, since more would leave SMs without work at
// N = 4096; and shared memory answers one look-up of a warp a cycle, 64 weights, in which dp4a does 256:
// see dp4a.cu, which gives up the activations' precision for it.
//
// Measured on an NVIDIA H200: ternary_linear 32x4096x4096 f32 at 23% of the fastest f32 matmul; see kernels/generated/ternary_linear/level4/lut.md.

#include "common/vector.cuh"
#include "common/warp.cuh"

constexpr int WARPS = 8;
constexpr int TN = 4;                 // rows of weights per warp
constexpr int PAIRS = 1024;           // tables at a time: 16 bytes of weights per lane, 32 nibbles
constexpr int NIBBLES = 11;           // the codes 2 and 2 are the nibble 10; 3 and 7 stand for nothing
constexpr unsigned ZEROS = 0x55555555; // sixteen codes 1

// Words of shared memory from one entry of a table to the next: a multiple of the 32 banks, so that the
// bank depends on the pair alone, whatever its weights are.
constexpr int ENTRY = PAIRS + 32;

// The offset of a pair's table, in words, swizzled. Lane l has the pairs 32·l to 32·l + 31, which would all be in one
// bank. It begins with pair l % 8 of each word instead, and each group of eight lanes has its tables eight banks further:
// at every look-up the 32 lanes access 32 banks.
__device__ __forceinline__ int swizzled_offset(int pair) { return pair + pair / 256 * 8; }

// The nine sums of each pair of the activations from `k` on; 0 beyond K.
template <class T>
__device__ void make_tables(float *tables, const T *x, size_t k, size_t K) {
  for (int pair = threadIdx.x; pair < PAIRS; pair += WARPS * WARP) {
    size_t at = k + 2 * pair;
    float a = at < K ? widen(x[at]) : 0.f;
    float b = at + 1 < K ? widen(x[at + 1]) : 0.f;
    float *table = tables + swizzled_offset(pair);
    table[0 * ENTRY] = -a - b, table[1 * ENTRY] = -b, table[2 * ENTRY] = a - b;
    table[4 * ENTRY] = -a, table[5 * ENTRY] = 0.f, table[6 * ENTRY] = a;
    table[8 * ENTRY] = b - a, table[9 * ENTRY] = b, table[10 * ENTRY] = a + b;
  }
}

// Byte `i` of `bytes`, 0 to 15, times the bytes from one entry to the next, plus `offset`: extraction,
// product and sum are one instruction, a dot product of two 16-bit numbers, one of them 0, with two bytes.
template <int i>
__device__ __forceinline__ unsigned entry_at(unsigned bytes, unsigned offset) {
  constexpr unsigned SIZE = ENTRY * sizeof(float);
  constexpr unsigned factors = i % 2 == 0 ? SIZE : SIZE << 16;
  return i < 2 ? __dp2a_lo(factors, bytes, offset) : __dp2a_hi(factors, bytes, offset);
}

// Σ of the 32 entries that 16 bytes of weights stand for. `offsets[j]`: the bytes from the tables' start to
// that of this lane's pair (j + lane) % 8.
__device__ __forceinline__ float look_up(const float *tables, const unsigned (&offsets)[8], uint4 weights) {
  const unsigned words[4] = {weights.x, weights.y, weights.z, weights.w};
  float sum = 0.f;
  auto add = [&](unsigned offset, int word) {
    sum += *reinterpret_cast<const float *>(reinterpret_cast<const char *>(tables + 8 * word) + offset);
  };
#pragma unroll
  for (int i = 0; i < 4; i++) {
    // Rotated, so that nibble j is that of pair (j + lane) % 8 of the word; then one nibble per byte.
    const unsigned word = __funnelshift_r(words[i], words[i], 4 * (lane_id() % 8));
    const unsigned even = word & 0x0f0f0f0f, odd = word >> 4 & 0x0f0f0f0f;
    add(entry_at<0>(even, offsets[0]), i), add(entry_at<0>(odd, offsets[1]), i);
    add(entry_at<1>(even, offsets[2]), i), add(entry_at<1>(odd, offsets[3]), i);
    add(entry_at<2>(even, offsets[4]), i), add(entry_at<2>(odd, offsets[5]), i);
    add(entry_at<3>(even, offsets[6]), i), add(entry_at<3>(odd, offsets[7]), i);
  }
  return sum;
}

// x (M, K), codes (N, stride), scales (N), y (M, N)
template <class T>
__device__ void ternary_linear_lut(const T *x, const unsigned char *codes, const float *scales, T *y,
                                   unsigned N, unsigned K, unsigned stride) {
  __shared__ float tables[NIBBLES * ENTRY];
  const size_t m = blockIdx.x;
  const unsigned n = (blockIdx.y * WARPS + threadIdx.x / WARP) * TN;
  unsigned offsets[8];
#pragma unroll
  for (int j = 0; j < 8; j++)
    offsets[j] = (swizzled_offset(32 * lane_id()) + (j + lane_id()) % 8) * unsigned(sizeof(float));
  float sums[TN] = {};
  for (unsigned start = 0; start < stride; start += 16 * WARP) {
    // The weights are in flight while the tables are made.
    const unsigned byte = start + 16 * lane_id();
    uint4 weights[TN];
#pragma unroll
    for (int r = 0; r < TN; r++) {
      weights[r] = make_uint4(ZEROS, ZEROS, ZEROS, ZEROS);
      if (byte < stride && n + r < N)
        weights[r] = *reinterpret_cast<const uint4 *>(codes + size_t(n + r) * stride + byte);
    }
    __syncthreads(); // all have looked up in the tables before
    make_tables(tables, x + m * K, size_t(start) * 4, K);
    __syncthreads();
#pragma unroll
    for (int r = 0; r < TN; r++) sums[r] += look_up(tables, offsets, weights[r]);
  }
#pragma unroll
  for (int r = 0; r < TN; r++) {
    const float sum = warp_sum(sums[r]);
    if (lane_id() == r && n + r < N) store(y + m * N + n + r, scales[n + r] * sum);
  }
}

extern "C" __global__ void __launch_bounds__(WARPS *WARP)
    ternary_linear_lut_f32_level4(const float *__restrict__ x, const unsigned char *__restrict__ codes,
                                  const float *__restrict__ scales, float *__restrict__ y, unsigned N,
                                  unsigned K, unsigned stride) {
  ternary_linear_lut(x, codes, scales, y, N, K, stride);
}

extern "C" __global__ void __launch_bounds__(WARPS *WARP)
    ternary_linear_lut_bf16_level4(const bf16 *__restrict__ x, const unsigned char *__restrict__ codes,
                                   const float *__restrict__ scales, bf16 *__restrict__ y, unsigned N,
                                   unsigned K, unsigned stride) {
  ternary_linear_lut(x, codes, scales, y, N, K, stride);
}
