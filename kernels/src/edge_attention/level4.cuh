// Code that the kernels of levels 4 and 5 share: see level4.cu for the idea.
#pragma once
#include "common/vector.cuh"
#include "common/warp.cuh"

constexpr int WARPS = 8;
constexpr int PER_LOAD = 4;            // channels, or features, in one load of a lane
constexpr unsigned HUB = 64;           // edges above which a node is the work of a block
constexpr unsigned ANY = ~0u;          // as many edges as there are
constexpr float LOWEST = -3.402823e38f; // below every score; -infinity less itself would be no number

__device__ __forceinline__ float dot(float4 a, float4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }

// sum + x*scale
__device__ __forceinline__ float4 add_scaled(float4 sum, float4 x, float scale) {
  return make_float4(sum.x + x.x * scale, sum.y + x.y * scale, sum.z + x.z * scale, sum.w + x.w * scale);
}

__device__ __forceinline__ float4 scaled(float4 x, float scale) {
  return make_float4(x.x * scale, x.y * scale, x.z * scale, x.w * scale);
}

// A head's channels, filled up to whole loads.
__device__ __forceinline__ int filled(int head_dim) { return (head_dim + PER_LOAD - 1) / PER_LOAD * PER_LOAD; }

// Elements `first` to `first` + 3 of a row of `length`. ALIGNED: all four exist and are read at once, or none does;
// then the row's first four stand in for them, which nothing uses: after a branch, the next read would have to wait
// for this one. Otherwise zeros stand in.
template <bool ALIGNED, typename T>
__device__ __forceinline__ float4 load4_of_row(const T *row, int first, int length) {
  if constexpr (ALIGNED) return load4(row + (first < length ? first : 0));
  auto element = [&](int i) { return first + i < length ? widen(row[first + i]) : 0.f; };
  return make_float4(element(0), element(1), element(2), element(3));
}

template <typename T>
struct Params {
  const T *__restrict__ q, *__restrict__ k, *__restrict__ v, *__restrict__ skip, *__restrict__ residual;
  const T *__restrict__ edges, *__restrict__ w;
  const unsigned *__restrict__ row_ptr, *__restrict__ col_idx;
  T *__restrict__ y;
  int nodes, heads, head_dim, features, lanes, padded;
  unsigned max_degree;
  unsigned q_stride, k_stride, v_stride, skip_stride;
  float scale; // log2(e)/sqrt(D): scores are those of 2^s

  // Whether the four channels, or features, of every lane can be read at once: all four exist or none, and they are
  // aligned to 16 bytes of f32, or 8 of bf16.
  __device__ bool is_aligned() const {
    auto fours = [](const T *p, unsigned stride) { return aligned<PER_LOAD * sizeof(T)>(p) && stride % PER_LOAD == 0; };
    return head_dim % PER_LOAD == 0 && features > 0 && fours(q, q_stride) && fours(k, k_stride) &&
           fours(v, v_stride) && fours(skip, skip_stride) && fours(residual, 0) && fours(y, 0) &&
           fours(edges, features);
  }
};

// One head of one node, for one of its lanes, which has V*4 channels, PER_LOAD*lanes from one four to the next.
struct NodeHead {
  unsigned node;
  int head, lane; // lane among those of the head
  unsigned first, end;

  template <typename T>
  __device__ NodeHead(const Params<T> &params, unsigned unit) {
    node = unit / params.heads, head = unit % params.heads, lane = threadIdx.x % params.lanes;
    bool exists = node < params.nodes;
    first = exists ? params.row_ptr[node] : 0, end = exists ? params.row_ptr[node + 1] : 0;
  }
  __device__ unsigned degree() const { return end - first; }
  __device__ int channel(int v, int lanes) const { return PER_LOAD * (lane + v * lanes); }
};

// A partial softmax, and the sums that it weighs: those of a lane's channels and of its features.
template <int V>
struct Sums {
  float max = LOWEST, total = 0.f;
  float4 values[V] = {}, features = {};

  __device__ __forceinline__ void shrink(float factor) {
    total *= factor;
#pragma unroll
    for (int v = 0; v < V; v++) values[v] = scaled(values[v], factor);
    features = scaled(features, factor);
  }
};

// The weights of features f to f + 3 for the lane's v-th channels: from shared memory, which has W^T, or from W
// itself. Where there is no such feature or channel, those of another stand in: what they are multiplied by is 0, or
// what becomes of them is not written.
template <typename T>
__device__ __forceinline__ void weights(const Params<T> &params, const float *w_t, const NodeHead &at, int f, int v,
                                        float4 (&w)[PER_LOAD]) {
  int channel = at.channel(v, params.lanes);
  if (params.padded) {
    const float *column = w_t + at.head * filled(params.head_dim) + (channel < params.head_dim ? channel : 0);
#pragma unroll
    for (int i = 0; i < PER_LOAD; i++) w[i] = load4(column + min(f + i, params.features - 1) * params.padded);
  } else {
    const T *row = params.w + size_t(at.head) * params.head_dim * params.features;
    auto element = [&](int c, int f) { return widen(row[min(c, params.head_dim - 1) * params.features + f]); };
#pragma unroll
    for (int i = 0; i < PER_LOAD; i++) {
      int feature = min(f + i, params.features - 1);
      w[i] = make_float4(element(channel, feature), element(channel + 1, feature), element(channel + 2, feature),
                         element(channel + 3, feature));
    }
  }
}

// N sums over the lanes of a head, step by step together; all of them get them.
template <int N>
__device__ __forceinline__ void sum_over_head(float (&x)[N], int lanes) {
#pragma unroll 1
  for (int d = lanes / 2; d > 0; d /= 2)
#pragma unroll
    for (int i = 0; i < N; i++) x[i] += __shfl_xor_sync(ALL_LANES, x[i], d);
}

// W^T q, the lane's four features of it: every lane has a part of each feature's sum.
template <int V, typename T>
__device__ float4 fold(const Params<T> &params, const float *w_t, const NodeHead &at, const float4 (&q)[V]) {
  float4 folded = make_float4(0.f, 0.f, 0.f, 0.f);
#pragma unroll 1
  for (int f = 0; f < params.features; f += PER_LOAD) {
    float sums[PER_LOAD] = {};
#pragma unroll
    for (int v = 0; v < V; v++) {
      float4 w[PER_LOAD];
      weights(params, w_t, at, f, v, w);
#pragma unroll
      for (int i = 0; i < PER_LOAD; i++) sums[i] += dot(w[i], q[v]);
    }
    sum_over_head(sums, params.lanes);
    if (at.lane == f / PER_LOAD) folded = make_float4(sums[0], sums[1], sums[2], sums[3]);
  }
  return folded;
}

// Walks over every `shares`-th batch of the node's edges, from batch `share` on; none where `mine` is false. All
// lanes of a warp stay together: one whose edges have ended reads edge 0 and node 0 of the graph, and puts zeros in
// their place: a weight of 0 alone would not do, for 0*inf is no number.
template <bool ALIGNED, int V, int BATCH, typename T>
__device__ Sums<V> walk(const Params<T> &params, const float *w_t, const NodeHead &at, bool mine, unsigned share,
                        unsigned shares) {
  unsigned edge = at.first + share * BATCH, end = mine ? at.end : at.first;
  unsigned sources[BATCH];
  auto look_ahead = [&](unsigned edge) {
#pragma unroll
    for (int b = 0; b < BATCH; b++) sources[b] = edge + b < end ? params.col_idx[edge + b] : 0;
  };
  look_ahead(edge);

  float4 q[V];
  int head = at.head * params.head_dim;
  const T *q_row = params.q + size_t(mine ? at.node : 0) * params.q_stride + head;
#pragma unroll
  for (int v = 0; v < V; v++) {
    int channel = at.channel(v, params.lanes);
    float scale = channel < params.head_dim ? params.scale : 0.f;
    q[v] = scaled(load4_of_row<ALIGNED>(q_row, channel, params.head_dim), scale);
  }
  float4 folded = fold(params, w_t, at, q);

  Sums<V> sums;
#pragma unroll 1
  for (; __any_sync(ALL_LANES, edge < end); edge += shares * BATCH) {
    float4 k[BATCH][V], v[BATCH][V], e[BATCH];
#pragma unroll
    for (int b = 0; b < BATCH; b++) {
      const T *k_row = params.k + size_t(sources[b]) * params.k_stride + head;
      const T *v_row = params.v + size_t(sources[b]) * params.v_stride + head;
#pragma unroll
      for (int i = 0; i < V; i++) {
        k[b][i] = load4_of_row<ALIGNED>(k_row, at.channel(i, params.lanes), params.head_dim);
        v[b][i] = load4_of_row<ALIGNED>(v_row, at.channel(i, params.lanes), params.head_dim);
      }
      const T *e_row = params.edges + size_t(edge + b < end ? edge + b : 0) * params.features;
      e[b] = load4_of_row<ALIGNED>(e_row, PER_LOAD * at.lane, params.features);
    }
    look_ahead(edge + shares * BATCH);

    float score[BATCH], max = sums.max;
#pragma unroll
    for (int b = 0; b < BATCH; b++) {
      score[b] = dot(folded, e[b]);
#pragma unroll
      for (int i = 0; i < V; i++) score[b] += dot(q[i], k[b][i]);
    }
    sum_over_head(score, params.lanes);
#pragma unroll
    for (int b = 0; b < BATCH; b++)
      if (edge + b < end) max = fmaxf(max, score[b]);

    // A higher maximum shrinks what has been summed so far.
    sums.shrink(exp2f(sums.max - max));
    sums.max = max;
#pragma unroll
    for (int b = 0; b < BATCH; b++) {
      bool exists = edge + b < end;
      float weight = exists ? exp2f(score[b] - max) : 0.f;
      if (!exists) {
        e[b] = make_float4(0.f, 0.f, 0.f, 0.f);
#pragma unroll
        for (int i = 0; i < V; i++) v[b][i] = e[b];
      }
      sums.total += weight;
#pragma unroll
      for (int i = 0; i < V; i++) sums.values[i] = add_scaled(sums.values[i], v[b][i], weight);
      sums.features = add_scaled(sums.features, e[b], weight);
    }
  }
  return sums;
}

// y = skip + residual + (sum a v + W (sum a e))/total; without edges skip + residual.
template <bool ALIGNED, int V, typename T>
__device__ void finish(const Params<T> &params, const float *w_t, const NodeHead &at, bool mine, Sums<V> sums) {
#pragma unroll 1
  for (int f = 0; f < params.features; f += PER_LOAD) {
    auto feature = [&](float x) { return __shfl_sync(ALL_LANES, x, f / PER_LOAD, params.lanes); };
    float weight[PER_LOAD] = {feature(sums.features.x), feature(sums.features.y), feature(sums.features.z),
                            feature(sums.features.w)};
#pragma unroll
    for (int v = 0; v < V; v++) {
      float4 w[PER_LOAD];
      weights(params, w_t, at, f, v, w);
#pragma unroll
      for (int i = 0; i < PER_LOAD; i++) sums.values[v] = add_scaled(sums.values[v], w[i], weight[i]);
    }
  }
  if (!mine) return;
  int head = at.head * params.head_dim;
  const T *skip = params.skip + size_t(at.node) * params.skip_stride + head;
  size_t row = size_t(at.node) * params.heads * params.head_dim + head;
  const T *residual = params.residual + row;
  T *y = params.y + row;
#pragma unroll
  for (int v = 0; v < V; v++) {
    int channel = at.channel(v, params.lanes), count = params.head_dim - channel;
    if (count <= 0) continue;
    float4 out = load4_of_row<ALIGNED>(skip, channel, params.head_dim);
    out = add_scaled(out, load4_of_row<ALIGNED>(residual, channel, params.head_dim), 1.f);
    if (sums.total != 0.f) out = add_scaled(out, sums.values[v], 1.f / sums.total);
    if constexpr (ALIGNED) {
      store4(y + channel, out);
    } else {
      store(y + channel, out.x);
      if (count > 1) store(y + channel + 1, out.y);
      if (count > 2) store(y + channel + 2, out.z);
      if (count > 3) store(y + channel + 3, out.w);
    }
  }
}

// Joins the softmaxes of the block's warps, lane by lane; all warps get the result. Warps add themselves one
// after the other, so that the sum has the same order, and the same bits, each time.
template <int V>
__device__ Sums<V> join(Sums<V> sums) {
  __shared__ float maxima[WARPS][WARP];
  __shared__ Sums<V> joined[WARP];
  int warp = threadIdx.x / WARP, lane = lane_id();
  maxima[warp][lane] = sums.max;
  __syncthreads();
  float max = LOWEST;
#pragma unroll
  for (int other = 0; other < WARPS; other++) max = fmaxf(max, maxima[other][lane]);
  sums.shrink(exp2f(sums.max - max));
  sums.max = max;
#pragma unroll 1
  for (int turn = 0; turn < WARPS; turn++) {
    if (warp == turn) {
      if (turn > 0) {
        Sums<V> before = joined[lane];
        sums.total += before.total;
#pragma unroll
        for (int v = 0; v < V; v++) sums.values[v] = add_scaled(sums.values[v], before.values[v], 1.f);
        sums.features = add_scaled(sums.features, before.features, 1.f);
      }
      joined[lane] = sums;
    }
    __syncthreads();
  }
  return joined[lane];
}

// W^T in f32, from feature to feature `padded`, with zeros after each head's channels. A thread has one feature of
// every so many channels.
template <typename T>
__device__ void load_w_t(const Params<T> &params, float *w_t) {
  int width = PER_LOAD * params.lanes, f = threadIdx.x % width, a_head = filled(params.head_dim);
  if (f >= params.features) return;
#pragma unroll 4
  for (int c = threadIdx.x / width; c < params.heads * a_head; c += WARPS * WARP / width) {
    // Nothing to fill: nothing to divide.
    int head = a_head == params.head_dim ? 0 : c / a_head, channel = c - head * a_head;
    bool exists = a_head == params.head_dim || channel < params.head_dim;
    w_t[f * params.padded + c] =
        exists ? widen(params.w[(head * params.head_dim + channel) * params.features + f]) : 0.f;
  }
}

// The nodes of up to MOST edges: those of more are left as they are.
template <unsigned MOST, bool ALIGNED, int V, int BATCH, typename T>
__device__ void attend(const Params<T> &params) {
  extern __shared__ float4 shared[];
  __shared__ bool has_hub[WARPS];
  float *w_t = reinterpret_cast<float *>(shared);
  int warp = threadIdx.x / WARP, heads_per_warp = WARP / params.lanes;
  unsigned unit = blockIdx.x * WARPS * heads_per_warp + lane_id() / params.lanes;
  NodeHead own(params, unit + warp * heads_per_warp);
  if (params.padded) load_w_t(params, w_t);
  bool any_hub = __any_sync(ALL_LANES, own.degree() > HUB && own.degree() <= MOST);
  if (lane_id() == 0) has_hub[warp] = any_hub;
  __syncthreads();

  // First each warp alone with its own nodes that are no hubs; then, if there are any, all with each warp's hubs.
  int rounds = params.max_degree > HUB ? 1 + WARPS : 1;
#pragma unroll 1
  for (int round = 0; round < rounds; round++) {
    bool together = round > 0;
    int owner = together ? round - 1 : warp;
    if (together && !has_hub[owner]) continue;
    NodeHead at(params, unit + owner * heads_per_warp);
    bool mine = at.node < params.nodes && (at.degree() > HUB) == together && at.degree() <= MOST;
    Sums<V> sums = walk<ALIGNED, V, BATCH>(params, w_t, at, mine, together ? warp : 0, together ? WARPS : 1);
    if (together) sums = join(sums);
    if (warp == owner) finish<ALIGNED>(params, w_t, at, mine, sums);
  }
}

template <unsigned MOST, int V, int BATCH, typename T>
__device__ void edge_attention(const Params<T> &params) {
  if (params.is_aligned())
    attend<MOST, true, V, BATCH>(params);
  else
    attend<MOST, false, V, 1>(params);
}

// The parameters of a kernel, and the operands that they make.
#define PARAMS(T)                                                                                                      \
  const T *q, const T *k, const T *v, const T *skip, const T *residual, const T *edges, const T *w,                    \
      const unsigned *row_ptr, const unsigned *col_idx, T *y, int nodes, int heads, int head_dim, int features,        \
      int lanes, int padded, unsigned max_degree, unsigned q_stride, unsigned k_stride, unsigned v_stride,             \
      unsigned skip_stride, float scale
#define MAKE_PARAMS(T)                                                                                                 \
  Params<T> {                                                                                                          \
    q, k, v, skip, residual, edges, w, row_ptr, col_idx, y, nodes, heads, head_dim, features, lanes, padded,           \
        max_degree, q_stride, k_stride, v_stride, skip_stride, scale                                                   \
  }
