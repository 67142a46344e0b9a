// The attention of a graph in shared memory, and the two norms of a layer.
//
// Attention has four lanes per node and head, 8 channels each; a warp has one head of 8 nodes. As in
// edge_attention/level4.cuh, features of edges are not projected: Wᵀq and W(Σαe) are a few mma per warp, laid out so
// that no lane needs another lane's values. The norm after attention needs only the four warps of a warpgroup, which
// have the four heads of the same nodes.
#pragma once

#include "graph_pass/level5/bf16.cuh"

// h = layer_norm(x), the norm before attention: two rows per warp, 16 lanes each, 8 channels per lane.
__device__ __forceinline__ void norm(const Block &at, const unsigned char *w, const unsigned char *b,
                                     float eps) {
  unsigned row = 2 * (4 * at.group + at.warp) + at.lane / 16, first = 4 * (at.lane % 16);
  float v[8];
  const float scale = centre(at, row, first, eps, v);
#pragma unroll
  for (int half = 0; half < 2; half++) {
    float4 weight = load4(reinterpret_cast<const bf16 *>(w) + first + 64 * half);
    float4 bias = load4(reinterpret_cast<const bf16 *>(b) + first + 64 * half);
    const float *u = v + 4 * half;
    uint2 packed = make_uint2(
        pack_bf16(u[0] * (scale * weight.x) + bias.x, u[1] * (scale * weight.y) + bias.y),
        pack_bf16(u[2] * (scale * weight.z) + bias.z, u[3] * (scale * weight.w) + bias.w));
    unsigned to = Shared::H + half * Shared::PANEL + row * 128 + ((first / 8) ^ (row % 8)) * 16 + first % 8 * 2;
    *reinterpret_cast<uint2 *>(at.shared + to) = packed;
  }
  fence_proxy_async();
}

// x += attention, and h = layer_norm(x). Lane p of a node and head has channels 8·p to 8·p + 7 of the head, and
// features 2·p, 2·p + 1, 2·p + 8 and 2·p + 9.
__device__ __forceinline__ void attend(const Block &at, const unsigned char *vectors, float eps) {
  constexpr int BATCH = 4;
  const unsigned l = at.lane, p = l % 4, head = at.warp, first_node = 8 * at.group, node = first_node + l / 4;
  const unsigned head_bytes = head * HEAD_DIM * 2, channel_bytes = head_bytes + 16 * p;
  const unsigned w = shared_address(vectors + Vectors::EDGE_W) + head * HEAD_DIM * FEATURES * 2;
  const unsigned *rows = reinterpret_cast<const unsigned *>(at.shared + Shared::ROWS);
  unsigned edge = rows[node], end = rows[node + 1];

  // Wᵀq: q's 8 rows are the upper half of mma's left operand, and its lower half is zero.
  unsigned q_rows[4];
  load_matrices(q_rows, at.base + Shared::Q + (first_node + l % 8) * Shared::PITCH + head_bytes + l / 8 * 16);
  float folded[2][4] = {};
#pragma unroll
  for (int k = 0; k < 2; k++) {
    unsigned w_t[4];
    load_matrices_transposed(w_t, w + (16 * k + l % 16) * FEATURES * 2 + l / 16 * 16);
    const unsigned a[4] = {q_rows[2 * k], 0, q_rows[2 * k + 1], 0};
    mma(folded[0], a, w_t[0], w_t[1]);
    mma(folded[1], a, w_t[2], w_t[3]);
  }

  float q[8];
  unpack16<bf16>(*reinterpret_cast<const uint4 *>(at.shared + Shared::Q + node * Shared::PITCH + channel_bytes), q);
  float max = -3.402823e38f, total = 0.f, values[8] = {}, features[4] = {};
  auto add_batch = [&](auto full) {
    constexpr bool FULL = decltype(full)::value;
    uint4 k[BATCH], v[BATCH];
    unsigned e[BATCH][2];
    float score[BATCH], highest = max;
#pragma unroll
    for (int b = 0; b < BATCH; b++) {
      unsigned at_edge = FULL || edge + b < end ? edge + b : 0;
      unsigned source = FULL || edge + b < end ? at.shared[Shared::SOURCES + at_edge] : 0;
      unsigned row = source * Shared::PITCH + channel_bytes;
      k[b] = *reinterpret_cast<const uint4 *>(at.shared + Shared::K + row);
      v[b] = *reinterpret_cast<const uint4 *>(at.shared + Shared::V + row);
      const unsigned char *features_of = at.shared + Shared::EDGES + at_edge * Shared::EDGE_PITCH + 4 * p;
      e[b][0] = *reinterpret_cast<const unsigned *>(features_of);
      e[b][1] = *reinterpret_cast<const unsigned *>(features_of + 16);
    }
#pragma unroll
    for (int b = 0; b < BATCH; b++) {
      float c[8];
      unpack16<bf16>(k[b], c);
      score[b] = folded[0][0] * unpack_low(e[b][0]) + folded[0][1] * unpack_high(e[b][0]) +
                 folded[1][0] * unpack_low(e[b][1]) + folded[1][1] * unpack_high(e[b][1]);
#pragma unroll
      for (int i = 0; i < 8; i++) score[b] += q[i] * c[i];
    }
#pragma unroll
    for (int d = 2; d > 0; d /= 2)
#pragma unroll
      for (int b = 0; b < BATCH; b++) score[b] += __shfl_xor_sync(ALL_LANES, score[b], d);
#pragma unroll
    for (int b = 0; b < BATCH; b++)
      if (FULL || edge + b < end) highest = fmaxf(highest, score[b]);
    float shrink = exp2_approx(max - highest);
    max = highest, total *= shrink;
#pragma unroll
    for (int i = 0; i < 8; i++) values[i] *= shrink;
#pragma unroll
    for (int i = 0; i < 4; i++) features[i] *= shrink;
#pragma unroll
    for (int b = 0; b < BATCH; b++) {
      bool exists = FULL || edge + b < end;
      float weight = exists ? exp2_approx(score[b] - max) : 0.f;
      if (!exists) v[b] = make_uint4(0, 0, 0, 0), e[b][0] = e[b][1] = 0; // 0·∞ would be no number
      float c[8];
      unpack16<bf16>(v[b], c);
      total += weight;
#pragma unroll
      for (int i = 0; i < 8; i++) values[i] += weight * c[i];
      features[0] += weight * unpack_low(e[b][0]), features[1] += weight * unpack_high(e[b][0]);
      features[2] += weight * unpack_low(e[b][1]), features[3] += weight * unpack_high(e[b][1]);
    }
  };
#pragma unroll 1
  for (; __any_sync(ALL_LANES, edge < end); edge += BATCH) {
    if (__all_sync(ALL_LANES, edge + BATCH <= end)) add_batch(Full<true>{});
    else add_batch(Full<false>{});
  }

  // values += W·features. Column n of the j-th of four results is channel 8·(n/2) + 2·j + n%2 of the head, so that a
  // lane's results are its own channels. The features are split into two bf16, whose sum is as accurate as f32 here.
  unsigned high[4] = {pack_bf16(features[0], features[1]), 0, pack_bf16(features[2], features[3]), 0};
  unsigned low[4] = {pack_bf16(features[0] - unpack_low(high[0]), features[1] - unpack_high(high[0])), 0,
                     pack_bf16(features[2] - unpack_low(high[2]), features[3] - unpack_high(high[2])), 0};
  float results[4][4];
#pragma unroll
  for (int j = 0; j < 4; j += 2) {
    unsigned w_rows[4], n = l % 8;
    load_matrices(w_rows, w + (8 * (n / 2) + 2 * (j + l / 16) + n % 2) * FEATURES * 2 + l / 8 % 2 * 16);
#pragma unroll
    for (int i = 0; i < 2; i++) {
      float(&c)[4] = results[j + i];
      c[0] = values[2 * (j + i)], c[1] = values[2 * (j + i) + 1], c[2] = c[3] = 0.f;
      mma(c, high, w_rows[2 * i], w_rows[2 * i + 1]);
      mma(c, low, w_rows[2 * i], w_rows[2 * i + 1]);
    }
  }
  float scale = total != 0.f ? 1.f / total : 0.f;
  float4 *x = reinterpret_cast<float4 *>(at.x(node, head * HEAD_DIM + 8 * p));
  float y[8], sum = 0.f;
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const float(&a)[4] = results[2 * i], (&b)[4] = results[2 * i + 1];
    float4 out = x[i];
    out = make_float4(out.x + a[0] * scale, out.y + a[1] * scale, out.z + b[0] * scale, out.w + b[1] * scale);
    x[i] = out;
    y[4 * i] = out.x, y[4 * i + 1] = out.y, y[4 * i + 2] = out.z, y[4 * i + 3] = out.w;
    sum += (out.x + out.y) + (out.z + out.w);
  }

  float2 *moments = reinterpret_cast<float2 *>(at.shared + Shared::MOMENTS) + node * HEADS;
  write_moments(moments + head, l, y, sum);
  const bf16 *norm_w = reinterpret_cast<const bf16 *>(vectors + Vectors::NORM2_W) + head * HEAD_DIM + 8 * p;
  const bf16 *norm_b = reinterpret_cast<const bf16 *>(vectors + Vectors::NORM2_B) + head * HEAD_DIM + 8 * p;
  float weight[8], bias[8];
  load16(norm_w, weight), load16(norm_b, bias);
  barrier_sync<128>(1 + at.group); // the warps that have heads of the same nodes
  const float2 norm = read_moments(moments, eps);
#pragma unroll
  for (int i = 0; i < 8; i++) y[i] = (y[i] - norm.x) * (norm.y * weight[i]) + bias[i];
  unsigned to = Shared::H + head / 2 * Shared::PANEL + node * 128 + ((head % 2 * 4 + p) ^ node % 8) * 16;
  *reinterpret_cast<uint4 *>(at.shared + to) = pack16(y);
  fence_proxy_async();
}
