// In f32, the attention of a graph in shared memory, and the two norms of a layer: bf16_attend.cuh has the layout. Wᵀq and
// W(Σαe) are 3×TF32 (split_tf32.cuh): edges and q have no bound that FP16 would need.
#pragma once

#include "graph_pass/level5/f32.cuh"

// h = layer_norm(x), the norm before attention: two rows per warp, 16 lanes each, 8 channels per lane.
__device__ __forceinline__ void norm(const Block &at, const float *w, const float *b, float eps) {
  unsigned row = 2 * (4 * at.group + at.warp) + at.lane / 16, first = 4 * (at.lane % 16);
  float v[8];
  const float scale = centre(at, row, first, eps, v);
#pragma unroll
  for (int half = 0; half < 2; half++) {
    float4 weight = load4(w + first + 64 * half), bias = load4(b + first + 64 * half);
    const float *u = v + 4 * half;
    uint2 high, low;
    split_f16(u[0] * (scale * weight.x) + bias.x, u[1] * (scale * weight.y) + bias.y, high.x, low.x);
    split_f16(u[2] * (scale * weight.z) + bias.z, u[3] * (scale * weight.w) + bias.w, high.y, low.y);
    unsigned char *to = at.shared + Shared::H + half * Shared::PANEL + swizzled(row, first / 8) + first % 8 * 2;
    *reinterpret_cast<uint2 *>(to) = high;
    *reinterpret_cast<uint2 *>(to + NODES * 128) = low;
  }
  fence_proxy_async();
}

// x += attention, and h = layer_norm(x). Lane p of a node and head has channels 8·p to 8·p + 7 of the head, and features
// 4·p to 4·p + 3. `fragment` is the lane's part of edge_w for Wᵀq.
__device__ __forceinline__ void attend(const Block &at, const float4 (&fragment)[4], float eps) {
  constexpr int BATCH = 4;
  const unsigned l = at.lane, g = l / 4, p = l % 4, head = at.warp, node = 8 * at.group + g;
  const unsigned channel = head * HEAD_DIM + 8 * p;
  const unsigned *rows = reinterpret_cast<const unsigned *>(at.shared + Shared::ROWS);
  const float *q_at = reinterpret_cast<const float *>(at.shared + Shared::Q) + node * Shared::PITCH + channel;
  const float *k_at = reinterpret_cast<const float *>(at.shared + Shared::K) + channel;
  const float *v_at = reinterpret_cast<const float *>(at.shared + Shared::V) + channel;
  const float4 *edges = reinterpret_cast<const float4 *>(at.shared + Shared::EDGES);
  unsigned edge = rows[node], end = rows[node + 1];
  const float4 q_low = load4(q_at), q_high = load4(q_at + 4);
  const float q[8] = {q_low.x, q_low.y, q_low.z, q_low.w, q_high.x, q_high.y, q_high.z, q_high.w};

  // Wᵀq: q's 8 rows are the upper half of mma's left operand, and its lower half is zero. K is in the order of the lanes' own
  // channels.
  float folded[4];
  {
    const float w[16] = {fragment[0].x, fragment[0].y, fragment[0].z, fragment[0].w, fragment[1].x, fragment[1].y,
                         fragment[1].z, fragment[1].w, fragment[2].x, fragment[2].y, fragment[2].z, fragment[2].w,
                         fragment[3].x, fragment[3].y, fragment[3].z, fragment[3].w};
    float big[2][4] = {}, small[2][2][4] = {};
#pragma unroll
    for (int i = 0; i < 4; i++) {
      unsigned high[4] = {}, low[4] = {};
      split_tf32(q[2 * i], high[0], low[0]), split_tf32(q[2 * i + 1], high[2], low[2]);
#pragma unroll
      for (int n = 0; n < 2; n++) {
        unsigned w_high[2], w_low[2];
        split_tf32(w[8 * n + 2 * i], w_high[0], w_low[0]), split_tf32(w[8 * n + 2 * i + 1], w_high[1], w_low[1]);
        mma_tf32(small[n][0], low, w_high[0], w_high[1]);
        mma_tf32(small[n][1], high, w_low[0], w_low[1]);
        mma_tf32(big[n], high, w_high[0], w_high[1]);
      }
    }
#pragma unroll
    for (int i = 0; i < 4; i++) folded[i] = big[i / 2][i % 2] + (small[i / 2][0][i % 2] + small[i / 2][1][i % 2]);
  }

  float max = -3.402823e38f, total = 0.f, values[8] = {}, features[4] = {};
  auto add_batch = [&](auto full) {
    constexpr bool FULL = decltype(full)::value;
    float4 e[BATCH];
    unsigned row[BATCH];
    float score[BATCH], highest = max;
#pragma unroll
    for (int b = 0; b < BATCH; b++) {
      unsigned at_edge = FULL || edge + b < end ? edge + b : 0;
      row[b] = (FULL || edge + b < end ? at.shared[Shared::SOURCES + at_edge] : 0) * Shared::PITCH;
      e[b] = edges[edge_chunk(at_edge, p)];
      float4 k = load4(k_at + row[b]), k4 = load4(k_at + row[b] + 4);
      score[b] = (folded[0] * e[b].x + folded[1] * e[b].y) + (folded[2] * e[b].z + folded[3] * e[b].w) +
                 ((q[0] * k.x + q[1] * k.y) + (q[2] * k.z + q[3] * k.w)) +
                 ((q[4] * k4.x + q[5] * k4.y) + (q[6] * k4.z + q[7] * k4.w));
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
      float4 v = load4(v_at + row[b]), v4 = load4(v_at + row[b] + 4);
      if (!exists) v = v4 = e[b] = make_float4(0.f, 0.f, 0.f, 0.f); // 0·∞ would be no number
      total += weight;
      values[0] += weight * v.x, values[1] += weight * v.y, values[2] += weight * v.z, values[3] += weight * v.w;
      values[4] += weight * v4.x, values[5] += weight * v4.y, values[6] += weight * v4.z, values[7] += weight * v4.w;
      features[0] += weight * e[b].x, features[1] += weight * e[b].y;
      features[2] += weight * e[b].z, features[3] += weight * e[b].w;
    }
  };
#pragma unroll 1
  for (; __any_sync(ALL_LANES, edge < end); edge += BATCH) {
    if (__all_sync(ALL_LANES, edge + BATCH <= end)) add_batch(Full<true>{});
    else add_batch(Full<false>{});
  }

  // values += W·features. Column n of the j-th of four results is channel 8·(n/2) + 2·j + n%2 of the head, so that a lane's
  // results are its own channels.
  {
    const unsigned w_at = Vectors::EDGE_W + (head * HEAD_DIM + 8 * (g / 2) + g % 2) * FEATURES + 4 * p;
    unsigned high[2][4] = {}, low[2][4] = {};
#pragma unroll
    for (int s = 0; s < 2; s++)
      split_tf32(features[2 * s], high[s][0], low[s][0]), split_tf32(features[2 * s + 1], high[s][2], low[s][2]);
#pragma unroll
    for (int j = 0; j < 4; j++) {
      float4 w = load4(at.vectors() + w_at + 2 * j * FEATURES);
      float big[4] = {}, small[4] = {};
#pragma unroll
      for (int s = 0; s < 2; s++) {
        unsigned w_high[2], w_low[2];
        split_tf32(s == 0 ? w.x : w.z, w_high[0], w_low[0]), split_tf32(s == 0 ? w.y : w.w, w_high[1], w_low[1]);
        mma_tf32(small, low[s], w_high[0], w_high[1]);
        mma_tf32(small, high[s], w_low[0], w_low[1]);
        mma_tf32(big, high[s], w_high[0], w_high[1]);
      }
#pragma unroll
      for (int i = 0; i < 2; i++) values[2 * j + i] += big[i] + small[i];
    }
  }
  float scale = total != 0.f ? 1.f / total : 0.f;
  float4 *x = reinterpret_cast<float4 *>(at.x(node, channel));
  float y[8], sum = 0.f;
#pragma unroll
  for (int i = 0; i < 2; i++) {
    float4 out = x[i];
    const float *a = values + 4 * i;
    out = make_float4(fmaf(a[0], scale, out.x), fmaf(a[1], scale, out.y), fmaf(a[2], scale, out.z), fmaf(a[3], scale, out.w));
    x[i] = out;
    y[4 * i] = out.x, y[4 * i + 1] = out.y, y[4 * i + 2] = out.z, y[4 * i + 3] = out.w;
    sum += (out.x + out.y) + (out.z + out.w);
  }

  float2 *moments = reinterpret_cast<float2 *>(at.shared + Shared::MOMENTS) + node * HEADS;
  write_moments(moments + head, l, y, sum);
  const float *norm_w = at.vectors() + Vectors::NORM2_W + channel, *norm_b = at.vectors() + Vectors::NORM2_B + channel;
  barrier_sync<128>(1 + at.group); // the warps that have heads of the same nodes
  const float2 norm = read_moments(moments, eps);
  unsigned high[4], low[4];
#pragma unroll
  for (int i = 0; i < 2; i++) {
    float4 weight = load4(norm_w + 4 * i), bias = load4(norm_b + 4 * i);
    const float *v = y + 4 * i;
    split_f16((v[0] - norm.x) * (norm.y * weight.x) + bias.x, (v[1] - norm.x) * (norm.y * weight.y) + bias.y, high[2 * i],
              low[2 * i]);
    split_f16((v[2] - norm.x) * (norm.y * weight.z) + bias.z, (v[3] - norm.x) * (norm.y * weight.w) + bias.w,
              high[2 * i + 1], low[2 * i + 1]);
  }
  unsigned char *to = at.shared + Shared::H + head / 2 * Shared::PANEL + swizzled(node, head % 2 * 4 + p);
  *reinterpret_cast<uint4 *>(to) = make_uint4(high[0], high[1], high[2], high[3]);
  *reinterpret_cast<uint4 *>(to + NODES * 128) = make_uint4(low[0], low[1], low[2], low[3]);
  fence_proxy_async();
}
