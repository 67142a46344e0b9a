// Attention with keys in tiles: y = softmax(q·kᵀ/√D)·v for one head of D = 16 channels.
// q and y (queries, D), k and v (keys, D).
//
// Launch: grid (blocks), block (32). One query per thread; the 32 threads share the tiles.

constexpr int D = 16, TILE = 16;

extern "C" __global__ void attention(const float *q, const float *k, const float *v, float *y,
                                     int queries, int keys) {
  __shared__ float ks[TILE][D], vs[TILE][D];
  int t = blockIdx.x * 32 + threadIdx.x;
  float query[D], out[D] = {}, max = -INFINITY, sum = 0.f;
  for (int c = 0; c < D; c++) query[c] = t < queries ? q[t * D + c] * 0.25f : 0.f; // 1/√D

  for (int first = 0; first < keys; first += TILE) {
    for (int i = threadIdx.x; i < TILE * D; i += 32) {
      bool is_inside = first + i / D < keys;
      ks[i / D][i % D] = is_inside ? k[first * D + i] : 0.f;
      vs[i / D][i % D] = is_inside ? v[first * D + i] : 0.f;
    }
    __syncthreads();
    float score[TILE];
    for (int s = 0; s < TILE; s++) {
      score[s] = 0.f;
      for (int c = 0; c < D; c++) score[s] += query[c] * ks[s][c];
    }
    // REGION: tile
    //|     // score[s] is the score of key `first` + s. Update max, sum and out by this tile.
    //|     // The last tile may have fewer than TILE keys; the rest of ks and vs is 0.
    float new_max = max;
    for (int s = 0; s < TILE; s++) {
      if (first + s >= keys) score[s] = -INFINITY;
      new_max = fmaxf(new_max, score[s]);
    }
    float scale = __expf(max - new_max);
    sum *= scale;
    for (int c = 0; c < D; c++) out[c] *= scale;
    for (int s = 0; s < TILE; s++) {
      float weight = __expf(score[s] - new_max);
      sum += weight;
      for (int c = 0; c < D; c++) out[c] += weight * vs[s][c];
    }
    max = new_max;
    // END
    __syncthreads();
  }
  for (int c = 0; t < queries && c < D; c++) y[t * D + c] = out[c] / sum;
}
