// The 12 blocks of ViT s16, batch 1, bf16, in one CUDA graph of five launches per block: see README.md.
#include <algorithm>
#include <cmath>
#include <functional>
#include <thread>
#include "common/activation.cuh"
#include "common/hopper.cuh"
#include "common/overlap.cuh"
#include "common/warp.cuh"
#include "host.cuh"
#include "wgmma_ss.cuh"
#ifndef TRIGGER
#define TRIGGER 1 // 0 at the top, 1 after the wait, 2 after x has come, 3 after wgmma
#endif
#ifndef TRIGGER_ATTENTION
#define TRIGGER_ATTENTION TRIGGER
#endif
#ifndef ALIAS
#define ALIAS 0
#endif
#ifndef OUT
#define OUT 0 // leave out: 1 wgmma, 2 statistics, 4 x copies, 8 epilogue writes, 16 gelu, 32 attention's work, 64 w copies
#endif
#ifndef BN_QKV
#define BN_QKV 64
#endif
#ifndef BN_PROJ
#define BN_PROJ 64
#endif
#ifndef BN_FC1
#define BN_FC1 64
#endif
#ifndef BN_FC2
#define BN_FC2 64
#endif
constexpr int T = 197, C = 384, F = 1536, H = 6, D = 64, L = 12, KP = 6; // KP: panels of 64 columns of K in a block

__device__ __forceinline__ unsigned load_two_now(const bf16 *p) {
  unsigned x; asm volatile("ld.global.u32 %0, [%1];" : "=r"(x) : "l"(p) : "memory"); return x;
}
constexpr int PARTS_A_ROW = 12; // of a row of x: sum and squared deviations of each 32 columns
struct Gemm { const float *u, *c; const bf16 *residual; bf16 *y; const float2 *moments; float2 *moments_of_y; unsigned n; float eps; };

// Adds the squared deviations of two groups of n numbers with these sums.
__device__ __forceinline__ void join_moments(float &sum, float &deviations, int lanes, float n) {
  float other = __shfl_xor_sync(ALL_LANES, sum, lanes), d = sum - other;
  deviations += __shfl_xor_sync(ALL_LANES, deviations, lanes) + d * d * (.5f / n);
  sum += other;
}

// y = x·wᵀ of a slice of 384 columns of K; SPLIT blocks of a cluster have a slice each and add up.
// NORM: x is normalised: w has the norm's weights in it, u the sums of its rows, c all that is constant.
template <int BN, int SPLIT, bool NORM, bool GELU, bool RES>
__global__ void __launch_bounds__(256) gemm(const __grid_constant__ TensorMap xm, const __grid_constant__ TensorMap wm, const Gemm p) {
  extern __shared__ __align__(1024) unsigned char shared[];
  constexpr int NB = BN / 2, FRAGMENT_PITCH = 512 + 64; // columns of a warpgroup; bytes from fragment to fragment in PARTS
  constexpr unsigned X = KP * BN * 128, PARTS = ALIAS ? 0 : X + KP * 64 * 128, BAR = X + KP * 64 * 128 + (SPLIT > 1 && !ALIAS ? SPLIT * BN / 8 * FRAGMENT_PITCH : 0);
  const unsigned base = shared_address(shared), tid = threadIdx.x, lane = tid % 32;
  const unsigned warp = __shfl_sync(ALL_LANES, tid / 32 % 4, 0), group = __shfl_sync(ALL_LANES, tid / 128, 0);
  const unsigned rank = SPLIT > 1 ? blockIdx.z : 0, row = blockIdx.y * 64, first = blockIdx.x * BN, col = first + group * NB + 2 * (lane % 4);
  if (TRIGGER == 0) let_next_start();
  if (tid == 0) {
    for (int i = 0; i < KP; i++) mbarrier_init(base + BAR + 8 * i, 1);
    fence_mbarrier_init();
#pragma unroll
    for (int i = 0; i < KP; i++) {
      unsigned bytes = (OUT & 64 ? 0 : BN * 128) + (OUT & 4 ? 0 : 64 * 128);
      mbarrier_arrive_expect_tx(base + BAR + 8 * i, bytes);
      if (!(OUT & 64)) tma_load(base + i * BN * 128, &wm, first, (rank * KP + i) * 64, base + BAR + 8 * i);
    }
  }
  float bias[NB / 8][2], sums[NB / 8][2];
  if constexpr (SPLIT == 1) {
#pragma unroll
    for (int j = 0; j < NB / 8; j++)
#pragma unroll
      for (int i = 0; i < 2; i++) {
        bias[j][i] = load_at_once(p.c + col + 8 * j + i);
        if (NORM) sums[j][i] = load_at_once(p.u + col + 8 * j + i);
      }
  }
  // SPLIT: the rows that this warp finishes, two columns per lane.
  const unsigned my_row = row + 16 * rank + 2 * (4 * group + warp), my_col = first + 2 * lane;
  float my_bias[2] = {};
  if constexpr (SPLIT > 1) my_bias[0] = load_at_once(p.c + my_col), my_bias[1] = load_at_once(p.c + my_col + 1);
  __syncthreads();
  if constexpr (SPLIT > 1 && !ALIAS) asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
  wait_for_previous();
  if (TRIGGER == 1) let_next_start();
  if (tid == 0 && !(OUT & 4)) {
    asm volatile("fence.proxy.async;" ::: "memory");
#pragma unroll
    for (int i = 0; i < KP; i++) tma_load(base + X + i * 8192, &xm, row, (rank * KP + i) * 64, base + BAR + 8 * i);
  }
  const unsigned r0 = row + 16 * warp + lane / 4;
  unsigned residual[NB / 8][2], my_residual[2] = {};
  if constexpr (RES && SPLIT == 1) {
#pragma unroll
    for (int j = 0; j < NB / 8; j++)
#pragma unroll
      for (int h = 0; h < 2; h++) residual[j][h] = r0 + 8 * h < T ? load_two_now(p.residual + (r0 + 8 * h) * p.n + col + 8 * j) : 0;
  }
  if constexpr (RES && SPLIT > 1) {
#pragma unroll
    for (int h = 0; h < 2; h++) my_residual[h] = my_row + h < T ? load_two_now(p.residual + (my_row + h) * p.n + my_col) : 0;
  }
  float2 moments[2][3] = {};
  if constexpr (NORM && !(OUT & 2)) {
#pragma unroll
    for (int h = 0; h < 2; h++)
#pragma unroll
      for (int i = 0; i < 3; i++)
        if (r0 + 8 * h < T) asm volatile("ld.global.v2.f32 {%0, %1}, [%2];" : "=f"(moments[h][i].x), "=f"(moments[h][i].y) : "l"(p.moments + (r0 + 8 * h) * PARTS_A_ROW + lane % 4 * 3 + i) : "memory");
  }
  float acc[NB / 8][4];
#pragma unroll
  for (int i = 0; i < KP; i++) {
    mbarrier_wait(base + BAR + 8 * i, 0);
#if !(OUT & 1)
    unsigned long long a = matrix_descriptor(base + X + i * 8192), b = matrix_descriptor(base + (i * BN + group * NB) * 128);
    wgmma_fence();
    if (i == 0) wgmma_ss<false>(acc, a, b); else wgmma_ss<true>(acc, a, b);
#pragma unroll
    for (int k = 1; k < 4; k++) wgmma_ss<true>(acc, a + 2 * k, b + 2 * k);
    wgmma_commit();
#else
    if (i == 0) for (int j = 0; j < NB / 8; j++) for (int k = 0; k < 4; k++) acc[j][k] = 0;
#endif
  }
  if (TRIGGER == 2) let_next_start();
  float mean[2] = {}, scale[2] = {1, 1};
  if constexpr (NORM && !(OUT & 2)) {
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const float2(&m)[3] = moments[h];
      mean[h] = warp_sum<4>(m[0].x + m[1].x + m[2].x) * (1.f / C);
      float deviations = m[0].y + m[1].y + m[2].y;
#pragma unroll
      for (int i = 0; i < 3; i++) { float d = m[i].x * (1.f / 32) - mean[h]; deviations += 32 * d * d; }
      scale[h] = rsqrtf(warp_sum<4>(deviations) * (1.f / C) + p.eps);
    }
  }
#if !(OUT & 1)
  wgmma_wait<0>();
#endif
  if (TRIGGER == 3) let_next_start();
  if constexpr (SPLIT == 1) {
    unsigned packed[NB / 8][2];
#pragma unroll
    for (int j = 0; j < NB / 8; j++)
#pragma unroll
      for (int h = 0; h < 2; h++) {
        float v[2];
#pragma unroll
        for (int i = 0; i < 2; i++) {
          v[i] = acc[j][2 * h + i];
          if (NORM) v[i] = scale[h] * (v[i] - mean[h] * sums[j][i]);
          v[i] += bias[j][i];
          if (GELU && !(OUT & 16)) v[i] = gelu(v[i]);
        }
        if (RES) v[0] += unpack_low(residual[j][h]), v[1] += unpack_high(residual[j][h]);
        packed[j][h] = pack_bf16(v[0], v[1]);
        if (r0 + 8 * h < T && !(OUT & 8 && v[0] < 1e30f)) *reinterpret_cast<unsigned *>(p.y + (r0 + 8 * h) * p.n + col + 8 * j) = packed[j][h];
      }
    if constexpr (RES && !(OUT & 2)) {
      static_assert(NB == 32);
#pragma unroll
      for (int h = 0; h < 2; h++) {
        float sum = 0, deviations = 0;
#pragma unroll
        for (int j = 0; j < 4; j++) sum += unpack_low(packed[j][h]) + unpack_high(packed[j][h]);
#pragma unroll
        for (int j = 0; j < 4; j++) {
          float a = unpack_low(packed[j][h]) - sum * .125f, b = unpack_high(packed[j][h]) - sum * .125f;
          deviations += a * a + b * b;
        }
        join_moments(sum, deviations, 1, 8), join_moments(sum, deviations, 2, 16);
        if (r0 + 8 * h < T && lane % 4 == 0) p.moments_of_y[(r0 + 8 * h) * PARTS_A_ROW + (first + group * NB) / 32] = make_float2(sum, deviations);
      }
    }
  } else {
    // Warp w sends its 16 rows to the block of rank w, which adds the four parts: its 8 warps two rows each.
    static_assert(SPLIT == 4 && BN == 64);
    if (ALIAS) asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
    unsigned there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(base + PARTS + (rank * BN / 8 + group * NB / 8) * FRAGMENT_PITCH + lane * 16), "r"(warp));
#pragma unroll
    for (int j = 0; j < NB / 8; j++)
      asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(there + j * FRAGMENT_PITCH), "f"(acc[j][0]), "f"(acc[j][1]), "f"(acc[j][2]), "f"(acc[j][3]) : "memory");
    asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
    float sum[2], deviations[2];
#pragma unroll
    for (int h = 0; h < 2; h++) {
      unsigned r = 2 * (4 * group + warp) + h; // of 16
      float v[2] = {my_bias[0] + unpack_low(my_residual[h]), my_bias[1] + unpack_high(my_residual[h])};
#pragma unroll
      for (int part = 0; part < SPLIT; part++) {
        float2 o = *reinterpret_cast<const float2 *>(shared + PARTS + (part * BN / 8 + lane / 4) * FRAGMENT_PITCH + (r % 8 * 4 + lane % 4) * 16 + r / 8 * 8);
        v[0] += o.x, v[1] += o.y;
      }
      unsigned packed = pack_bf16(v[0], v[1]);
      if (my_row + h < T) *reinterpret_cast<unsigned *>(p.y + (my_row + h) * p.n + my_col) = packed;
      float d = unpack_low(packed) - unpack_high(packed);
      sum[h] = unpack_low(packed) + unpack_high(packed), deviations[h] = .5f * d * d;
    }
#if !(OUT & 2)
#pragma unroll
    for (int d = 1; d <= 8; d *= 2)
#pragma unroll
      for (int h = 0; h < 2; h++) join_moments(sum[h], deviations[h], d, 2 * d);
    if (lane % 16 == 0)
#pragma unroll
      for (int h = 0; h < 2; h++)
        if (my_row + h < T) p.moments_of_y[(my_row + h) * PARTS_A_ROW + my_col / 32] = make_float2(sum[h], deviations[h]);
#endif
  }
}
template <int BN, int SPLIT> constexpr unsigned gemm_bytes() { return KP * BN * 128 + KP * 64 * 128 + (SPLIT > 1 && !ALIAS ? SPLIT * BN / 8 * 576 : 0) + 64; }

// One block per head and 64 queries; all keys and values of the head in shared memory, shared out among two warpgroups.
constexpr int KEYS = 208, SPLIT_KEY = 112;
constexpr unsigned ATTENTION_K = 8192, ATTENTION_V = ATTENTION_K + KEYS * 128, ATTENTION_PARTS = ATTENTION_V + KEYS * 128,
                   ATTENTION_BAR = ATTENTION_PARTS + 256 * (4 * 16 + 16), ATTENTION_BYTES = ATTENTION_BAR + 64;
// Keys FIRST to FIRST + N - 1.
template <int FIRST, int N>
__device__ __forceinline__ void attend(unsigned base, float (&o)[8][4], float (&max)[2], float (&total)[2]) {
  const unsigned lane = threadIdx.x % 32;
  float s[N / 8][4];
  unsigned long long a = matrix_descriptor(base), b = matrix_descriptor(base + ATTENTION_K + FIRST * 128);
  wgmma_fence();
  wgmma_ss<false>(s, a, b);
#pragma unroll
  for (int k = 1; k < 4; k++) wgmma_ss<true>(s, a + 2 * k, b + 2 * k);
  wgmma_commit();
  wgmma_wait<0>();
  max[0] = max[1] = -3e38f, total[0] = total[1] = 0;
#pragma unroll
  for (int j = 0; j < N / 8; j++)
#pragma unroll
    for (int i = 0; i < 4; i++) {
      if (FIRST + 8 * j + 7 >= T && FIRST + 8 * j + 2 * (lane % 4) + i % 2 >= T) s[j][i] = -3e38f;
      max[i / 2] = fmaxf(max[i / 2], s[j][i]);
    }
#pragma unroll
  for (int h = 0; h < 2; h++) max[h] = warp_max<4>(max[h]) * (0.125f * 1.44269504f);
  unsigned packed[N / 16][4];
#pragma unroll
  for (int j = 0; j < N / 8; j++) {
#pragma unroll
    for (int i = 0; i < 4; i++) s[j][i] = exp2_approx(s[j][i] * (0.125f * 1.44269504f) - max[i / 2]), total[i / 2] += s[j][i];
    packed[j / 2][j % 2 * 2] = pack_bf16(s[j][0], s[j][1]), packed[j / 2][j % 2 * 2 + 1] = pack_bf16(s[j][2], s[j][3]);
  }
  mbarrier_wait(base + ATTENTION_BAR + 8, 0);
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < N / 16; k++) wgmma(o, packed[k], matrix_descriptor(base + ATTENTION_V + FIRST * 128 + k * 2048));
  wgmma_commit();
#pragma unroll
  for (int h = 0; h < 2; h++) total[h] = warp_sum<4>(total[h]);
  wgmma_wait<0>();
}
__global__ void __launch_bounds__(256) attention(const __grid_constant__ TensorMap qm, const __grid_constant__ TensorMap kvm, bf16 *y) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const unsigned base = shared_address(shared), tid = threadIdx.x, lane = tid % 32, warp = tid / 32 % 4, group = __shfl_sync(ALL_LANES, tid / 128, 0);
  const unsigned head = blockIdx.x, row = blockIdx.y * 64;
  if (TRIGGER_ATTENTION == 0) let_next_start();
  if (tid == 0) { mbarrier_init(base + ATTENTION_BAR, 1), mbarrier_init(base + ATTENTION_BAR + 8, 1); fence_mbarrier_init(); }
  __syncthreads();
  wait_for_previous();
  if (TRIGGER_ATTENTION == 1) let_next_start();
  if (tid == 0) {
    asm volatile("fence.proxy.async;" ::: "memory");
    mbarrier_arrive_expect_tx(base + ATTENTION_BAR, 8192 + KEYS * 128);
    tma_load(base, &qm, row, head * D, base + ATTENTION_BAR);
    tma_load(base + ATTENTION_K, &kvm, 0, C + head * D, base + ATTENTION_BAR);
    mbarrier_arrive_expect_tx(base + ATTENTION_BAR + 8, KEYS * 128);
    tma_load(base + ATTENTION_V, &kvm, 0, 2 * C + head * D, base + ATTENTION_BAR + 8);
  }
  mbarrier_wait(base + ATTENTION_BAR, 0);
  if (TRIGGER_ATTENTION == 2) let_next_start();
#if !(OUT & 32)
  float o[8][4] = {}, max[2], total[2];
  if (group == 0) attend<0, SPLIT_KEY>(base, o, max, total);
  else attend<SPLIT_KEY, KEYS - SPLIT_KEY>(base, o, max, total);
  if (TRIGGER_ATTENTION == 3) let_next_start();
  // Each warpgroup finishes half of the channels, and gives the other half away.
  float4 *parts = reinterpret_cast<float4 *>(shared + ATTENTION_PARTS);
  unsigned t = tid % 128;
#pragma unroll
  for (int j = 0; j < 4; j++) {
    const float(&give)[4] = o[j + 4], (&keep)[4] = o[j];
    bool low = group == 0;
    parts[(group * 4 + j) * 128 + t] = make_float4(low ? give[0] : keep[0], low ? give[1] : keep[1], low ? give[2] : keep[2], low ? give[3] : keep[3]);
    if (!low) { o[j][0] = give[0], o[j][1] = give[1], o[j][2] = give[2], o[j][3] = give[3]; }
  }
  parts[(8 + group) * 128 + t] = make_float4(max[0], max[1], total[0], total[1]);
  __syncthreads();
  float4 other = parts[(9 - group) * 128 + t];
  float mine[2], theirs[2];
#pragma unroll
  for (int h = 0; h < 2; h++) {
    float other_max = h ? other.y : other.x, other_total = h ? other.w : other.z, m = fmaxf(max[h], other_max);
    mine[h] = exp2_approx(max[h] - m), theirs[h] = exp2_approx(other_max - m);
    float scale = 1.f / (total[h] * mine[h] + other_total * theirs[h]);
    mine[h] *= scale, theirs[h] *= scale;
  }
#pragma unroll
  for (int j = 0; j < 4; j++) {
    float4 p = parts[((1 - group) * 4 + j) * 128 + t];
    unsigned r = row + 16 * warp + lane / 4, at = head * D + group * 32 + 8 * j + 2 * (lane % 4);
    if (r < T) *reinterpret_cast<unsigned *>(y + r * C + at) = pack_bf16(o[j][0] * mine[0] + p.x * theirs[0], o[j][1] * mine[0] + p.y * theirs[0]);
    if (r + 8 < T) *reinterpret_cast<unsigned *>(y + (r + 8) * C + at) = pack_bf16(o[j][2] * mine[1] + p.z * theirs[1], o[j][3] * mine[1] + p.w * theirs[1]);
  }
#endif
}

static bf16 *upload16(const vector<float> &v) {
  vector<unsigned short> bits(v.size()); for (size_t i = 0; i < v.size(); i++) bits[i] = to_bf16(v[i]);
  bf16 *p; CHECK(cudaMalloc(&p, v.size() * 2)); CHECK(cudaMemcpy(p, bits.data(), v.size() * 2, cudaMemcpyHostToDevice)); return p;
}
static float *upload32(const vector<float> &v) { float *p; CHECK(cudaMalloc(&p, v.size() * 4)); CHECK(cudaMemcpy(p, v.data(), v.size() * 4, cudaMemcpyHostToDevice)); return p; }
// A linear layer: weights as they are for the reference; on the device with the norm folded in, where there is one.
struct Linear { int n, k; vector<float> w, b; bf16 *dw; float *du, *dc; TensorMap map; };
struct Norm { vector<float> w, b; };
static Norm make_norm() { Norm m; for (int i = 0; i < C; i++) m.w.push_back(rnd(1 + .1f * normal())), m.b.push_back(rnd(.1f * normal())); return m; }
static Linear make_linear(int n, int k, const Norm *norm, int box, float gain = 1) {
  Linear l; l.n = n, l.k = k; for (int i = 0; i < n * k; i++) l.w.push_back(rnd(gain * normal() / std::sqrt(float(k)))); for (int i = 0; i < n; i++) l.b.push_back(rnd(.1f * normal()));
  vector<float> w = l.w, u(n), c = l.b;
  if (norm) for (int i = 0; i < n; i++) { double s = 0, t = 0; for (int j = 0; j < k; j++) { float &a = w[i * k + j]; t += double(a) * norm->b[j]; a = rnd(a * norm->w[j]); s += a; } u[i] = s, c[i] += t; }
  l.dw = upload16(w), l.du = upload32(u), l.dc = upload32(c), l.map = map_of(l.dw, n, k, box); return l;
}
struct Layer { Norm n1, n2; Linear qkv, proj, fc1, fc2; };
template <class F> static void parallel(int n, F f) { int w = std::max(1u, std::thread::hardware_concurrency()); vector<std::thread> ts; for (int t = 0; t < w; t++) ts.emplace_back([=] { for (int i = t; i < n; i += w) f(i); }); for (auto &t : ts) t.join(); }
static vector<float> linear(const vector<float> &x, const Linear &l) {
  vector<float> y(size_t(T) * l.n); parallel(T, [&](int i) { for (int o = 0; o < l.n; o++) { float s = 0; const float *a = &x[i * l.k], *w = &l.w[o * l.k]; for (int k = 0; k < l.k; k++) s += a[k] * w[k]; y[i * l.n + o] = s + l.b[o]; } }); return y;
}
static vector<float> layer_norm(const vector<float> &x, const Norm &n) {
  vector<float> y(x.size()); for (int i = 0; i < T; i++) { double m = 0, v = 0; for (int c = 0; c < C; c++) m += x[i * C + c]; m /= C; for (int c = 0; c < C; c++) v += (x[i * C + c] - m) * (x[i * C + c] - m); v /= C; for (int c = 0; c < C; c++) y[i * C + c] = (x[i * C + c] - m) / std::sqrt(v + 1e-6) * n.w[c] + n.b[c]; } return y;
}
static void reference(vector<float> &x, const Layer &l) {
  auto qkv = linear(layer_norm(x, l.n1), l.qkv); vector<float> o(T * C);
  parallel(H * T, [&](int u) { int h = u / T, i = u % T; vector<float> s(T); float mx = -1e30, tot = 0; for (int j = 0; j < T; j++) { float a = 0; for (int d = 0; d < D; d++) a += qkv[i * 3 * C + h * D + d] * qkv[j * 3 * C + C + h * D + d]; s[j] = a / 8; mx = std::max(mx, s[j]); } for (float &a : s) a = std::exp(a - mx), tot += a; for (int d = 0; d < D; d++) { float a = 0; for (int j = 0; j < T; j++) a += s[j] * qkv[j * 3 * C + 2 * C + h * D + d]; o[i * C + h * D + d] = a / tot; } });
  auto y = linear(o, l.proj); for (size_t i = 0; i < x.size(); i++) x[i] += y[i];
  auto f = linear(layer_norm(x, l.n2), l.fc1); for (float &a : f) a = a * .5f * (1 + std::erf(a / std::sqrt(2.f)));
  y = linear(f, l.fc2); for (size_t i = 0; i < x.size(); i++) x[i] += y[i];
}

static bool pdl = true;
template <class K, class... A> static void go(K kernel, dim3 grid, unsigned bytes, int cluster, cudaStream_t s, bool first, A... args) {
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  cudaLaunchConfig_t c = {}; c.gridDim = grid, c.blockDim = 256, c.dynamicSmemBytes = bytes, c.stream = s; cudaLaunchAttribute a[2]; int n = 0;
  if (cluster > 1) a[n].id = cudaLaunchAttributeClusterDimension, a[n++].val.clusterDim = {1, 1, unsigned(cluster)};
  if (pdl && !first) a[n].id = cudaLaunchAttributeProgrammaticStreamSerialization, a[n++].val.programmaticStreamSerializationAllowed = 1;
  c.attrs = a, c.numAttrs = n; CHECK(cudaLaunchKernelEx(&c, kernel, args...));
}
int main(int argc, char **argv) {
  const char *name = argc > 1 ? argv[1] : "vit"; bool check = argc <= 1 || argc > 2, only_check = argc > 2;
  find_encode();
  vector<Layer> layers(L);
  for (auto &l : layers) { l.n1 = make_norm(), l.n2 = make_norm(); l.qkv = make_linear(3 * C, C, &l.n1, BN_QKV), l.proj = make_linear(C, C, nullptr, BN_PROJ), l.fc1 = make_linear(F, C, &l.n2, BN_FC1), l.fc2 = make_linear(C, F, nullptr, BN_FC2); }
  vector<float> x0(T * C); for (float &a : x0) a = rnd(normal());
  bf16 *x = upload16(x0), *x1 = upload16(x0), *qkv = upload16(vector<float>(T * 3 * C)), *o = upload16(vector<float>(T * C)), *h = upload16(vector<float>(T * F)); 
  TensorMap mx = map_of(x, T, C, 64), mx1 = map_of(x1, T, C, 64), mq = map_of(qkv, T, 3 * C, 64), mkv = map_of(qkv, T, 3 * C, KEYS), mo = map_of(o, T, C, 64), mh = map_of(h, T, F, 64);
  vector<float> m0(T * 24); for (int i = 0; i < T; i++) for (int k = 0; k < 12; k++) { double sm = 0, v = 0; for (int c = 0; c < 32; c++) sm += x0[i * C + 32 * k + c]; for (int c = 0; c < 32; c++) v += std::pow(x0[i * C + 32 * k + c] - sm / 32, 2); m0[i * 24 + 2 * k] = sm, m0[i * 24 + 2 * k + 1] = v; }
  float2 *moments0 = (float2 *)upload32(m0), *moments = (float2 *)upload32(m0), *moments1 = (float2 *)upload32(m0);
  cudaStream_t s; CHECK(cudaStreamCreate(&s));
  int skip = -1; // kernel that is left out
  auto pass = [&](int count) {
    bool first = true; auto is_first = [&] { bool r = first; first = false; return r; };
    for (int i = 0; i < count; i++) {
      auto &l = layers[i];
      if (skip != 0) go(gemm<BN_QKV, 1, true, false, false>, dim3(3 * C / BN_QKV, 4), gemm_bytes<BN_QKV, 1>(), 1, s, is_first(), mx, l.qkv.map, Gemm{l.qkv.du, l.qkv.dc, nullptr, qkv, i ? moments : moments0, nullptr, 3 * C, 1e-6f});
      if (skip != 1) go(attention, dim3(H, 4), ATTENTION_BYTES, 1, s, is_first(), mq, mkv, o);
      if (skip != 2) go(gemm<BN_PROJ, 1, false, false, true>, dim3(C / BN_PROJ, 4), gemm_bytes<BN_PROJ, 1>(), 1, s, is_first(), mo, l.proj.map, Gemm{nullptr, l.proj.dc, x, x1, nullptr, moments1, C, 0});
      if (skip != 3) go(gemm<BN_FC1, 1, true, true, false>, dim3(F / BN_FC1, 4), gemm_bytes<BN_FC1, 1>(), 1, s, is_first(), mx1, l.fc1.map, Gemm{l.fc1.du, l.fc1.dc, nullptr, h, moments1, nullptr, F, 1e-6f});
      if (skip != 4) go(gemm<BN_FC2, 4, false, false, true>, dim3(C / BN_FC2, 4, 4), gemm_bytes<BN_FC2, 4>(), 4, s, is_first(), mh, l.fc2.map, Gemm{nullptr, l.fc2.dc, x1, x, nullptr, moments, C, 0});
    }
  };
  auto reset = [&] { vector<unsigned short> b(T * C); for (int i = 0; i < T * C; i++) b[i] = to_bf16(x0[i]); CHECK(cudaMemcpy(x, b.data(), b.size() * 2, cudaMemcpyHostToDevice)); };
  if (check) {
    vector<float> ref = x0; int done = 0;
    for (int count : {1, L}) {
      for (; done < count; done++) reference(ref, layers[done]);
      for (bool with : {false, true}) {
        pdl = with; reset(); pass(count); CHECK(cudaStreamSynchronize(s));
        vector<unsigned short> y(T * C); CHECK(cudaMemcpy(y.data(), x, y.size() * 2, cudaMemcpyDeviceToHost));
        double most = 0, sq = 0, ref_sq = 0; for (int i = 0; i < T * C; i++) { double v = from_bf16(y[i]), d = v - ref[i]; if (!(std::fabs(v) < 1e9)) d = 1e9; most = std::max(most, std::fabs(d)), sq += d * d, ref_sq += double(ref[i]) * ref[i]; }
        printf("%d blocks, pdl %d: relative error (norm) %.5f, largest difference %.4f of rms %.3f\n", count, with, std::sqrt(sq / ref_sq), most, std::sqrt(ref_sq / (T * C)));
      }
    }
  }
  if (only_check) return 0;
  auto time = [&] {
    cudaGraph_t g; cudaGraphExec_t e; CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed)); pass(L); CHECK(cudaStreamEndCapture(s, &g)); CHECK(cudaGraphInstantiate(&e, g, 0)); CHECK(cudaGraphUpload(e, s));
    cudaEvent_t a, b; cudaEventCreate(&a), cudaEventCreate(&b); vector<float> v;
    for (int i = 0; i < 110; i++) { if (i % 10 == 0) reset(); cudaEventRecord(a, s); CHECK(cudaGraphLaunch(e, s)); cudaEventRecord(b, s); CHECK(cudaStreamSynchronize(s)); float ms; cudaEventElapsedTime(&ms, a, b); if (i >= 10) v.push_back(ms * 1e3f); }
    std::sort(v.begin(), v.end()); return double(v[v.size() / 2]);
  };
  for (bool with : {false, true}) {
    pdl = with; skip = -1; double all = time(); printf("%s pdl %d: 12 blocks %.1f us;", name, with, all);
    const char *names[] = {"qkv", "attention", "proj", "fc1", "fc2"};
    for (int i = 0; i < 5; i++) { skip = i; printf(" %s %.2f", names[i], (all - time()) / L); }
    printf(" us a launch, by leaving out\n");
  }
}
