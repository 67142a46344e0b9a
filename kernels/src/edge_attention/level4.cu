// edge_attention, level 4: a warp a node, lanes over channels, edge features folded.
//
//   s[j] = q[i] . (k[j] + W e[ij]) / sqrt(D)          over the incoming edges j -> i of node i
//   y[i] = sum softmax(s)[j] * (v[j] + W e[ij]) + skip[i] + residual[i]
//
// Against level 3:
// - No edge is projected. q.(W e) = (W^T q).e and sum a (W e) = W (sum a e): two products with W a node in
//   place of one an edge. A head does D + Fe multiplications for a score where level 3 does D + D*Fe.
// - A score is summed by shuffles among the lanes of its head: no shared memory and no barrier for an edge.
// - A lane has four channels: 16 bytes a load in f32, 8 in bf16, and a warp reads a node's 128 channels at once.
// - BATCH edges at a time, all their rows on the way before the first is needed, the sources of the next batch too,
//   and one rescaling for all.
// Prediction: bound by the gathered rows, 2*E*H*D elements from the L2 cache; level 3 by its instructions.
//
// Launch: grid ceil(N*H/heads of a block), block 256. `lanes` lanes, 8, 16 or 32, share one head of one node: for
// D = 32 and H = 4, 8 lanes a head and a warp a node. A node of more than HUB edges is left until its block's
// other nodes are done; then all 8 warps take a share of its edges, and their softmaxes are joined in shared
// memory. So a hub holds up its own block, for an eighth of its length, and no other.
// Shared memory: W^T in f32, Fe*padded*4 bytes, where that is at most 40 KiB; below 8 KiB for hubs.
// Bytes: (4*N*H*D + 2*E*H*D + E*Fe) elements and the graph; W once a block. (mod.rs counts each operand once.)
//
// To be faster: W^T q is a product of all nodes, and could be part of the one that makes q.
//
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit e0e5a46be, 2026-11-25):
//   edge_attention 4096x16384 f32: level 2 8556.1*, level 3 28.5, level 4 9.9, copy 2.9, PyTorch 157.4, PyTorch compile 52.1, cuSPARSE SpMM 12.9
//   edge_attention 169343x2332486 f32: level 3 9856.5, level 4 3982.8, copy 166.1, PyTorch 14889.0, PyTorch compile 3018.2, cuSPARSE SpMM 331.4
// Measured on an NVIDIA H200, microseconds in a CUDA graph, * one by one (workbook ops, commit 207e47f70, 2026-11-25):
//   edge_attention 4096x16384 bf16: level 2 8615.2*, level 3 30.3, level 4 10.4, copy 1.9, PyTorch 156.0, PyTorch compile 47.4, cuSPARSE SpMM 13.5
//   edge_attention 169343x2332486 bf16: level 3 10544.2, level 4 3885.8, copy 88.8, PyTorch 13504.1, PyTorch compile 2112.8

#include "edge_attention/level4.cuh"

#define EDGE_ATTENTION(NAME, T, V, BATCH, BLOCKS)                                                                      \
  extern "C" __global__ void __launch_bounds__(WARPS *WARP, BLOCKS) NAME(PARAMETERS(T)) {                              \
    edge_attention<ANY, V, BATCH>(TAKE_PARAMETERS(T));                                                                 \
  }

// BLOCKS at once on a multiprocessor, as many as its registers hold: other warps work while one waits for rows.
EDGE_ATTENTION(edge_attention_f32_level4, float, 1, 2, 4)
EDGE_ATTENTION(edge_attention_bf16_level4, bf16, 1, 2, 4)
EDGE_ATTENTION(edge_attention_wide_f32_level4, float, 4, 1, 1) // more than 128 channels a head
EDGE_ATTENTION(edge_attention_wide_bf16_level4, bf16, 4, 1, 1)
