// Level 5 of encoder_pass, bf16 on Hopper: the attention of a block of `s16`.
//   y = softmax(q·kᵀ/√D)·v        qkv (TOKENS, 3C), y (TOKENS, C)
//
// Against attention's level 5, whose tiles of keys follow one another: 197 keys are few enough to be in shared memory at
// once, for one exact softmax.
//   - A block has 64 queries of a head, 24 blocks in all. Two warpgroups share the keys, 112 each, and join their
//     halves of the softmax, so that each finishes half of the channels.
//   - It overlaps with the launches around it; q and k are asked for at once, and v arrives while q·kᵀ is computed.
//
// Prediction: 3 µs. To be faster: 24 blocks are a fifth of the SMs; 32 queries per block would use more, but wgmma has 64
// rows.
//
// Launch: (6, 4) blocks of 256 threads; BARRIERS + 16 bytes of dynamic shared memory; two tensor maps of qkv by value, with
// boxes of 64 columns and 64 or KEYS rows.
//
// Compiled for sm_90a.
#include "attention/params.cuh"
#include "attention/scores.cuh"
#include "common/hopper.cuh"
#include "common/overlap.cuh"
#include "encoder_pass/level5/encoder.cuh"

constexpr int THREADS = 256, QUERIES = 64;
// Keys of a warpgroup, and of both; those from TOKENS on are zeros.
constexpr int HALF = 112, KEYS = 2 * HALF;
// Shared memory: q, k and v in rows of 128 bytes, what each warpgroup gives to the other, two barriers.
constexpr int K = QUERIES * 128, V = K + KEYS * 128, GIVEN = V + KEYS * 128, BARRIERS = GIVEN + THREADS * 5 * 16;

// The scores' factor, 1/√D, in exp2's units.
constexpr float FACTOR = LOG2_E / 8;

// A warpgroup's share of the attention, of HALF keys. Of each of its two rows a lane has the maximum score m, its share l
// of the sum of exponentials, and o, its share of Σ p·v.
struct Share {
  float m[2] = {-INFINITY, -INFINITY}, l[2] = {}, o[D / 8][4] = {};

  __device__ __forceinline__ void attend(unsigned base, unsigned first_key) {
    float s[HALF / 8][4];
    unsigned long long q = matrix_descriptor(base), k = matrix_descriptor(base + K + first_key * 128);
    mbarrier_wait(base + BARRIERS, 0);
    wgmma_fence();
    wgmma<false>(s, q, k);
#pragma unroll
    for (int i = 1; i < D / 16; i++) wgmma<true>(s, q + 2 * i, k + 2 * i);
    wgmma_commit();
    wgmma_wait<0>();
    // The fragments that may have keys beyond the last token.
    constexpr int WHOLE = (TOKENS - HALF) / 8;
#pragma unroll
    for (int j = WHOLE; j < HALF / 8; j++)
#pragma unroll
      for (int e = 0; e < 4; e++)
        if (first_key + 8 * j + lane_id() % 4 * 2 + e % 2 >= TOKENS) s[j][e] = -INFINITY;
#pragma unroll
    for (int h = 0; h < 2; h++) online_softmax(s, h, FACTOR, m[h], l[h]);
    unsigned p[HALF / 16][4];
#pragma unroll
    for (int j = 0; j < HALF / 16; j++)
#pragma unroll
      for (int e = 0; e < 4; e++) {
        const float(&x)[4] = s[2 * j + e / 2];
        p[j][e] = pack_bf16(x[e % 2 * 2], x[e % 2 * 2 + 1]);
      }
    mbarrier_wait(base + BARRIERS + 8, 0);
    wgmma_fence();
#pragma unroll
    for (int j = 0; j < HALF / 16; j++) // 16 keys are 16 rows
      wgmma(o, p[j], matrix_descriptor(base + V + (first_key + 16 * j) * 128));
    wgmma_commit();
#pragma unroll
    for (int h = 0; h < 2; h++) l[h] = warp_sum<4>(l[h]);
    wgmma_wait<0>();
  }
};

extern "C" __global__ void __launch_bounds__(THREADS)
    encoder_attention_bf16_level5(const __grid_constant__ TensorMap q, const __grid_constant__ TensorMap kv, bf16 *y) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const unsigned base = shared_address(shared), thread = threadIdx.x % 128;
  const unsigned group = __shfl_sync(ALL_LANES, threadIdx.x / 128, 0); // tells the compiler that a warp has one value
  const unsigned channel = blockIdx.x * D, first_row = blockIdx.y * QUERIES;
  if (threadIdx.x == 0) {
    mbarrier_init(base + BARRIERS, 1), mbarrier_init(base + BARRIERS + 8, 1);
    fence_mbarrier_init();
  }
  __syncthreads();
  wait_for_previous();
  let_next_start();
  if (threadIdx.x == 0) {
    fence_proxy_async_global();
    mbarrier_arrive_expect_tx(base + BARRIERS, K + KEYS * 128);
    tma_load(base, &q, first_row, channel, base + BARRIERS);
    tma_load(base + K, &kv, 0, C + channel, base + BARRIERS);
    mbarrier_arrive_expect_tx(base + BARRIERS + 8, KEYS * 128);
    tma_load(base + V, &kv, 0, 2 * C + channel, base + BARRIERS + 8);
  }
  Share own;
  own.attend(base, group * HALF);

  // A warpgroup keeps the channels of its half, and gives the others away.
  float4 *given = reinterpret_cast<float4 *>(shared + GIVEN) + thread;
  const bool keeps_first = group == 0;
#pragma unroll
  for (int j = 0; j < D / 16; j++) {
    float(&half)[4] = own.o[j], (&other)[4] = own.o[j + D / 16];
    float4 away;
    away.x = keeps_first ? other[0] : half[0], away.y = keeps_first ? other[1] : half[1];
    away.z = keeps_first ? other[2] : half[2], away.w = keeps_first ? other[3] : half[3];
    given[(group * 5 + j) * 128] = away;
#pragma unroll
    for (int e = 0; e < 4; e++) half[e] = keeps_first ? half[e] : other[e];
  }
  given[(group * 5 + 4) * 128] = make_float4(own.m[0], own.m[1], own.l[0], own.l[1]);
  __syncthreads();
  given += (1 - group) * 5 * 128;
  const float4 softmax = given[4 * 128];
  float mine[2], theirs[2]; // the factors of the two shares
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const float their_m = h ? softmax.y : softmax.x, their_l = h ? softmax.w : softmax.z;
    const float m = fmaxf(own.m[h], their_m);
    mine[h] = exp2_approx(own.m[h] - m), theirs[h] = exp2_approx(their_m - m);
    const float share = 1.f / (own.l[h] * mine[h] + their_l * theirs[h]);
    mine[h] *= share, theirs[h] *= share;
  }
  const unsigned row = first_row + thread / 4 % 8 + thread / 32 * 16;
  y += row * C + channel + group * (D / 2) + thread % 4 * 2;
#pragma unroll
  for (int j = 0; j < D / 16; j++) {
    const float4 other = given[j * 128];
    const float(&half)[4] = own.o[j];
    auto pair = [&](int h, float a, float b) {
      return pack_bf16(half[2 * h] * mine[h] + a * theirs[h], half[2 * h + 1] * mine[h] + b * theirs[h]);
    };
    if (row < TOKENS) *reinterpret_cast<unsigned *>(y + 8 * j) = pair(0, other.x, other.y);
    if (row + 8 < TOKENS) *reinterpret_cast<unsigned *>(y + 8 * C + 8 * j) = pair(1, other.z, other.w);
  }
}
