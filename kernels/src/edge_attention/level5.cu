// Level 5 of edge_attention: a node of very many edges is the work of many blocks.
//
// Against level 4: there the edges of a hub are shared out among the warps of one block. In a graph of 169,343 nodes
// and 2.3 million edges whose degrees follow a power law, one node has 42,000 of them: 5,000 for each of eight warps,
// read two at a time, and all other SMs have long been done. Here the edges are cut into chunks of CHUNK, whatever
// they lead to, and a node of more than CHUNK edges, a long one, is put together from the chunks that it spans.
// Prediction: what is left is bound by the gathered rows, as in a graph without hubs.
//
// Up to 128 channels a head. Three launches:
//   edge_attention_*       level 4's kernel, which leaves the long nodes as they are. Grid and block as there.
//   edge_attention_part_*  one block per chunk: of each long node that has edges in it, a partial softmax goes to
//                          memory. There are at most two, that of the first edge and that of the last: one
//                          between them would be shorter than the chunk. Grid (chunks, groups of heads), block 256.
//   edge_attention_join_*  a warp a chunk: of the long node that begins in it, joins the parts and finishes.
//                          Grid (chunks/8, groups of heads), block 256.
// Parts are joined in the order of the chunks, not by atomics: the same call gives the same bits.
// Bytes: as level 4, and 3 float4 per lane for each part, twice.
//
// To be faster: the parts of a chunk that no long node touches are looked up, and that is all its block does; the
// host, which has the graph, could leave them out.
//
// Measured on an NVIDIA H200: edge_attention 169343x2332486 f32 at 20% of the memory bandwidth; see kernels/generated/edge_attention/level5.md.

#include "edge_attention/level4.cuh"

constexpr unsigned CHUNK = 1024;

// A lane's part of a partial softmax in memory: float4s that lie WARP apart.
template <int V>
constexpr int RECORD = 2 + V;

template <int V>
__device__ __forceinline__ void write_part(float4 *to, const Sums<V> &sums) {
  to[0] = make_float4(sums.max, sums.total, 0.f, 0.f);
  to[WARP] = sums.features;
#pragma unroll
  for (int v = 0; v < V; v++) to[(2 + v) * WARP] = sums.values[v];
}

template <int V>
__device__ __forceinline__ Sums<V> read_part(const float4 *from) {
  Sums<V> sums;
  sums.max = from[0].x, sums.total = from[0].y, sums.features = from[WARP];
#pragma unroll
  for (int v = 0; v < V; v++) sums.values[v] = from[(2 + v) * WARP];
  return sums;
}

// ANCHOR: node_of
// The node that an edge leads to: the last whose edges begin at or before it. All lanes look, at 32 bounds a step:
// four steps for a million nodes.
__device__ __forceinline__ unsigned node_of(const unsigned *row_ptr, unsigned nodes, unsigned edge) {
  unsigned low = 0, high = nodes; // row_ptr[low] <= edge < row_ptr[high]
#pragma unroll 1
  while (high - low > 1) {
    unsigned step = (high - low + WARP - 1) / WARP, bound = low + lane_id() * step;
    unsigned before = __ballot_sync(ALL_LANES, bound < high && row_ptr[bound] <= edge);
    low += (WARP - 1 - __clz(before)) * step; // the first lane's is before it in any case
    high = min(high, low + step);
  }
  return low;
}
// ANCHOR_END: node_of

// A chunk of edges, and where the parts of its two long nodes are.
struct Chunk {
  unsigned index, begin, end;

  __device__ Chunk(unsigned index, unsigned edges)
      : index(index), begin(index * CHUNK), end(min(index * CHUNK + CHUNK, edges)) {}

  template <int V>
  __device__ float4 *part(float4 *parts, unsigned last) const {
    return parts + ((size_t(index) * 2 + last) * gridDim.y + blockIdx.y) * RECORD<V> * WARP + lane_id();
  }
};

// This lane's head of a node, of the block's group of heads; `mine` is false past the last head.
template <typename T>
__device__ __forceinline__ NodeHead node_head(const Params<T> &params, unsigned node, bool &mine) {
  int head = blockIdx.y * (WARP / params.lanes) + lane_id() / params.lanes;
  mine = head < params.heads;
  return NodeHead(params, node * params.heads + min(head, params.heads - 1));
}

template <bool ALIGNED, int V, int BATCH, typename T>
__device__ void attend_to_parts(const Params<T> &params, float4 *parts, unsigned edges) {
  extern __shared__ float4 shared[];
  float *w_t = reinterpret_cast<float *>(shared);
  if (params.padded) load_w_t(params, w_t);
  __syncthreads();
  const Chunk chunk(blockIdx.x, edges);
  const int warp = threadIdx.x / WARP;
#pragma unroll 1
  for (int last = 0; last < 2; last++) {
    bool mine;
    NodeHead at = node_head(params, node_of(params.row_ptr, params.nodes, last ? chunk.end - 1 : chunk.begin), mine);
    // The node of the first edge began in another chunk; that of the last begins in this one.
    if (at.degree() <= CHUNK || (at.first >= chunk.begin) != last) continue;
    at.first = max(at.first, chunk.begin), at.end = min(at.end, chunk.end);
    Sums<V> sums = join(walk<ALIGNED, V, BATCH>(params, w_t, at, mine, warp, WARPS));
    if (warp == 0) write_part(chunk.part<V>(parts, last), sums);
  }
}

// Adds the sums of further edges of the same node.
template <int V>
__device__ __forceinline__ void add(Sums<V> &sums, Sums<V> other) {
  float max = fmaxf(sums.max, other.max);
  sums.shrink(exp2f(sums.max - max)), other.shrink(exp2f(other.max - max));
  sums.max = max;
  sums.total += other.total;
  sums.features = add_scaled(sums.features, other.features, 1.f);
#pragma unroll
  for (int v = 0; v < V; v++) sums.values[v] = add_scaled(sums.values[v], other.values[v], 1.f);
}

template <bool ALIGNED, int V, typename T>
__device__ void join_parts(const Params<T> &params, float4 *parts, unsigned edges) {
  extern __shared__ float4 shared[];
  float *w_t = reinterpret_cast<float *>(shared);
  if (params.padded) load_w_t(params, w_t);
  __syncthreads();
  const Chunk chunk(blockIdx.x * WARPS + threadIdx.x / WARP, edges);
  if (chunk.begin >= edges) return;
  bool mine;
  const NodeHead at = node_head(params, node_of(params.row_ptr, params.nodes, chunk.end - 1), mine);
  if (at.degree() <= CHUNK || at.first < chunk.begin) return;
  Sums<V> sums = read_part<V>(chunk.part<V>(parts, 1));
#pragma unroll 1
  for (unsigned next = chunk.index + 1; next * CHUNK < at.end; next++) {
    add(sums, read_part<V>(Chunk(next, edges).part<V>(parts, 0)));
  }
  finish<ALIGNED>(params, w_t, at, mine, sums);
}

template <int V, int BATCH, typename T>
__device__ void edge_attention_part(const Params<T> &params, float4 *parts, unsigned edges) {
  if (params.is_aligned())
    attend_to_parts<true, V, BATCH>(params, parts, edges);
  else
    attend_to_parts<false, V, 1>(params, parts, edges);
}

template <int V, typename T>
__device__ void edge_attention_join(const Params<T> &params, float4 *parts, unsigned edges) {
  if (params.is_aligned())
    join_parts<true, V>(params, parts, edges);
  else
    join_parts<false, V>(params, parts, edges);
}

// BLOCKS at once on an SM, as many as its registers are enough for.
#define ATTENTION(NAME, T, V, BATCH, BLOCKS)                                                                           \
  extern "C" __global__ void __launch_bounds__(WARPS *WARP, BLOCKS) NAME(PARAMS(T)) {                                  \
    edge_attention<CHUNK, V, BATCH>(MAKE_PARAMS(T));                                                                   \
  }

#define PART(NAME, T, V, BATCH, BLOCKS)                                                                                \
  extern "C" __global__ void __launch_bounds__(WARPS *WARP, BLOCKS)                                                    \
      NAME(PARAMS(T), float4 *parts, unsigned edge_count) {                                                            \
    edge_attention_part<V, BATCH>(MAKE_PARAMS(T), parts, edge_count);                                                  \
  }

#define JOIN(NAME, T, V, BLOCKS)                                                                                       \
  extern "C" __global__ void __launch_bounds__(WARPS *WARP, BLOCKS)                                                    \
      NAME(PARAMS(T), float4 *parts, unsigned edge_count) {                                                            \
    edge_attention_join<V>(MAKE_PARAMS(T), parts, edge_count);                                                         \
  }

ATTENTION(edge_attention_f32_level5, float, 1, 2, 4)
PART(edge_attention_part_f32_level5, float, 1, 2, 4)
JOIN(edge_attention_join_f32_level5, float, 1, 4)
ATTENTION(edge_attention_bf16_level5, bf16, 1, 2, 4)
PART(edge_attention_part_bf16_level5, bf16, 1, 2, 4)
JOIN(edge_attention_join_bf16_level5, bf16, 1, 4)
