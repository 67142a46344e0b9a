// Level 5 of encoder_pass, bf16 on Hopper: the matmuls of a block of `s16`, with the norm before them or the residual
// after them.
//   qkv = norm(x)·wᵀ + b      h = gelu(norm(x)·wᵀ + b)      y = x·wᵀ + b + residual
//
// Against linear's level 5, whose tiles are for matmuls that fill the GPU: here 197 rows are 4 tiles of 64, and most of the
// time of a matmul is waiting.
//   - All of a block's K, 384 columns of w and x, is in flight at once: no stages, no loop that waits for memory again.
//     w comes before the kernel has waited for the one before it, so that the launches overlap.
//   - K = 1536 is split over a cluster of 4 blocks. Each sends its sums to the others' shared memory, and each adds a
//     quarter of the rows, always in the same order.
//   - No launch for a norm. norm(x)·wᵀ + b = (x·w'ᵀ − mean·Σw')/σ + b', if w' is w with the norm's gain in it, Σw' has
//     the sums of its rows, and b' is all that is constant: `prepared.rs` makes them once. The kernel that writes x writes
//     the moments of its rows, too.
//
// Prediction: 2.3 µs: 0.9 for the launch, 1 for copies and 0.4 for wgmma; benches/NOTES.md has what they take.
// To be faster: fewer launches. The 24 to 96 blocks of a launch leave SMs idle, and each waits for the slowest.
//
// Launch: 256 threads, two warpgroups, each with half of the columns of a tile of 64 × BN; as dynamic shared memory BYTES
// of the tile; tensor maps of x and w by value, with boxes of 64 columns and 64 or BN rows.
//   encoder_qkv      (12, 4), BN = 96
//   encoder_up       (24, 4), BN = 64
//   encoder_out      (6, 4), BN = 64
//   encoder_down     (6, 4, 4) in clusters of 4 along z, BN = 64
//
// Compiled for sm_90a.
#include "common/activation.cuh"
#include "common/hopper.cuh"
#include "common/overlap.cuh"
#include "encoder_pass/level5/encoder.cuh"

constexpr int THREADS = 256, ROWS = 64, SPLIT = 4;
extern __shared__ __align__(1024) unsigned char shared[];

// A tile of y: 64 rows by BN columns, and C columns of K in panels of 64, the width of the swizzle.
template <int BN>
struct EncoderTile {
  static constexpr int PANELS = C / 64, W_BYTES = BN * 128, X_BYTES = ROWS * 128;
  static constexpr int X = PANELS * W_BYTES, BARRIERS = X + PANELS * X_BYTES, BYTES = BARRIERS + 64;
  static constexpr int FRAGMENTS = BN / 16; // of 8 columns, in a warpgroup
  using Accumulators = float[FRAGMENTS][4];

  unsigned base, lane = lane_id();
  // The shuffles tell the compiler that a warp has one value.
  unsigned warp = __shfl_sync(ALL_LANES, threadIdx.x / 32 % 4, 0), group = __shfl_sync(ALL_LANES, threadIdx.x / 128, 0);
  unsigned first_row = blockIdx.y * ROWS, first_column = blockIdx.x * BN, first_of_k = blockIdx.z * C;

  __device__ explicit EncoderTile(const void *shared) : base(shared_address(shared)) {}

  // Elements of this lane: in fragment j, rows `row` and `row` + 8, column `column` + 8·j and the next one.
  unsigned row = first_row + 16 * warp + lane / 4, column = first_column + group * BN / 2 + 2 * (lane % 4);

  // Requests all of w, which no kernel writes.
  __device__ __forceinline__ void request_w(const TensorMap *w) const {
    if (threadIdx.x == 0) {
#pragma unroll 1
      for (int i = 0; i < PANELS; i++) mbarrier_init(barrier(i), 1);
      fence_mbarrier_init();
#pragma unroll 1
      for (int i = 0; i < PANELS; i++) {
        mbarrier_arrive_expect_tx(barrier(i), W_BYTES + X_BYTES);
        tma_load(base + i * W_BYTES, w, first_column, first_of_k + 64 * i, barrier(i));
      }
    }
    __syncthreads();
  }

  // Waits for the kernel before, and requests all of x.
  __device__ __forceinline__ void request_x(const TensorMap *x) const {
    wait_for_previous();
    let_next_start();
    if (threadIdx.x == 0) {
      fence_proxy_async_global();
#pragma unroll 1
      for (int i = 0; i < PANELS; i++)
        tma_load(base + X + i * X_BYTES, x, first_row, first_of_k + 64 * i, barrier(i));
    }
  }

  // Starts acc = x·wᵀ, panel by panel as they come.
  __device__ __forceinline__ void start_matmul(Accumulators &acc) const {
#pragma unroll
    for (int j = 0; j < FRAGMENTS; j++)
#pragma unroll
      for (int e = 0; e < 4; e++) acc[j][e] = 0;
#pragma unroll 1
    for (int i = 0; i < PANELS; i++) {
      unsigned long long a = matrix_descriptor(base + X + i * X_BYTES);
      unsigned long long b = matrix_descriptor(base + i * W_BYTES + group * (W_BYTES / 2));
      mbarrier_wait(barrier(i), 0);
      wgmma_fence();
#pragma unroll
      for (int k = 0; k < 4; k++) wgmma<true>(acc, a + 2 * k, b + 2 * k); // 16 columns are 2 units of a descriptor
    }
    wgmma_commit();
  }

private:
  __device__ unsigned barrier(int panel) const { return base + BARRIERS + 8 * panel; }
};

// Two neighbours that an earlier kernel wrote. `volatile` keeps this load and the next ones where they stand.
__device__ __forceinline__ unsigned load_pair(const bf16 *p) {
  unsigned pair;
  asm volatile("ld.global.u32 %0, [%1];" : "=r"(pair) : "l"(p) : "memory");
  return pair;
}
__device__ __forceinline__ void store_pair(bf16 *p, unsigned pair) { *reinterpret_cast<unsigned *>(p) = pair; }

// Constants, which no kernel writes: of one column after the other.
__device__ __forceinline__ float2 load_constants(const float2 *p) {
  float2 x;
  asm volatile("ld.global.nc.v2.f32 {%0, %1}, [%2];" : "=f"(x.x), "=f"(x.y) : "l"(p));
  return x;
}
__device__ __forceinline__ float4 load_constants(const float4 *p) {
  float4 x;
  asm volatile("ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w) : "l"(p));
  return x;
}

// A lane's PARTS / 4 of the moments of a row; four neighbouring lanes have all of them.
struct Moments {
  float2 parts[PARTS / 4] = {};

  __device__ __forceinline__ void load(const float2 *moments, unsigned row) {
    const float2 *of_row = moments + row * PARTS + lane_id() % 4 * (PARTS / 4);
#pragma unroll
    for (int i = 0; i < PARTS / 4; i++)
      asm volatile("ld.global.v2.f32 {%0, %1}, [%2];"
                   : "=f"(parts[i].x), "=f"(parts[i].y)
                   : "l"(of_row + i)
                   : "memory");
  }

  __device__ __forceinline__ float mean() const {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < PARTS / 4; i++) sum += parts[i].x;
    return warp_sum<4>(sum) * (1.f / C);
  }

  // 1/σ
  __device__ __forceinline__ float scale(float mean, float eps) const {
    float deviations = 0;
#pragma unroll
    for (int i = 0; i < PARTS / 4; i++) {
      float d = parts[i].x * (1.f / PART) - mean;
      deviations += parts[i].y + PART * d * d;
    }
    return rsqrtf(warp_sum<4>(deviations) * (1.f / C) + eps);
  }
};

// y (TOKENS, N) = norm(x)·wᵀ + b, or its GELU. For each column, `constants` has Σw' and b'.
template <int N, int BN, bool GELU>
__device__ __forceinline__ void norm_matmul(const TensorMap *x, const TensorMap *w, const float2 *constants,
                                            const float2 *moments, bf16 *y, float eps) {
  using Tile = EncoderTile<BN>;
  const Tile tile(shared);
  tile.request_w(w);
  float4 constant[Tile::FRAGMENTS]; // of two columns
  const float4 *of_column = reinterpret_cast<const float4 *>(constants + tile.column);
#pragma unroll
  for (int j = 0; j < Tile::FRAGMENTS; j++) constant[j] = load_constants(of_column + 4 * j);
  tile.request_x(x);
  Moments of_row[2];
#pragma unroll
  for (int h = 0; h < 2; h++)
    if (tile.row + 8 * h < TOKENS) of_row[h].load(moments, tile.row + 8 * h);
  typename Tile::Accumulators acc;
  tile.start_matmul(acc);
  float mean[2], scale[2];
#pragma unroll
  for (int h = 0; h < 2; h++) mean[h] = of_row[h].mean(), scale[h] = of_row[h].scale(mean[h], eps);
  wgmma_wait<0>();
  y += tile.row * N + tile.column;
#pragma unroll
  for (int h = 0; h < 2; h++)
    if (tile.row + 8 * h < TOKENS)
#pragma unroll
      for (int j = 0; j < Tile::FRAGMENTS; j++) {
        float a = scale[h] * (acc[j][2 * h] - mean[h] * constant[j].x) + constant[j].y;
        float b = scale[h] * (acc[j][2 * h + 1] - mean[h] * constant[j].z) + constant[j].w;
        store_pair(y + 8 * h * N + 8 * j, GELU ? pack_bf16(gelu(a), gelu(b)) : pack_bf16(a, b));
      }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    encoder_qkv_bf16_level5(const __grid_constant__ TensorMap x, const __grid_constant__ TensorMap w,
                            const float2 *constants, const float2 *moments, bf16 *y, float eps) {
  norm_matmul<3 * C, 96, false>(&x, &w, constants, moments, y, eps);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    encoder_up_bf16_level5(const __grid_constant__ TensorMap x, const __grid_constant__ TensorMap w,
                           const float2 *constants, const float2 *moments, bf16 *y, float eps) {
  norm_matmul<F, 64, true>(&x, &w, constants, moments, y, eps);
}

// y (TOKENS, C) = x·wᵀ + b + residual, x (TOKENS, C), and the moments of its rows.
extern "C" __global__ void __launch_bounds__(THREADS)
    encoder_out_bf16_level5(const __grid_constant__ TensorMap x, const __grid_constant__ TensorMap w, const float *b,
                            const bf16 *residual, bf16 *y, float2 *moments) {
  using Tile = EncoderTile<2 * PART>; // a warpgroup has a part of each row
  const Tile tile(shared);
  tile.request_w(&w);
  float2 bias[Tile::FRAGMENTS];
  const float2 *of_column = reinterpret_cast<const float2 *>(b + tile.column);
#pragma unroll
  for (int j = 0; j < Tile::FRAGMENTS; j++) bias[j] = load_constants(of_column + 4 * j);
  tile.request_x(&x);
  const unsigned at = tile.row * C + tile.column;
  residual += at, y += at;
  unsigned pairs[2][Tile::FRAGMENTS] = {}; // of the residual, then of y
#pragma unroll
  for (int h = 0; h < 2; h++)
    if (tile.row + 8 * h < TOKENS)
#pragma unroll
      for (int j = 0; j < Tile::FRAGMENTS; j++) pairs[h][j] = load_pair(residual + 8 * h * C + 8 * j);
  Tile::Accumulators acc;
  tile.start_matmul(acc);
  wgmma_wait<0>();
#pragma unroll
  for (int h = 0; h < 2; h++) {
#pragma unroll
    for (int j = 0; j < Tile::FRAGMENTS; j++)
      pairs[h][j] = pack_bf16(acc[j][2 * h] + bias[j].x + unpack_low(pairs[h][j]),
                              acc[j][2 * h + 1] + bias[j].y + unpack_high(pairs[h][j]));
    const float2 of_part = moments_of(pairs[h]);
    if (tile.row + 8 * h < TOKENS) {
#pragma unroll
      for (int j = 0; j < Tile::FRAGMENTS; j++) store_pair(y + 8 * h * C + 8 * j, pairs[h][j]);
      if (tile.lane % 4 == 0) moments[(tile.row + 8 * h) * PARTS + tile.column / PART] = of_part;
    }
  }
}

// The same for x (TOKENS, F). Each block of the cluster has a quarter of K, and finishes the 16 rows of its rank, which
// the warps of this number have in all blocks.
extern "C" __global__ void __cluster_dims__(1, 1, SPLIT) __launch_bounds__(THREADS)
    encoder_down_bf16_level5(const __grid_constant__ TensorMap x, const __grid_constant__ TensorMap w,
                             const float *b, const bf16 *residual, bf16 *y, float2 *moments) {
  using Tile = EncoderTile<64>;
  // Sums for this block, from each block of the cluster the fragments of both warpgroups: 32 lanes' 16 bytes, and 64 bytes
  // that put the next fragment into other banks.
  constexpr int FRAGMENT_BYTES = 32 * 16 + 64, SUMS_BYTES = 2 * Tile::FRAGMENTS * FRAGMENT_BYTES;
  const Tile tile(shared);
  tile.request_w(&w);
  // This warp finishes two rows, two columns per lane.
  const unsigned rank = blockIdx.z, r = 2 * (4 * tile.group + tile.warp);
  const unsigned row = tile.first_row + 16 * rank + r, column = tile.first_column + 2 * tile.lane;
  const float2 bias = load_constants(reinterpret_cast<const float2 *>(b + column));
  cluster_start();
  tile.request_x(&x);
  residual += row * C + column, y += row * C + column;
  unsigned pairs[2] = {}; // of the residual
#pragma unroll
  for (int h = 0; h < 2; h++)
    if (row + h < TOKENS) pairs[h] = load_pair(residual + h * C);
  Tile::Accumulators acc;
  tile.start_matmul(acc);
  wgmma_wait<0>();
  cluster_wait();
  const unsigned to = tile.base + Tile::BYTES + rank * SUMS_BYTES + tile.group * (SUMS_BYTES / 2) + tile.lane * 16;
#pragma unroll
  for (int j = 0; j < Tile::FRAGMENTS; j++) store_remote(to + j * FRAGMENT_BYTES, tile.warp, acc[j]);
  cluster_arrive();
  cluster_wait();
  const unsigned char *sums = shared + Tile::BYTES + tile.lane / 4 * FRAGMENT_BYTES + tile.lane % 4 * 16;
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const unsigned char *of_row = sums + (r + h) % 8 * 64 + (r + h) / 8 * 8; // lanes 4·(r mod 8) on, upper or lower row
    float low = bias.x + unpack_low(pairs[h]), high = bias.y + unpack_high(pairs[h]);
#pragma unroll
    for (int part = 0; part < SPLIT; part++) {
      const float2 sum = *reinterpret_cast<const float2 *>(of_row + part * SUMS_BYTES);
      low += sum.x, high += sum.y;
    }
    const unsigned pair[1] = {pack_bf16(low, high)};
    const float2 of_part = moments_of(pair);
    if (row + h < TOKENS) {
      store_pair(y + h * C, pair[0]);
      if (tile.lane % 16 == 0) moments[(row + h) * PARTS + column / PART] = of_part;
    }
  }
}
