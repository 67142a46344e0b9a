// Level 4 in bf16: the tiles of level4.cu on tensor cores.
//
// Against level4.cu: both products are mma.sync m16n8k16, 2048 products in one instruction of a warp, of
// bf16 and summed in f32. A warp holds 16 queries as the left operand in registers. The scores of its
// mma, 16 queries × 8 keys, lie in the lanes just as the left operand of the second product wants its
// 16 queries × 16 keys, two tiles of scores side by side: the exponentials are packed to bf16 where they
// are, and p never goes through shared memory ("FlashAttention-2", Dao 2023). And keys and values come
// by cp.async, past the registers, the next tile while this one is worked on.
// Prediction: bound by mma.sync and by what its right operands read from shared memory, 4 bytes a lane
// for each mma; the exponentials, one for 4·D products, are the next limit.
//
// Fragments, for lane = 4·g + i: the left operand has rows g and g + 8, columns 2i, 2i + 1, 2i + 8 and
// 2i + 9; the right one rows 2i, 2i + 1, 2i + 8 and 2i + 9, column g; the result rows g and g + 8,
// columns 2i and 2i + 1. ldmatrix brings four 8 × 8 blocks at once in that form, or transposed.
//
// Launch: grid (⌈T/64⌉, H, B), 128 threads, a warp 16 queries; 64 keys at a time. Shared memory: q, and
// twice k and v, 64 rows of D + 8 each: 8 rows of 16 bytes lie in different banks.
//
// What would make it faster: 32 queries a warp halve the reads of keys and values from shared memory;
// Hopper's wgmma reads both operands from there, for four warps at once.
#include "attention/operands.cuh"

constexpr int BM = 64, BN = 64, WARPS = BM / 16, THREADS = WARPS * WARP;

template <int D>
constexpr int PITCH = D + 8; // elements

__device__ __forceinline__ unsigned shared_address(const void *p) { return unsigned(__cvta_generic_to_shared(p)); }

// Four 8 × 8 blocks of bf16: lane l names row l%8 of block l/8.
__device__ __forceinline__ void load_blocks(unsigned (&x)[4], const bf16 *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(shared_address(row))
               : "memory");
}
__device__ __forceinline__ void load_blocks_transposed(unsigned (&x)[4], const bf16 *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(shared_address(row))
               : "memory");
}

// c (16 × 8) += a (16 × 16) · b (16 × 8)
__device__ __forceinline__ void mma(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// 16 bytes from global to shared memory, on their way when this returns; zeros unless `is_there`.
__device__ __forceinline__ void copy16(bf16 *to, const bf16 *from, bool is_there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"(shared_address(to)), "l"(from), "r"(is_there ? 16 : 0)
               : "memory");
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Until all groups but the last N have come.
template <int N>
__device__ __forceinline__ void wait_for_groups() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

// 64 rows of D to shared memory; zeros beyond `rows` and beyond `d` channels.
template <int D>
__device__ __forceinline__ void load_tile(bf16 *tile, const bf16 *from, size_t stride, int rows, int d, bool whole) {
  if (!whole) { // one element at a time, and here when this returns
    for (int i = threadIdx.x; i < BN * D; i += THREADS) {
      int row = i / D, c = i % D;
      tile[row * PITCH<D> + c] = row < rows && c < d ? from[row * stride + c] : bf16{0};
    }
    return;
  }
#pragma unroll
  for (int n = 0; n < BN * D / 8 / THREADS; n++) {
    int i = n * THREADS + threadIdx.x, row = i / (D / 8), c = i % (D / 8) * 8;
    bool is_there = row < rows && c < d;
    copy16(tile + row * PITCH<D> + c, is_there ? from + row * stride + c : from, is_there);
  }
}

// What a lane knows of its queries g and g + 8: the greatest score, its share of the sum of
// exponentials, and of the mean of v before it is divided.
template <int D>
struct State {
  float m[2], l[2], o[D / 8][4];
};

// s = q·kᵀ of 16 queries and 64 keys
template <int D>
__device__ __forceinline__ void dot(const unsigned (&q)[D / 16][4], const bf16 *k, float (&s)[BN / 8][4]) {
  const bf16 *row = k + (lane_id() / 16 * 8 + lane_id() % 8) * PITCH<D> + lane_id() / 8 % 2 * 8;
#pragma unroll
  for (int j = 0; j < BN / 8; j += 2) {
#pragma unroll
    for (int c = 0; c < D / 16; c++) {
      unsigned b[4]; // of keys 8j.. and 8j + 8.., the channels 16c.. and 16c + 8..
      load_blocks(b, row + 8 * j * PITCH<D> + 16 * c);
      mma(s[j], q[c], b[0], b[1]);
      mma(s[j + 1], q[c], b[2], b[3]);
    }
  }
}

// Keys that a query does not see get no weight.
__device__ __forceinline__ void mask(float (&s)[BN / 8][4], int key, const int (&visible)[2]) {
#pragma unroll
  for (int j = 0; j < BN / 8; j++)
#pragma unroll
    for (int e = 0; e < 4; e++)
      if (key + 8 * j + lane_id() % 4 * 2 + e % 2 >= visible[e / 2]) s[j][e] = -INFINITY;
}

// Scores become exponentials, and what came before is scaled to the new maximum.
template <int D>
__device__ __forceinline__ void online_softmax(float (&s)[BN / 8][4], float factor, State<D> &state) {
#pragma unroll
  for (int h = 0; h < 2; h++) { // queries g and g + 8
    float m = s[0][2 * h];
#pragma unroll
    for (int j = 0; j < BN / 8; j++) m = fmaxf(m, fmaxf(s[j][2 * h], s[j][2 * h + 1]));
    m = fmaxf(state.m[h], warp_max<4>(m) * factor);
    float scale = exp2f(state.m[h] - m);
    state.m[h] = m;
    state.l[h] *= scale;
#pragma unroll
    for (int j = 0; j < BN / 8; j++)
#pragma unroll
      for (int e = 2 * h; e < 2 * h + 2; e++) {
        s[j][e] = exp2f(s[j][e] * factor - m);
        state.l[h] += s[j][e];
      }
#pragma unroll
    for (int c = 0; c < D / 8; c++) state.o[c][2 * h] *= scale, state.o[c][2 * h + 1] *= scale;
  }
}

// o += p·v of 64 keys
template <int D>
__device__ __forceinline__ void weigh(const float (&p)[BN / 8][4], const bf16 *v, float (&o)[D / 8][4]) {
  const bf16 *row = v + lane_id() % 16 * PITCH<D> + lane_id() / 16 * 8;
#pragma unroll
  for (int j = 0; j < BN / 8; j += 2) {
    unsigned a[4] = {pack_bf16(p[j][0], p[j][1]), pack_bf16(p[j][2], p[j][3]), pack_bf16(p[j + 1][0], p[j + 1][1]),
                     pack_bf16(p[j + 1][2], p[j + 1][3])};
#pragma unroll
    for (int c = 0; c < D / 8; c += 2) {
      unsigned b[4]; // of channels 8c.. and 8c + 8.., the keys 8j.. and 8j + 8..
      load_blocks_transposed(b, row + 8 * j * PITCH<D> + 8 * c);
      mma(o[c], a, b[0], b[1]);
      mma(o[c + 1], a, b[2], b[3]);
    }
  }
}

// y = o/l, of query `first` + g and the one 8 below.
template <int D>
__device__ __forceinline__ void write(const Operands<bf16> &o, int first, const State<D> &state) {
#pragma unroll
  for (int h = 0; h < 2; h++) {
    float l = warp_sum<4>(state.l[h]);
    int t = first + lane_id() / 4 + 8 * h;
    if (t >= o.queries) continue;
    bf16 *y = o.result(blockIdx.z, t, blockIdx.y);
#pragma unroll
    for (int j = 0; j < D / 8; j++) {
      int c = 8 * j + lane_id() % 4 * 2;
      float low = state.o[j][2 * h] / l, high = state.o[j][2 * h + 1] / l;
      if (o.head_dim % 2 == 0) {
        if (c < o.head_dim) *reinterpret_cast<unsigned *>(y + c) = pack_bf16(low, high);
      } else {
        if (c < o.head_dim) store(y + c, low);
        if (c + 1 < o.head_dim) store(y + c + 1, high);
      }
    }
  }
}

template <int D>
__device__ __forceinline__ void attention(const Operands<bf16> &o) {
  constexpr int TILE = BN * PITCH<D>;
  extern __shared__ float4 shared[];
  bf16 *q_tile = reinterpret_cast<bf16 *>(shared), *k_tiles = q_tile + TILE, *v_tiles = k_tiles + 2 * TILE;
  int first = (gridDim.x - 1 - blockIdx.x) * BM, row = threadIdx.x / WARP * 16; // the last queries start first
  int end = o.visible(min(first + BM, int(o.queries)) - 1);
  int visible[2] = {o.visible(first + row + lane_id() / 4), o.visible(first + row + lane_id() / 4 + 8)};
  size_t kv = o.kv(blockIdx.z, blockIdx.y / o.group);
  bool whole = o.whole();
  auto load_keys = [&](int key, int stage) {
    size_t from = kv + size_t(key) * o.kv_token;
    load_tile<D>(k_tiles + stage * TILE, o.k + from, o.kv_token, end - key, o.head_dim, whole);
    load_tile<D>(v_tiles + stage * TILE, o.v + from, o.kv_token, end - key, o.head_dim, whole);
    commit();
  };

  load_tile<D>(q_tile, o.query(blockIdx.z, first, blockIdx.y), o.q_token, o.queries - first, o.head_dim, whole);
  load_keys(0, 0);
  wait_for_groups<0>();
  __syncthreads();
  unsigned q[D / 16][4];
#pragma unroll
  for (int c = 0; c < D / 16; c++)
    load_blocks(q[c], q_tile + (row + lane_id() % 16) * PITCH<D> + 16 * c + lane_id() / 16 * 8);

  State<D> state = {{-INFINITY, -INFINITY}};
  int stage = 0;
  for (int key = 0; key < end; key += BN, stage ^= 1) {
    if (key + BN < end) load_keys(key + BN, stage ^ 1);
    float s[BN / 8][4] = {};
    dot<D>(q, k_tiles + stage * TILE, s);
    if (key + BN > o.visible(first)) mask(s, key, visible); // on the diagonal, or the last one
    online_softmax<D>(s, o.scale * LOG2_E, state);
    weigh<D>(s, v_tiles + stage * TILE, state.o);
    wait_for_groups<0>();
    __syncthreads(); // the next tile is there, and all are done with this one
  }
  write<D>(o, first + row, state);
}

#define KERNEL(D)                                                                                                    \
  extern "C" __global__ void __launch_bounds__(THREADS) attention_d##D##_bf16_level4(OPERANDS(bf16)) {               \
    attention<D>(TAKE_OPERANDS(bf16));                                                                               \
  }

KERNEL(16)
KERNEL(32)
KERNEL(64)
KERNEL(80)
KERNEL(128)
