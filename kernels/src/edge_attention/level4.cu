// Level 4 of edge_attention: 8, 16 or 32 lanes share a head of a node, edge features folded.
//
//   s[j] = q[i] . (k[j] + W e[ij]) / sqrt(D)          over the incoming edges j -> i of node i
//   y[i] = sum softmax(s)[j] * (v[j] + W e[ij]) + skip[i] + residual[i]
//
// Against level 3:
// - No edge is projected. q.(W e) = (W^T q).e and sum a (W e) = W (sum a e): two products with W per node in
//   place of one per edge. A head does D + Fe multiplications for a score where level 3 does D + D*Fe.
// - A score is summed by shuffles among the lanes of its head: no shared memory and no barrier for an edge.
// - A lane has four channels: 16 bytes a load in f32, 8 in bf16, and a warp reads a node's 128 channels at once.
// - BATCH edges at a time, all their rows in flight before the first is needed, the sources of the next batch too,
//   and one rescaling for all.
// Prediction: bound by the gathered rows, 2*E*H*D elements from the L2 cache; level 3 by its instructions.
//
// Launch: grid ceil(N*H/heads of a block), block 256. `lanes` lanes, 8, 16 or 32, share one head of one node: for
// D = 32 and H = 4, 8 lanes per head, so one warp per node. A node of more than HUB edges is left until its block's
// other nodes are done; then all 8 warps take a share of its edges, and their softmaxes are joined in shared
// memory. So a hub holds up its own block, for an eighth of its length, and no other.
// Shared memory: W^T in f32, Fe*padded*4 bytes, where that is at most 40 KiB; below 8 KiB for hubs.
// Bytes: (4*N*H*D + 2*E*H*D + E*Fe) elements and the graph; W once a block. (mod.rs counts each operand once.)
//
// To be faster: W^T q is a product of all nodes, and could be part of the one that makes q.
//
// Measured on an NVIDIA H200: edge_attention 169343x2332486 f32 at 4% of the memory bandwidth; see kernels/generated/edge_attention/level4.md.

#include "edge_attention/level4.cuh"

#define EDGE_ATTENTION(NAME, T, V, BATCH, BLOCKS)                                                                      \
  extern "C" __global__ void __launch_bounds__(WARPS *WARP, BLOCKS) NAME(PARAMS(T)) {                                  \
    edge_attention<ANY, V, BATCH>(MAKE_PARAMS(T));                                                                     \
  }

// BLOCKS: blocks on an SM at once, as many as its registers hold. Other warps work while one waits for rows.
EDGE_ATTENTION(edge_attention_f32_level4, float, 1, 2, 4)
EDGE_ATTENTION(edge_attention_bf16_level4, bf16, 1, 2, 4)
EDGE_ATTENTION(edge_attention_wide_f32_level4, float, 4, 1, 1) // more than 128 channels a head
EDGE_ATTENTION(edge_attention_wide_bf16_level4, bf16, 4, 1, 1)
