// Level 5 of attention, for a decode step on every GPU: one launch rotates q and k, appends k and v to the cache, and
// computes the attention of each query to the keys of the cache and to the new ones.
//
// Against rope/level5.cu, decode.cu and, for more than 256 keys, attention_combine: one launch in place of three. The
// last of these reads a few KB that the one before has written. Against step_cluster.cu, which needs sm_90: a long cache has as many
// blocks as decode.cu gives it, on any GPU, and they exchange their parts through memory.
//   - The last block to finish joins the parts of a key head. Each block writes its part, makes it visible to the
//     device by a fence, and draws a number from a ticket counter in memory. Whoever draws the last number knows that all
//     parts are there ("CUDA C++ Programming Guide", memory fence functions, has the same for a sum).
//   - atomicInc wraps to 0 at the last number, so that the counter is ready for the next step without a launch that
//     resets it. A counter belongs to a cache, and no two steps of a cache run at the same time.
//   - Parts are joined in the order of the splits, whichever block does it: the same call gives the same bits.
//   - Blocks whose keys are yet to come return at once and draw no number.
//   - Each block rotates q for itself. The block whose share has a new key computes it, keeps it in shared memory for its
//     own use, and appends it.
//   - A warp has one row, and several warps share it. The lanes of a group, which share a key, are an argument. So there is
//     one kernel for all D and all numbers of rows; the keys of a block's other rows come from L1.
//
// Prediction: two launches less than before for more than 256 keys, one less for fewer, at 1 to 2.5 µs each in a plain
// graph; the ticket costs a fence, an atomic and a trip to memory for the parts, 1 to 1.5 µs. benches/NOTES.md has the sum.
//
// Bytes moved: 4 or 2 times (2·B·Hkv·S·D, once per ROWS queries, + 2·B·T·(H + 2·Hkv)·D), + the parts. Launch: grid
// (splits, Hkv·⌈T·H/Hkv/ROWS⌉, B), 512 threads, `keys_per_split` keys per split.
//
// To be faster: overlap with the launch before from sm_90 on, which takes 84 KB more PTX; keys in flight before the position
// is known; keys through registers once for all rows, which takes three times the PTX.
#include "attention/params.cuh"
#include "common/overlap.cuh"

constexpr int WARPS = 16, THREADS = WARPS * WARP;
constexpr int ROWS = 4; // of a block at most: queries that read the same keys
constexpr int MOST_D = 128, MOST_TOKENS = 4;
constexpr int KEYS = 4;  // that a group of lanes loads at a time, with their values: also the new ones in one pass
constexpr int PARTS = 4; // that a thread loads at a time

// The operands of a step: S keys are in the cache, and T new ones follow them.
template <typename T>
struct Step {
  const T *q, *k, *v;       // (B, T, H, D) and (B, T, Hkv, D), views
  const T *cos, *sin;       // (positions, D/2)
  T *keys, *values;         // (B, Hkv, capacity, D)
  T *y;                     // (B, T, H·D)
  const unsigned *position; // of the first of the T tokens
  float *parts;             // for each y and z of the grid, each split and each row: D of Σ p·v, m, l, 0, 0
  unsigned *tickets;        // one for each y and z of the grid, 0 between launches
  unsigned q_batch_stride, q_token_stride, kv_batch_stride, kv_token_stride;
  unsigned tokens, heads, kv_heads, half_dim, capacity; // half_dim: D/2
  unsigned keys_per_split, lanes;                       // lanes: of a group, a power of two, 16 bytes of a head each
  float scale;                                          // 1/√D
};

template <typename T>
struct Shared {
  float q[ROWS][MOST_D];
  alignas(16) T new_keys[MOST_TOKENS][MOST_D], new_values[MOST_TOKENS][MOST_D];
  float warp_m[WARPS], m[THREADS], l[THREADS];      // maximum scores and sums of exponentials, of groups and of teams,
  alignas(16) float o[THREADS * PER_16_BYTES<T>]; // and Σ p·v
  bool is_last;
};

// As load16_at_once, from the cache or from shared memory.
__device__ __forceinline__ uint4 load16_anywhere(const void *p, bool inside) {
  uint4 x = make_uint4(0, 0, 0, 0);
  asm volatile("{ .reg .pred inside;\n"
               "  setp.ne.u32 inside, %5, 0;\n"
               "  @inside ld.v4.u32 {%0, %1, %2, %3}, [%4]; }"
               : "+r"(x.x), "+r"(x.y), "+r"(x.z), "+r"(x.w)
               : "l"(p), "r"(unsigned(inside))
               : "memory");
  return x;
}

// An element as the cache has it.
__device__ __forceinline__ float rounded(float x, float *to) { return *to = x; }
__device__ __forceinline__ float rounded(float x, bf16 *to) {
  store(to, x);
  return widen(*to);
}

// A partial softmax of one row, over the keys so far: the maximum score m, the sum of exponentials l, and N channels of
// Σ p·v.
template <int N>
struct Softmax {
  float m = -INFINITY, l = 0.f, o[N] = {};

  // Scales it to a new maximum.
  __device__ __forceinline__ void scale(float new_m) {
    const float factor = softmax_weight(m, new_m);
    m = new_m, l *= factor;
#pragma unroll
    for (int i = 0; i < N; i++) o[i] *= factor;
  }
  // Writes o.
  __device__ __forceinline__ void store_o(float *to) const {
#pragma unroll
    for (int i = 0; i < N; i += 4) store4(to + i, make_float4(o[i], o[i + 1], o[i + 2], o[i + 3]));
  }
};

// The work of a block: the keys of a split for up to ROWS rows of y, which are queries (t, head) of one key head.
template <typename T>
__device__ __forceinline__ void step(const Step<T> &p) {
  constexpr int N = PER_16_BYTES<T>;
  __shared__ Shared<T> shared;
  const unsigned position = *static_cast<const volatile unsigned *>(p.position);
  const unsigned seen = position + p.tokens, splits = (seen + p.keys_per_split - 1) / p.keys_per_split;
  const unsigned begin = blockIdx.x * p.keys_per_split, end = min(begin + p.keys_per_split, seen);
  if (begin >= end) return;
  const unsigned head_dim = 2 * p.half_dim, batch = blockIdx.z;
  const unsigned heads_of_key = p.heads / p.kv_heads, all_rows = p.tokens * heads_of_key;
  const unsigned blocks = (all_rows + ROWS - 1) / ROWS; // of a key head, in each split
  const unsigned kv_head = blockIdx.y / blocks, first = blockIdx.y % blocks * ROWS, rows = min(ROWS, all_rows - first);
  auto token = [&](unsigned r) { return (first + r) / heads_of_key; };
  auto head = [&](unsigned r) { return kv_head * heads_of_key + (first + r) % heads_of_key; };
  auto result = [&](unsigned r) {
    return p.y + ((size_t(batch) * p.tokens + token(r)) * p.heads + head(r)) * head_dim;
  };

  // Several warps have a row; the groups of lanes of a warp deal out its keys. Warps that no row needs have no keys.
  const unsigned warps_of_row = WARPS / rows, row = threadIdx.x / WARP / warps_of_row;
  const unsigned slot = threadIdx.x / WARP % warps_of_row, groups = WARP / p.lanes;
  const unsigned lane_group = lane_id() / p.lanes, c = lane_id() % p.lanes * N, last_key = position + token(row);
  const bool has_c = c < head_dim && row < rows;
  const size_t cache = (size_t(batch) * p.kv_heads + kv_head) * p.capacity * head_dim;
  const unsigned cached_end = min(end, position), keys_of_pass = warps_of_row * groups * KEYS;
  unsigned first_of_warp = begin + slot * groups * KEYS, key = first_of_warp + lane_group, stop = cached_end;
  unsigned stride = groups, pitch = head_dim; // keys, and elements of a key, from one load to the next
  const T *key_at = p.keys + cache + c, *value_at = p.values + cache + c; // those of key 0
  const bool has_new = end > position;
  bool has_new_pass = has_new && slot == warps_of_row - 1; // it has the fewest keys
  float q[N];
  Softmax<N> softmax;
  for (bool is_first = true;; is_first = false) {
    uint4 keys[KEYS], values[KEYS];
#pragma unroll
    for (int u = 0; u < KEYS; u++) {
      const unsigned here = key + u * stride;
      const bool is_there = has_c && here < stop;
      keys[u] = load16_anywhere(key_at + size_t(here) * pitch, is_there);
      values[u] = load16_anywhere(value_at + size_t(here) * pitch, is_there);
    }
    if (is_first) {
      // The first keys are in flight. A thread has two channels of a row of q, a new key or a new value. It rotates q and keys.
#pragma unroll 1
      for (unsigned i = threadIdx.x; i < (rows + has_new * 2 * p.tokens) * p.half_dim; i += THREADS) {
        const unsigned r = i / p.half_dim, low = i % p.half_dim, high = low + p.half_dim;
        const bool is_q = r < rows, is_value = r >= rows + p.tokens;
        const unsigned t = is_q ? token(r) : (r - rows) % p.tokens;
        const T *x = (is_q ? p.q : is_value ? p.v : p.k) + size_t(batch) * (is_q ? p.q_batch_stride : p.kv_batch_stride) +
                     size_t(t) * (is_q ? p.q_token_stride : p.kv_token_stride) + (is_q ? head(r) : kv_head) * head_dim;
        const size_t angle = size_t(position + t) * p.half_dim + low;
        const float x1 = load_at_once(x + low), x2 = load_at_once(x + high);
        const float cos = load_at_once(p.cos + angle), sin = load_at_once(p.sin + angle);
        T y[2];
        const float y1 = rounded(is_value ? x1 : x1 * cos - x2 * sin, y);
        const float y2 = rounded(is_value ? x2 : x2 * cos + x1 * sin, y + 1);
        if (is_q) {
          shared.q[r][low] = y1 * (p.scale * LOG2_E), shared.q[r][high] = y2 * (p.scale * LOG2_E);
          continue;
        }
        T *mine = is_value ? shared.new_values[t] : shared.new_keys[t];
        mine[low] = y[0], mine[high] = y[1];
        // One of the blocks that share the key appends it.
        if (first == 0 && position + t >= begin && position + t < end) {
          T *to = (is_value ? p.values : p.keys) + cache + size_t(position + t) * head_dim;
          to[low] = y[0], to[high] = y[1];
        }
      }
      __syncthreads();
#pragma unroll
      for (int i = 0; i < N; i++) q[i] = has_c ? shared.q[row][c + i] : 0.f;
    }

    float scores[KEYS], new_m = softmax.m;
#pragma unroll
    for (int u = 0; u < KEYS; u++) {
      float k[N];
      unpack16<T>(keys[u], k);
      scores[u] = 0.f;
#pragma unroll
      for (int i = 0; i < N; i++) scores[u] += q[i] * k[i];
    }
#pragma unroll 1
    for (int d = p.lanes / 2; d > 0; d /= 2)
#pragma unroll
      for (int u = 0; u < KEYS; u++) scores[u] += __shfl_xor_sync(ALL_LANES, scores[u], d);
#pragma unroll
    for (int u = 0; u < KEYS; u++) {
      if (key + u * stride >= stop || key + u * stride > last_key) scores[u] = -INFINITY;
      new_m = fmaxf(new_m, scores[u]);
    }
    softmax.scale(new_m);
#pragma unroll
    for (int u = 0; u < KEYS; u++) {
      float v[N];
      unpack16<T>(values[u], v);
      const float weight = softmax_weight(scores[u], new_m);
      softmax.l += weight;
#pragma unroll
      for (int i = 0; i < N; i++) softmax.o[i] += weight * v[i];
    }
    first_of_warp += keys_of_pass, key += keys_of_pass;
    if (first_of_warp < cached_end) continue;
    if (!has_new_pass) break;
    // The new keys of the split, at most KEYS, are the first group's.
    key = lane_group == 0 ? max(begin, position) : end, stop = end, stride = 1, pitch = MOST_D, has_new_pass = false;
    key_at = shared.new_keys[0] + c - size_t(position) * MOST_D;
    value_at = shared.new_values[0] + c - size_t(position) * MOST_D;
  }

  // All groups of a row get one maximum, so that their parts are summed.
  const float of_warp = warp_max(softmax.m);
  if (lane_id() == 0) shared.warp_m[threadIdx.x / WARP] = of_warp;
  __syncthreads();
  const float of_row = lane_id() < warps_of_row && row < rows ? shared.warp_m[row * warps_of_row + lane_id()] : -INFINITY;
  softmax.scale(warp_max(of_row));
  const unsigned group = threadIdx.x / p.lanes, groups_of_row = warps_of_row * groups, o_pitch = p.lanes * N;
  shared.m[group] = softmax.m, shared.l[group] = softmax.l; // the same in all lanes
  softmax.store_o(shared.o + threadIdx.x * N);
  __syncthreads();
  const unsigned counter = batch * gridDim.y + blockIdx.y, part_pitch = head_dim + 4;
  // The part of row 0 that a split has.
  auto part = [&](unsigned split) { return p.parts + (size_t(counter) * gridDim.x + split) * ROWS * part_pitch; };
  if (threadIdx.x < rows * head_dim) {
    const unsigned r = threadIdx.x / head_dim, channel = threadIdx.x % head_dim;
    float l = 0.f, o = 0.f;
#pragma unroll 4
    for (unsigned g = r * groups_of_row; g < (r + 1) * groups_of_row; g++)
      l += shared.l[g], o += shared.o[g * o_pitch + channel];
    if (splits == 1) {
      store(result(r) + channel, o / l);
    } else {
      float *to = part(blockIdx.x) + r * part_pitch;
      to[channel] = o;
      if (channel == 0) store4(to + head_dim, make_float4(shared.m[r * groups_of_row], l, 0.f, 0.f));
    }
  }
  if (splits == 1) return;

  // The ticket. The fence makes what this block wrote visible before the number is drawn, and what the others wrote
  // readable after it: the barriers extend it from one thread to all.
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    shared.is_last = atomicInc(p.tickets + counter, splits - 1) == splits - 1;
    __threadfence();
  }
  __syncthreads();
  if (!shared.is_last) return;

  // A team has one thread for each four channels of each row, and joins every `teams`-th part. The first team then joins
  // what the teams have.
  const unsigned chunks = rows * head_dim / 4, teams = THREADS / chunks;
  const unsigned chunk = threadIdx.x % chunks, team = threadIdx.x / chunks, r = chunk * 4 / head_dim;
  const unsigned channel = chunk * 4 % head_dim;
  Softmax<4> joined;
#pragma unroll 1
  for (unsigned s = team; s < splits; s += PARTS * teams) {
    uint4 o16[PARTS], ml16[PARTS];
    float new_m = joined.m;
#pragma unroll
    for (int u = 0; u < PARTS; u++) {
      const float *from = part(s + u * teams) + r * part_pitch;
      o16[u] = load16_at_once(from + channel, s + u * teams < splits);
      ml16[u] = load16_at_once(from + head_dim, s + u * teams < splits);
    }
#pragma unroll
    for (int u = 0; u < PARTS; u++) {
      if (s + u * teams >= splits) ml16[u].x = __float_as_uint(-INFINITY);
      new_m = fmaxf(new_m, __uint_as_float(ml16[u].x));
    }
    joined.scale(new_m);
#pragma unroll
    for (int u = 0; u < PARTS; u++) {
      float o[4];
      unpack16<float>(o16[u], o);
      const float factor = softmax_weight(__uint_as_float(ml16[u].x), new_m);
      joined.l += factor * __uint_as_float(ml16[u].y);
#pragma unroll
      for (int i = 0; i < 4; i++) joined.o[i] += factor * o[i];
    }
  }
  shared.m[threadIdx.x] = joined.m, shared.l[threadIdx.x] = joined.l;
  joined.store_o(shared.o + threadIdx.x * 4);
  __syncthreads();
  if (team != 0) return;
#pragma unroll 1
  for (unsigned from = threadIdx.x + chunks; from < teams * chunks; from += chunks) {
    const float4 o = load4(shared.o + from * 4);
    const float m = shared.m[from];
    joined.scale(fmaxf(joined.m, m));
    const float factor = softmax_weight(m, joined.m);
    joined.l += factor * shared.l[from];
    joined.o[0] += factor * o.x, joined.o[1] += factor * o.y, joined.o[2] += factor * o.z, joined.o[3] += factor * o.w;
  }
#pragma unroll
  for (int i = 0; i < 4; i++) joined.o[i] /= joined.l;
  store4(result(r) + channel, make_float4(joined.o[0], joined.o[1], joined.o[2], joined.o[3]));
}

#define STEP(NAME, T)                                                                                                \
  extern "C" __global__ void __launch_bounds__(THREADS, 2)                                                           \
      NAME(const T *q, const T *k, const T *v, const T *cos, const T *sin, T *keys, T *values, T *y,                 \
           const unsigned *position, float *parts, unsigned *tickets, unsigned q_batch_stride,                       \
           unsigned q_token_stride, unsigned kv_batch_stride, unsigned kv_token_stride, unsigned tokens,             \
           unsigned heads, unsigned kv_heads, unsigned half_dim, unsigned capacity, unsigned keys_per_split,         \
           unsigned lanes, float scale) {                                                                            \
    step<T>(Step<T>{q, k, v, cos, sin, keys, values, y, position, parts, tickets, q_batch_stride, q_token_stride,    \
                    kv_batch_stride, kv_token_stride, tokens, heads, kv_heads, half_dim, capacity, keys_per_split,   \
                    lanes, scale});                                                                                  \
  }

STEP(attention_step_split_f32_level5, float)
STEP(attention_step_split_bf16_level5, bf16)
