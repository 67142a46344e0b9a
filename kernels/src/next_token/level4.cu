// Level 4 of next_token: the maximum of V logits, and the k largest with their probabilities.
//
// Against level 3: there candle finds the maximum, and for a draw all V probabilities cross the bus to the
// host, which sorts them. Here 4 bytes cross it, or 8 k.
//
// One block of 1024 threads reads the logits, eight at a time (two loads of 16 bytes in f32): V is some ten
// thousand, and more blocks would need a second launch to compare their results. One SM's share of the
// cache's bandwidth limits it.
//
// A logit and its index become one integer, the key, whose order is the wanted one (key.cuh): the maximum key needs one
// reduction. The k-th largest is found digit by digit (radix select):
// count how many keys have each value of the highest 8 bits, see which value the k-th key has, look at the next
// 8 bits of those keys, and stop as soon as no more than 1024 keys are left: those are sorted. Mostly that is
// after the first digit.
//
// Launch: grid (1), block (1024).
//
// Compiled for sm_75 and sm_90: from sm_90 on, a launch of level 5's decode step may overlap with the one before.
//
// To be faster: share the logits out over several blocks, or take the maximum in the epilogue of
// the matmul that makes them, as level 5 does in a decode step (linear/level5/next_step.cuh).
//
// Measured on an NVIDIA H200: next_token 10000 f32 at less than 1% of the memory bandwidth; see kernels/generated/next_token/level4.md.
#include "common/overlap.cuh"
#include "common/vector.cuh"
#include "next_token/key.cuh"

constexpr int THREADS = 1024;
constexpr int DIGITS = 256; // values of 8 bits
constexpr int MAX_K = 1024; // keys that the block sorts

// Calls f(logit, its index) for each. Loads eight at once if `logits` is 16-byte aligned.
template <typename T, typename F>
__device__ __forceinline__ void each(const T *logits, unsigned vocab, F f) {
  constexpr unsigned PER_CHUNK = PER_16_BYTES<T>, TOGETHER = 8;
  const unsigned whole = aligned(logits) ? vocab / TOGETHER * TOGETHER : 0;
#pragma unroll 1
  for (unsigned i = threadIdx.x * TOGETHER; i < whole; i += THREADS * TOGETHER) {
    float x[TOGETHER / PER_CHUNK][PER_CHUNK];
#pragma unroll
    for (unsigned b = 0; b < TOGETHER / PER_CHUNK; b++) load16(logits + i + b * PER_CHUNK, x[b]);
#pragma unroll
    for (unsigned j = 0; j < TOGETHER; j++) f(x[j / PER_CHUNK][j % PER_CHUNK], i + j);
  }
#pragma unroll 1
  for (unsigned i = whole + threadIdx.x; i < vocab; i += THREADS) f(widen(logits[i]), i);
}

// The maximum key of all; every thread gets it.
template <typename T>
__device__ __forceinline__ Key max_key(const T *logits, unsigned vocab) {
  __shared__ Key of_warp[THREADS / WARP];
  let_next_start();
  wait_for_previous();
  Key mine = 0;
  each(logits, vocab, [&](float x, unsigned i) { mine = max(mine, key_of(x, i)); });
  mine = warp_max(mine);
  if (lane_id() == 0) of_warp[threadIdx.x / WARP] = mine;
  __syncthreads();
  return warp_max(of_warp[lane_id()]); // as many warps as lanes
}

// token (1): the maximum logit's index, or V where one is NaN.
template <typename T>
__device__ __forceinline__ void argmax(const T *logits, unsigned *token, unsigned vocab) {
  Key key = max_key(logits, vocab);
  if (threadIdx.x == 0) *token = is_nan(key) ? vocab : index_of(key);
}

// The digit of 8 bits above `shift` of the k-th largest key, among the keys whose higher bits are those of
// `prefix`; k becomes its rank among the keys of that digit, and `same` their number.
template <typename T>
__device__ __forceinline__ unsigned digit(const T *logits, unsigned vocab, Key prefix, int shift, unsigned &k,
                                          unsigned &same) {
  __shared__ unsigned count[DIGITS];
  __shared__ unsigned found[3];
  if (threadIdx.x < DIGITS) count[threadIdx.x] = 0;
  __syncthreads();
  each(logits, vocab, [&](float x, unsigned i) {
    Key key = key_of(x, i);
    // Two shifts, because one by 64 is not defined.
    bool counts = (key >> shift >> 8) == (prefix >> shift >> 8);
    if (counts) atomicAdd(&count[unsigned(key >> shift) % DIGITS], 1);
  });
  __syncthreads();
  if (threadIdx.x < WARP) {
    // Each lane has eight digits, the first lane the highest: which lane has the digit of the k-th largest?
    const int first = DIGITS - 1 - 8 * lane_id();
    unsigned mine = 0;
#pragma unroll
    for (int j = 0; j < 8; j++) mine += count[first - j];
    unsigned up_to = mine; // of the lanes up to this one
#pragma unroll
    for (int d = 1; d < WARP; d *= 2) {
      unsigned below = __shfl_up_sync(ALL_LANES, up_to, d);
      if (lane_id() >= d) up_to += below;
    }
    if (up_to - mine < k && k <= up_to) {
      unsigned left = k - (up_to - mine), d = first;
      while (count[d] < left) left -= count[d--];
      found[0] = d, found[1] = left, found[2] = count[d];
    }
  }
  __syncthreads();
  k = found[1], same = found[2];
  return found[0];
}

// A key such that at most MAX_K keys are equal or larger, the k largest among them.
template <typename T>
__device__ __forceinline__ Key threshold(const T *logits, unsigned vocab, unsigned k) {
  Key prefix = 0;
  unsigned left = k, same = vocab;
#pragma unroll 1
  for (int shift = 56; k - left + same > MAX_K; shift -= 8) {
    prefix |= Key(digit(logits, vocab, prefix, shift, left, same)) << shift;
  }
  return prefix;
}

// Sorts keys (MAX_K) in shared memory, largest first. "Sorting networks and their applications", Batcher 1968.
__device__ __forceinline__ void sort(Key *keys) {
#pragma unroll 1
  for (unsigned run = 2; run <= MAX_K; run *= 2) {
#pragma unroll 1
    for (unsigned distance = run / 2; distance > 0; distance /= 2) {
      __syncthreads();
      unsigned i = threadIdx.x, j = i ^ distance;
      bool descending = (i & run) == 0;
      if (j > i && (keys[i] < keys[j]) == descending) {
        Key key = keys[i];
        keys[i] = keys[j];
        keys[j] = key;
      }
    }
  }
  __syncthreads();
}

// out (2 k): the tokens, then the bits of their probabilities. NaN or +∞ among the logits makes
// all probabilities NaN.
template <typename T>
__device__ __forceinline__ void top_k(const T *logits, unsigned *out, unsigned vocab, unsigned k,
                                      float inverse_temperature) {
  __shared__ Key keys[MAX_K];
  __shared__ float scratch[THREADS / WARP];
  __shared__ unsigned taken;
  const Key max = max_key(logits, vocab);
  const float max_logit = widen(logits[index_of(max)]);
  float sum = 0.f;
  each(logits, vocab, [&](float x, unsigned) { sum += expf((x - max_logit) * inverse_temperature); });
  sum = row_sum(sum, scratch);

  keys[threadIdx.x] = 0;
  if (threadIdx.x == 0) taken = 0;
  const Key least = threshold(logits, vocab, k);
  __syncthreads();
  each(logits, vocab, [&](float x, unsigned i) {
    Key key = key_of(x, i);
    if (key >= least) keys[atomicAdd(&taken, 1)] = key;
  });
  sort(keys);
  if (threadIdx.x < k) {
    unsigned token = index_of(keys[threadIdx.x]);
    out[threadIdx.x] = token;
    out[k + threadIdx.x] = __float_as_uint(expf((widen(logits[token]) - max_logit) * inverse_temperature) / sum);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    argmax_f32_level4(const float *logits, unsigned *token, unsigned vocab) {
  argmax(logits, token, vocab);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    argmax_bf16_level4(const bf16 *logits, unsigned *token, unsigned vocab) {
  argmax(logits, token, vocab);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    top_k_f32_level4(const float *logits, unsigned *out, unsigned vocab, unsigned k, float inverse_temperature) {
  top_k(logits, out, vocab, k, inverse_temperature);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    top_k_bf16_level4(const bf16 *logits, unsigned *out, unsigned vocab, unsigned k, float inverse_temperature) {
  top_k(logits, out, vocab, k, inverse_temperature);
}
