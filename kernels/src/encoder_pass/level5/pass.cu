// Level 5 of encoder_pass, bf16 on Hopper: all blocks of `s16` in one launch.
//   for each layer: x += attention(norm(x)·wᵀ + b)·wᵀ + b, x += gelu(norm(x)·wᵀ + b)·wᵀ + b
// for 197 tokens of 384 channels. All tensors are contiguous and 16-byte aligned. x, sums and softmax are f32; what a matmul
// reads is bf16, and so are the parts of a sum that blocks send each other.
//
// Against five launches per layer, the level's earlier version: most of their time was waiting for a launch, for memory, and
// for the slowest block, at each of 60 edges.
//   - A cluster of 12 blocks has 32 tokens through all layers. Between two ops its blocks exchange rows by st.async: rows.cuh.
//   - Attention alone needs all tokens. k and v go through the L2 cache once per layer, without flags: attend.cuh.
//   - Each cluster reads all weights, 344 KB per block and layer. They come as tiles by bulk copies, up to 16 tiles early,
//     which is a third of a layer. prepared.rs has their order.
//   - wgmma computes yᵀ = w·xᵀ: the rows of w are its 64 rows, and 32 or 16 tokens its columns.
//   - A block splits a sum over K with the others: by heads in the projection, by 128 channels in the MLP. Sums are added in
//     the order of the ranks, so that the same x gives the same bits.
//
// The clusters wait for each other, so that all must run at once. A cluster that has begun keeps its SMs, and other kernels
// end: they delay a pass, and do not block it. Two passes at once could each wait for room that the other has. So the host asks
// the driver whether all clusters have room at once, and takes the pass on one stream of a GPU only. In a recorded pass, the next
// launch may start before this one has ended, but not before all clusters have begun.
//
// k and v of a layer go to one of three buffers in turn, which hold NONE before. A block whose attention has all k of a layer
// knows that all have read the layer before: it sets its part of that to NONE again, with a fence before it publishes the
// next. After a multiple of three layers the buffers are as before, but for the last one, which the next pass sets to NONE in its
// first layer. So passes of one stream may follow each other, in a graph or not.
//
// Prediction: 8 us per layer, 100 us for 12. benches/NOTES.md has what its parts take.
// To be faster: each layer has 16 steps of 1000 to 2000 cycles, most of them a latency.
//
// Launch: grid (84) in clusters of 12, block 416, Shared::BYTES as dynamic shared memory.
//
// Compiled for sm_90a.
#include "common/activation.cuh"
#include "common/overlap.cuh"
#include "encoder_pass/level5/attend.cuh"
#include "encoder_pass/level5/rows.cuh"

extern __shared__ __align__(1024) unsigned char shared[];

// Starts acc (+)= tile number n of this block's by 64 columns of x.
template <bool ADD, int N>
__device__ __forceinline__ void multiply(const Block &at, float (&acc)[N][4], unsigned n, unsigned x) {
  const unsigned stage = n % STAGES;
  mbarrier_wait(at.base + Shared::FULL + 8 * stage, n / STAGES & 1);
  const unsigned long long a = matrix_descriptor(at.base + stage * TILE), b = matrix_descriptor(x);
  wgmma_fence();
  wgmma<ADD>(acc, a, b);
#pragma unroll
  for (int k = 1; k < 4; k++) wgmma<true>(acc, a + 2 * k, b + 2 * k); // 16 columns are 2 units of a descriptor
  wgmma_commit();
}

// The warp has read tile n.
__device__ __forceinline__ void release(const Block &at, unsigned n) {
  if (at.lane == 0) mbarrier_arrive(at.base + Shared::EMPTY + 8 * (n % STAGES));
  __syncwarp();
}

// acc = 64 rows of w by all of norm(x): every second tile from n on.
__device__ __forceinline__ void multiply_all(const Block &at, float (&acc)[4][4], unsigned n) {
  unsigned x = at.base + Shared::NORMED;
  multiply<false>(at, acc, n, x);
#pragma unroll 1
  for (int p = 1; p < C / 64; p++) {
    multiply<true>(at, acc, n += 2, x += Shared::PANEL);
    wgmma_wait<1>();
    release(at, n - 2);
  }
  wgmma_wait<0>();
  release(at, n);
}

// Requests this block's tiles in the order in which they are read: one thread's work.
__device__ __forceinline__ void request_weights(const Block &at, const unsigned char *tiles, unsigned layers) {
  unsigned n = 0;
  auto request = [&](const unsigned char *from) {
    const unsigned stage = n % STAGES, full = at.base + Shared::FULL + 8 * stage;
    if (n >= STAGES) mbarrier_wait(at.base + Shared::EMPTY + 8 * stage, (n / STAGES - 1) & 1);
    mbarrier_arrive_expect_tx(full, TILE);
    bulk_load(at.base + stage * TILE, from, TILE, full);
    n++;
  };
#pragma unroll 1
  for (unsigned layer = 0; layer < layers; layer++, tiles += size_t(LAYER_TILES) * TILE) {
#pragma unroll 1
    for (int i = 0; i < 12; i++) // k or v, and q
      request(tiles + ((i % 2 ? at.head : (1 + at.half) * HEADS + at.head) * 6 + i / 2) * TILE);
#pragma unroll 1
    for (int i = 0; i < 6; i++) request(tiles + (OUT_TILES + at.head * 6 + i) * TILE);
#pragma unroll 1
    for (int i = 0; i < 12; i++) request(tiles + (UP_TILES + (2 * at.rank + i % 2) * 6 + i / 2) * TILE);
#pragma unroll 1
    for (int i = 0; i < 12; i++) request(tiles + (DOWN_TILES + at.rank * 12 + i) * TILE);
  }
}

// Waits for norm(x), and expects the next one.
__device__ __forceinline__ void wait_for_rows(const Block &at, unsigned parity) {
  mbarrier_wait_cluster(at.base + Shared::NORMED_HERE, parity);
  if (threadIdx.x == 0) mbarrier_arrive_expect_tx(at.base + Shared::NORMED_HERE, C * ROWS * 2);
  fence_proxy_async();
}

// Warpgroup 0 computes k or v of the cluster's tokens, for all blocks, and warpgroup 1 the block's own 16 queries.
__device__ __forceinline__ void project(const Block &at, const float *b, unsigned n, uint4 *kv) {
  const unsigned which = at.group ? 0 : 1 + at.half;
  b += which * C + at.head * D + 16 * at.quarter + at.lane / 4;
  const float bias[2] = {load_vector(b), load_vector(b + 8)};
  float acc[4][4];
  wait_for_rows(at, 0);
  multiply_all(at, acc, n + at.group);
  barrier_sync<256>(1); // both have read norm(x): k and v that go out say that another may come
  unsigned words[4][2];
#pragma unroll
  for (int t = 0; t < 4; t++)
#pragma unroll
    for (int h = 0; h < 2; h++) words[t][h] = pack_bf16(acc[t][2 * h] + bias[h], acc[t][2 * h + 1] + bias[h]);
  if (at.group == 1 || at.half == 0) {
#pragma unroll
    for (int t = 0; t < 4; t++)
#pragma unroll
      for (int h = 0; h < 2; h++) words[t][h] = transpose_matrix(words[t][h]);
  }
  if (at.group == 0) {
    store_shared_by_all(kv, make_uint4(words[0][0], words[0][1], words[1][0], words[1][1]));
    store_shared_by_all(kv + 32, make_uint4(words[2][0], words[2][1], words[3][0], words[3][1]));
  } else {
    const unsigned to = at.base + Shared::QUERIES + at.quarter * 512 + at.lane * 16;
    if (at.half == 0) store16_shared(to, words[0][0], words[1][0], words[0][1], words[1][1]);
    else store16_shared(to, words[2][0], words[3][0], words[2][1], words[3][1]);
  }
  barrier_sync<256>(1);
}

// gelu(norm(x)·wᵀ + b) for 64 channels of a warpgroup.
__device__ __forceinline__ void up(const Block &at, const float *b, unsigned n) {
  b += (2 * at.rank + at.group) * 64 + 16 * at.quarter + at.lane / 4;
  const float bias[2] = {load_vector(b), load_vector(b + 8)};
  float acc[4][4];
  wait_for_rows(at, 1);
  multiply_all(at, acc, n + at.group);
  unsigned words[4][2];
#pragma unroll
  for (int t = 0; t < 4; t++)
#pragma unroll
    for (int h = 0; h < 2; h++)
      words[t][h] = pack_bf16(gelu(acc[t][2 * h] + bias[h]), gelu(acc[t][2 * h + 1] + bias[h]));
#pragma unroll
  for (int t = 0; t < 4; t += 2) {
    const unsigned token = 8 * (t + at.lane / 16) + at.lane % 8, chunk = 2 * at.quarter + at.lane / 8 % 2;
    const unsigned to = at.base + Shared::HIDDEN + at.group * Shared::PANEL + token * 128 + (chunk ^ token % 8) * 16;
    store_matrices_transposed(to, words[t][0], words[t][1], words[t + 1][0], words[t + 1][1]);
  }
  fence_proxy_async();
}

// y = the blocks of x. `kv` holds NONE where the header says so.
extern "C" __global__ void __cluster_dims__(RANKS, 1, 1) __launch_bounds__(THREADS, 1)
    encoder_pass_bf16_level5(const unsigned char *tiles, const float *vectors, const bf16 *x, bf16 *y, uint4 *kv,
                             unsigned layers, float eps) {
  const Block at(shared_address(shared));
  const unsigned normed = at.base + Shared::NORMED_HERE, sums = at.base + Shared::SUMS_HERE;
  const unsigned sums_bytes = (at.rank < PAIRS - RANKS ? 2 : 1) * Shared::SUMS_PART; // of the block's pairs, from one block
  if (threadIdx.x == 0) {
#pragma unroll 1
    for (int i = 0; i < STAGES; i++) {
      mbarrier_init(at.base + Shared::FULL + 8 * i, 1);
      mbarrier_init(at.base + Shared::EMPTY + 8 * i, 4); // the warps of a group
    }
    mbarrier_init(normed, 1), mbarrier_init(sums, 1);
    fence_mbarrier_init();
    mbarrier_arrive_expect_tx(normed, C * ROWS * 2), mbarrier_arrive_expect_tx(sums, HEADS * sums_bytes);
  }
  __syncthreads();
  cluster_arrive();
  let_next_start();
  if (at.warp == WARPS) {
    if (at.lane == 0) request_weights(at, tiles, layers);
    __syncwarp();
    cluster_wait();
  } else {
    Rows rows(at);
    const unsigned first = at.cluster * ROWS + 2 * rows.pair;
    if (rows.is_owned) rows.load_norm(vectors + Vectors::NORM1_W, vectors + Vectors::NORM1_B);
    wait_for_previous(); // weights are on their way
    if (rows.is_owned) {
#pragma unroll
      for (int t = 0; t < 2; t++)
        if (first + t < TOKENS) {
          const float4 v = load4(x + (first + t) * C + 4 * rows.i);
          rows.x[t][0] = v.x, rows.x[t][1] = v.y, rows.x[t][2] = v.z, rows.x[t][3] = v.w;
        }
    }
    cluster_wait(); // every block has its barriers

    const unsigned own = (at.cluster * 2 + at.half) * KV_BLOCK + at.quarter * 64 + at.lane; // of k and v of a head
    unsigned n = 0;
#pragma unroll 1
    for (unsigned layer = 0; layer < layers; layer++, n += BLOCK_TILES, vectors += Vectors::ALL) {
      if (rows.is_owned) rows.send_norm(at, 0, eps);
      uint4 *of_head = kv + layer % KV_LAYERS * KV_LAYER + at.head * KV_HEAD;
      uint4 *before = kv + (layer + KV_LAYERS - 1) % KV_LAYERS * KV_LAYER + at.head * KV_HEAD + own;
      if (at.group < 2) project(at, vectors + Vectors::QKV_B, n, of_head + own);
      if (at.warp < CLUSTERS) attend(at, of_head);
      float4 bias = {};
      if (rows.is_owned) {
        bias = load_vector4(vectors + Vectors::OUT_B + 4 * rows.i);
        rows.load_norm(vectors + Vectors::NORM2_W, vectors + Vectors::NORM2_B);
      }
      barrier_sync<32 * WARPS>(2);
      if (at.group < 2) {
        join_parts(at, shared);
      } else {
        const uint4 none = make_uint4(NONE, NONE, NONE, NONE);
        store_shared_by_all(before, none), store_shared_by_all(before + 32, none);
      }
      barrier_sync<32 * WARPS>(2);
      {
        float acc[2][2][4];
        multiply<false>(at, acc[0], n + 12 + at.group, at.base + Shared::ATTENDED);
        multiply<false>(at, acc[1], n + 15 + at.group, at.base + Shared::ATTENDED);
        wgmma_wait<0>();
        release(at, n + 12 + at.group), release(at, n + 15 + at.group);
        send_sums(at, acc, 8 * at.half, at.head);
      }
      if (rows.is_owned) {
        mbarrier_wait_cluster(sums, 0);
        if (threadIdx.x == 0) mbarrier_arrive_expect_tx(sums, RANKS * sums_bytes);
        rows.add<HEADS>(at, bias);
        rows.send_norm(at, 1, eps);
      }
      if (at.group == 2) fence_gpu(); // NONE comes before the next k and v
      if (at.group < 2) up(at, vectors + Vectors::UP_B, n + 18);
      if (rows.is_owned) {
        bias = load_vector4(vectors + Vectors::DOWN_B + 4 * rows.i);
        const float *next = vectors + Vectors::ALL;
        if (layer + 1 < layers) rows.load_norm(next + Vectors::NORM1_W, next + Vectors::NORM1_B);
      }
      barrier_sync<32 * WARPS>(2);
      {
        float acc[2][4][4];
        const unsigned second = at.base + Shared::HIDDEN + Shared::PANEL;
        multiply<false>(at, acc[0], n + 30 + at.group, at.base + Shared::HIDDEN);
        multiply<false>(at, acc[1], n + 33 + at.group, at.base + Shared::HIDDEN);
        multiply<true>(at, acc[0], n + 36 + at.group, second);
        multiply<true>(at, acc[1], n + 39 + at.group, second);
        wgmma_wait<2>();
        release(at, n + 30 + at.group), release(at, n + 33 + at.group);
        wgmma_wait<0>();
        release(at, n + 36 + at.group), release(at, n + 39 + at.group);
        send_sums(at, acc, 0, at.rank);
      }
      if (rows.is_owned) {
        mbarrier_wait_cluster(sums, 1);
        if (threadIdx.x == 0) mbarrier_arrive_expect_tx(sums, HEADS * sums_bytes);
        rows.add<RANKS>(at, bias);
      }
    }
    if (rows.is_owned) {
#pragma unroll
      for (int t = 0; t < 2; t++)
        if (first + t < TOKENS)
          store4(y + (first + t) * C + 4 * rows.i, make_float4(rows.x[t][0], rows.x[t][1], rows.x[t][2], rows.x[t][3]));
    }
  }
  cluster_arrive(), cluster_wait(); // no block ends while another may send to it
}
