// Level 5 of decoder_pass: the first half of a block for one token, in one launch.
//   x₁ = x + attention(norm(x)·Wqkvᵀ)·Woᵀ, with the rotation, and the append to the cache
// x (H): f32 sums (cluster.cuh), or in the model's first block row `id` of the table (vocab, H). gain (H), Wqkv
// ((HEADS + 2·KV)·64, H), Wo (H, HEADS·64), keys and values (KV, capacity, 64), cos and sin (positions, 32).
//
// Against three launches (norm_gemv.cu, step_cluster.cu, row_gemv.cu): a launch and its edge take 0.5 µs, and each kernel
// waits for memory again. Here a cluster has a query head, as a rank has in tensor parallelism ("Megatron-LM", Shoeybi et al.
// 2019): the rows of q, k and v that the head needs, its attention, and the 64 columns of Wo that read it. What is left is
// a sum over the heads, which the next launch adds.
//   - Before the wait everything but x is in flight: the block's 48 rows of Wqkv, its share of the first 256 keys and
//     values, its part of Wo, and the angles.
//   - Blocks exchange twice, by stores that complete on an mbarrier: the 192 values of q, k and v, and the parts of the softmax.
//   - Query heads that share a key head compute its k and v each; the first of them appends. More clusters are worth more
//     than fewer loads: in smollm-135m 9 share the work in place of 3.
//   - The keys are dealt out over blocks, warps and groups of 8 lanes. A warp of its own has the new key, which it
//     has as the others will read it: rounded to bf16, if the cache is.
//   - In f32 a lane has 112 registers of weights and angles in smollm-135m, and 34 of x with its partial sums after the
//     wait, of 168. So the gain, keys and values are copied to shared memory (cp.async). In bf16 they are in registers, too.
//
// Prediction and outcome: benches/NOTES.md, step 6.
//
// Bytes moved: (H·(192 + 64) + 2·64·position) elements per cluster. Launch: HEADS clusters of 4 blocks of 384 threads.
//
// To be faster: keys of the next pass by bulk copies; from 256 keys on, each 256 wait for memory.
//
// Compiled for sm_90a: clusters.
#include "attention/params.cuh"
#include "decoder_pass/level5/cluster.cuh"

// Warps of a block that have older keys, keys of a group of lanes at a time, and of the cluster.
constexpr int KEY_WARPS = 8, KEYS = 2, KEYS_PER_PASS = C * KEY_WARPS * 4 * KEYS;
// Threads of them and of the warp with the new key.
constexpr int KEY_THREADS = (KEY_WARPS + 1) * WARP;

template <class E>
struct Attend {
  Sums sums;
  const unsigned *id;
  const E *table;
  unsigned vocab; // 0 after the first block
  const E *gain, *qkv, *out, *cos, *sin;
  E *keys, *values;
  const unsigned *position;
  unsigned capacity;
  float eps, scale; // 1/√D
};

// Columns c and c + 1 of the token's row of the table; NaN for an id outside of it, so that the error shows.
template <class E, int H>
__device__ __forceinline__ float2 embedded(const Attend<E> &p, int c) {
  const unsigned id = *static_cast<const volatile unsigned *>(p.id);
  if (id >= p.vocab) return make_float2(NAN, NAN);
  const E *row = p.table + size_t(id) * H;
  return make_float2(load_at_once(row + c), load_at_once(row + c + 1));
}

// The partial softmax of a group of lanes: maximum score, sum of exponentials, and 8 channels of Σ p·v.
struct Softmax {
  float m = -INFINITY, l = 0.f, o[8] = {};

  __device__ __forceinline__ void add(const float (&q)[8], const float (&k)[8], const float (&v)[8], bool sees) {
    float s = 0.f;
#pragma unroll
    for (int i = 0; i < 8; i++) s += q[i] * k[i];
    s = sum_lanes<8>(s);
    if (!sees) s = -INFINITY;
    const float top = fmaxf(m, s), old = softmax_weight(m, top), e = softmax_weight(s, top);
    m = top, l = l * old + e;
#pragma unroll
    for (int i = 0; i < 8; i++) o[i] = o[i] * old + e * v[i];
  }

  // The four groups of the warp: all get the result.
  __device__ __forceinline__ void combine() {
    float top = fmaxf(m, of_lane_xor(m, 8));
    top = fmaxf(top, of_lane_xor(top, 16));
    const float factor = softmax_weight(m, top);
    m = top, l *= factor, l += of_lane_xor(l, 8), l += of_lane_xor(l, 16);
#pragma unroll
    for (int i = 0; i < 8; i++) {
      o[i] *= factor;
      o[i] += of_lane_xor(o[i], 8), o[i] += of_lane_xor(o[i], 16);
    }
  }
};

// 8 channels of a lane from a row of 64: from c on; in f32, where 16 bytes are 4, 4 from c on and 4 of the other half.
template <class E>
__device__ __forceinline__ void load_channels(const float *row, unsigned c, float (&v)[8]) {
  load_floats(row + c, row + (COPIES<E> ? c ^ D / 2 : c + 4), v);
}

// The lane's channels of KEYS keys (even i) and values (odd i): in registers, or a copy that only this thread reads.
template <class E>
struct Older {
  static constexpr int N = PER_16_BYTES<E>, CHUNKS = 8 / N;
  uint4 kept[2 * KEYS];
  uint4 *copies; // of this thread, each after those of all others

  __device__ __forceinline__ uint4 &at(int i, int chunk) {
    if constexpr (COPIES<E>) return copies[(i * CHUNKS + chunk) * KEY_THREADS];
    else return kept[i];
  }

  // From channel c of a row on; zeros unless it is there.
  __device__ __forceinline__ void load(int i, const E *from, bool is_there) {
    if constexpr (!COPIES<E>) kept[i] = load16_at_once(from, is_there);
    else if (threadIdx.x < KEY_THREADS) {
#pragma unroll
      for (int j = 0; j < CHUNKS; j++) copy16(shared_address(&at(i, j)), from + j * (D / 2), is_there);
    }
  }

  __device__ __forceinline__ void set(int i, const float (&v)[8]) {
#pragma unroll
    for (int j = 0; j < CHUNKS; j++) {
      float part[N];
#pragma unroll
      for (int e = 0; e < N; e++) part[e] = v[j * N + e];
      at(i, j) = pack16(part);
    }
  }

  __device__ __forceinline__ void get(int i, float (&v)[8]) {
#pragma unroll
    for (int j = 0; j < CHUNKS; j++) {
      float part[N];
      unpack(at(i, j), part);
#pragma unroll
      for (int e = 0; e < N; e++) v[j * N + e] = part[e];
    }
  }

  __device__ __forceinline__ void append(int i, E *to) {
#pragma unroll
    for (int j = 0; j < CHUNKS; j++) *reinterpret_cast<uint4 *>(to + j * (D / 2)) = at(i, j);
  }
};

// A block sends its part of the head to the others; m and l are a message of 16 bytes.
struct alignas(16) Part {
  float o[D], m, l, unused[2];
};

template <class E, int H, int HEADS, int KV>
__device__ __forceinline__ void attend(const Attend<E> &p) {
  constexpr int ROWS = 3 * D / C, PER_WARP = ROWS / WARPS; // rows of q, k and v per block and per warp
  __shared__ alignas(16) float x[H], mine[ROWS], qkv[3 * D], head[D], warp_o[KEY_WARPS + 1][D];
  __shared__ float warp_m[KEY_WARPS + 1], warp_l[KEY_WARPS + 1];
  __shared__ alignas(16) float gain[COPIES<E> ? H : 4];
  __shared__ uint4 copies[COPIES<E> ? 2 * KEYS * Older<E>::CHUNKS * KEY_THREADS : 1];
  __shared__ Part parts[C];
  __shared__ alignas(8) unsigned long long barriers[2];
  const unsigned rank = cluster_rank(), q_head = blockIdx.x / C, kv_head = q_head / (HEADS / KV);
  const unsigned warp = threadIdx.x / WARP, lane = lane_id();
  const unsigned has_qkv = shared_address(&barriers[0]), has_parts = shared_address(&barriers[1]);
  if (threadIdx.x == 0) expect(has_qkv, sizeof qkv), expect(has_parts, sizeof parts), fence_mbarrier_init();
  __syncwarp();
  cluster_start();

  // Before the wait: weights, older keys and values, angles.
  const unsigned position = *static_cast<const volatile unsigned *>(p.position);
  constexpr int N = PER_16_BYTES<E>;
  Rows<E, H, PER_WARP> rows;
  rows.load(p.qkv, p.gain, gain, [&](int j) {
    const unsigned row = rank * ROWS + j * WARPS + warp, which = row / D;
    return (which == 0 ? q_head : which == 1 ? HEADS + kv_head : HEADS + KV + kv_head) * D + row % D;
  });
  const unsigned group = lane / 8, c = lane % 8 * N; // a group reads a key together, 8 channels per lane
  const size_t cache = size_t(kv_head) * p.capacity * D + c;
  Older<E> older;
  older.copies = copies + threadIdx.x;
  auto key_of = [&](unsigned pass, int u) { return ((pass * KEYS + u) * KEY_WARPS * 4 + warp * 4 + group) * C + rank; };
  auto load_pass = [&](unsigned pass) {
#pragma unroll
    for (int u = 0; u < KEYS; u++) {
      const bool is_there = warp < KEY_WARPS && key_of(pass, u) < position;
      older.load(2 * u, p.keys + cache + size_t(key_of(pass, u)) * D, is_there);
      older.load(2 * u + 1, p.values + cache + size_t(key_of(pass, u)) * D, is_there);
    }
    if constexpr (COPIES<E>) copy_commit();
  };
  load_pass(0);
  Slice<E, H, 8, 8 / N> slice;
  slice.load(p.out + size_t(rank * (H / C)) * (HEADS * D) + q_head * D, HEADS * D);
  const size_t angles = size_t(position) * (D / 2) + c % (D / 2);
  const uint4 cos16 = load16_here(p.cos + angles), sin16 = load16_here(p.sin + angles);
  cluster_wait(); // the barriers of all blocks are ready
  wait_for_previous();
  let_next_start();

  take_x<E, H>(p.sums, x, q_head, rank, [&](int c) {
    return p.vocab ? embedded<E, H>(p, c) : sum_of_parts<MLP_CLUSTERS>(p.sums, c, H);
  });
  float dots[PER_WARP];
  rows.times_norm(x, gain, p.eps, dots);
#pragma unroll
  for (int j = 0; j < PER_WARP; j++)
    if (lane == j) mine[j * WARPS + warp] = dots[j];
  all_gather(mine, qkv, ROWS, rank, has_qkv);

  // (x₁, x₂) → (x₁·cos − x₂·sin, x₂·cos + x₁·sin)
  auto rotate = [&](const float *from, float factor, float (&out)[8]) {
    float cos[N], sin[N], other[8];
    unpack(cos16, cos), unpack(sin16, sin), load_channels<E>(from, c, out), load_channels<E>(from, c ^ D / 2, other);
#pragma unroll
    for (int i = 0; i < 8; i++)
      out[i] = (out[i] * cos[i % N] + (c + i / N * (D / 2) >= D / 2 ? other[i] : -other[i]) * sin[i % N]) * factor;
  };
  if (warp <= KEY_WARPS) {
    float q[8];
    Softmax softmax;
    rotate(qkv, p.scale * LOG2_E, q);
    const bool has_new = warp == KEY_WARPS && rank == 0 && group == 0;
    if (warp == KEY_WARPS) { // the new key in place of older ones
      float k[8], v[8];
      rotate(qkv + D, 1.f, k), load_channels<E>(qkv + 2 * D, c, v);
      older.set(0, k), older.set(1, v);
      if (has_new && q_head % (HEADS / KV) == 0) {
        older.append(0, p.keys + cache + size_t(position) * D);
        older.append(1, p.values + cache + size_t(position) * D);
      }
    }
    for (unsigned pass = 0;;) {
#pragma unroll
      for (int u = 0; u < KEYS; u++) {
        const bool sees = warp < KEY_WARPS ? key_of(pass, u) < position : u == 0 && has_new;
        float k[8], v[8];
        older.get(2 * u, k), older.get(2 * u + 1, v);
        softmax.add(q, k, v, sees);
      }
      if (++pass * KEYS_PER_PASS >= position || warp == KEY_WARPS) break;
      load_pass(pass);
      if constexpr (COPIES<E>) copy_wait<0>();
    }
    softmax.combine();
#pragma unroll
    for (int i = 0; i < 8; i++)
      if (group == 0) warp_o[warp][c + i % N + i / N * (D / 2)] = softmax.o[i];
    if (lane == 0) warp_m[warp] = softmax.m, warp_l[warp] = softmax.l;
  }
  __syncthreads();
  // The warps of the block, then the blocks of the cluster: 17 messages of 16 bytes to each.
  if (threadIdx.x < (D / 4 + 1) * C) {
    const int to = threadIdx.x % C, j = threadIdx.x / C * 4;
    float m = -INFINITY, l = 0.f;
    float4 v = make_float4(0.f, 0.f, 0.f, 0.f);
#pragma unroll
    for (int i = 0; i <= KEY_WARPS; i++) m = fmaxf(m, warp_m[i]);
#pragma unroll
    for (int i = 0; i <= KEY_WARPS; i++) {
      const float factor = softmax_weight(warp_m[i], m);
      const float4 a = *reinterpret_cast<const float4 *>(&warp_o[i][j % D]);
      l += factor * warp_l[i], v.x += factor * a.x, v.y += factor * a.y, v.z += factor * a.z, v.w += factor * a.w;
    }
    if (j == D) v = make_float4(m, l, 0.f, 0.f);
    send(parts[rank].o + j, to, v, has_parts);
  }
  await(has_parts);
  if (threadIdx.x < D) {
    float m = -INFINITY, l = 0.f, o = 0.f;
#pragma unroll
    for (int b = 0; b < C; b++) m = fmaxf(m, parts[b].m);
#pragma unroll
    for (int b = 0; b < C; b++) {
      const float factor = softmax_weight(parts[b].m, m);
      l += factor * parts[b].l, o += factor * parts[b].o[threadIdx.x];
    }
    head[threadIdx.x] = o / l;
  }
  __syncthreads();
  slice.write(head, p.sums.parts_out + q_head * H + rank * (H / C));
}

#define ATTEND(E, NAME, H, HEADS, KV)                                                                                    \
  extern "C" __global__ void __cluster_dims__(C, 1, 1) __launch_bounds__(THREADS) decoder_attend_##H##_##NAME##_level5(   \
      const float *x, const float *parts, float *x_out, float *parts_out, const unsigned *id, const E *table,            \
      unsigned vocab, const E *gain, const E *qkv, const E *out, const E *cos, const E *sin, E *keys, E *values,         \
      const unsigned *position, unsigned capacity, float eps, float scale) {                                             \
    attend<E, H, HEADS, KV>({{x, parts, x_out, parts_out}, id, table, vocab, gain, qkv, out, cos, sin, keys, values,     \
                             position, capacity, eps, scale});                                                           \
  }

ATTEND(bf16, bf16, 512, 8, 8)
ATTEND(bf16, bf16, 576, 9, 3)
ATTEND(float, f32, 512, 8, 8)
ATTEND(float, f32, 576, 9, 3)
