// Level 5 of decoder_pass: the second half of a block for one token, in one launch.
//   y = x₁ + (silu(h·Wgᵀ) ⊙ (h·Wuᵀ))·Wdᵀ, where h = norm(x₁)
// x₁ (H) in f32 as cluster.cuh tells, gain (H), the rows of Wg above those of Wu (2F, H), Wd (H, F).
//
// Against two launches (norm_gemv.cu, row_gemv.cu): a cluster has 96 of the F channels, the rows of Wg and Wu that compute
// them, and the columns of Wd that read them. They stay in shared memory, and what is left is a sum over the clusters.
//   - Before the wait all weights are in flight, those of Wd, too.
//   - 16 clusters of 4 blocks: with 24 or 32 clusters in bf16, the next launch adds as many more partial sums, and is slower.
//
// Prediction and outcome: benches/NOTES.md, step 6.
//
// Bytes moved: 3·H·F elements. Launch: 16 clusters of 4 blocks of 384 threads.
//
// To be faster: lanes that have no row of Wd in the last pass, half of them in smollm-135m in bf16, could have another's.
//
// Compiled for sm_90a: clusters.
#include "decoder_pass/level5/cluster.cuh"

template <class E>
struct Mlp {
  Sums sums;
  const E *gain, *gate_up, *down;
  float eps;
};

// PARTS: partial sums that attend.cu has left, one per query head.
template <class E, int H, int PARTS>
__device__ __forceinline__ void mlp(const Mlp<E> &p) {
  constexpr int OF_CLUSTER = F / MLP_CLUSTERS, OF_BLOCK = OF_CLUSTER / C, PER_WARP = OF_BLOCK / WARPS;
  constexpr int N = PER_16_BYTES<E>, G = 32 / N;
  static_assert(OF_CLUSTER == G * 3 * N && PER_WARP * WARPS == OF_BLOCK, "4 lanes share a row of Wd, 8 in f32");
  __shared__ alignas(16) float x[H], gain[COPIES<E> ? H : 4], mine[OF_BLOCK], hidden[OF_CLUSTER];
  __shared__ alignas(8) unsigned long long barrier;
  const unsigned rank = cluster_rank(), cluster = blockIdx.x / C, warp = threadIdx.x / WARP, lane = lane_id();
  const unsigned has_hidden = shared_address(&barrier);
  if (threadIdx.x == 0) expect(has_hidden, sizeof hidden), fence_mbarrier_init();
  __syncwarp();
  cluster_start();

  Rows<E, H, 2 * PER_WARP> rows; // of Wg and Wu in turns
  rows.load(p.gate_up, p.gain, gain,
            [&](int j) { return j % 2 * F + cluster * OF_CLUSTER + rank * OF_BLOCK + j / 2 * WARPS + warp; });
  Slice<E, H, G, 3> slice;
  slice.load(p.down + size_t(rank * (H / C)) * F + cluster * OF_CLUSTER, F);
  if constexpr (COPIES<E>) copy_commit();
  cluster_wait(); // the barriers of all blocks are ready
  wait_for_previous();
  let_next_start();

  take_x<E, H>(p.sums, x, cluster, rank, [&](int c) { return sum_of_parts<PARTS>(p.sums, c, H); });
  float dots[2 * PER_WARP];
  rows.times_norm(x, gain, p.eps, dots);
#pragma unroll
  for (int j = 0; j < PER_WARP; j++)
    if (lane == j) mine[j * WARPS + warp] = silu(dots[2 * j]) * dots[2 * j + 1];
  all_gather(mine, hidden, OF_BLOCK, rank, has_hidden);
  slice.write(hidden, p.sums.parts_out + cluster * H + rank * (H / C));
}

#define MLP(E, NAME, H, PARTS)                                                                                         \
  extern "C" __global__ void __cluster_dims__(C, 1, 1) __launch_bounds__(THREADS) decoder_mlp_##H##_##NAME##_level5(    \
      const float *x, const float *parts, float *x_out, float *parts_out, const E *gain, const E *gate_up,             \
      const E *down, float eps) {                                                                                      \
    mlp<E, H, PARTS>({{x, parts, x_out, parts_out}, gain, gate_up, down, eps});                                        \
  }

MLP(bf16, bf16, 512, 8)
MLP(bf16, bf16, 576, 9)
MLP(float, f32, 512, 8)
MLP(float, f32, 576, 9)
