// Level 3 of attention, in CUDA C++ to be read: the kernel of level3.ptx, sum by sum, without its registers and
// addresses. What is launched is level3.ptx, whose header says why and where it loses. A test holds the two to one
// answer, bit by bit.
//
//   score[s] = Σ q[c]·k[s][c] / √D                          s < n = min(S, keys that query 0 sees + t)
//   y[c]     = Σ exp(score[s] − max)·v[s][c] / Σ exp(score[s] − max)
//
// Read next: level4/tile_f32.cu, where a block has up to 64 queries instead of one, so that a tile of keys serves all of them,
// and the scores stay in registers: the maximum and the sum are corrected tile by tile (online softmax).
#include "common/exp2.cuh"

constexpr int THREADS = 128, WARP = 32, WARPS = THREADS / WARP;
constexpr int KEYS = THREADS;  // of a tile: one per thread
constexpr int CHANNELS = WARP; // of a tile: one per lane
constexpr int PITCH = CHANNELS + 1; // words from key to key: a warp that reads one word of 32 keys reads 32 banks
constexpr float LOG2_E = 1.4426950408889634f;

// 128 values become 64, 32, … 1 in shared memory; every thread gets the result.
template <class Combine>
__device__ float tree(float *values, float x, Combine combine) {
  __syncthreads(); // what was there has been read
  values[threadIdx.x] = x;
  for (int stride = THREADS / 2; stride > 0; stride /= 2) {
    __syncthreads();
    if (threadIdx.x < stride) values[threadIdx.x] = x = combine(x, values[threadIdx.x + stride]);
  }
  __syncthreads();
  return values[0];
}

// The parameters of level3.ptx in their order, so that one launch serves both. Strides are in elements; query 0 sees
// `visible_to_first` keys, and each later query one more.
extern "C" __global__ void __launch_bounds__(THREADS)
    attention_f32_level3(const float *q, const float *k, const float *v, unsigned q_batch_stride,
                         unsigned q_token_stride, unsigned kv_batch_stride, unsigned kv_token_stride,
                         unsigned kv_head_stride, unsigned queries, unsigned keys, unsigned visible_to_first,
                         unsigned heads, unsigned heads_of_key, unsigned head_dim, float scale, float *y) {
  extern __shared__ __align__(16) float shared[];
  const unsigned thread = threadIdx.x, lane = thread % WARP, warp = thread / WARP;
  const unsigned t = blockIdx.x, head = blockIdx.y, batch = blockIdx.z;
  const unsigned n = min(keys, visible_to_first + t); // keys that this query sees
  const unsigned padded = (head_dim + CHANNELS - 1) / CHANNELS * CHANNELS;
  float *query = shared, *tile = query + padded, *scores = tile + KEYS * PITCH;
  q += size_t(batch) * q_batch_stride + size_t(t) * q_token_stride + size_t(head) * head_dim;
  k += size_t(batch) * kv_batch_stride + size_t(head / heads_of_key) * kv_head_stride;
  v += size_t(batch) * kv_batch_stride + size_t(head / heads_of_key) * kv_head_stride;
  y += ((size_t(batch) * queries + t) * heads + head) * head_dim;

  for (unsigned c = thread; c < padded; c += THREADS) query[c] = c < head_dim ? q[c] * scale : 0.f;

  // Scores, one key per thread. The warps load a tile of keys to shared memory, where each thread reads its own key.
  float max_score = -INFINITY;
  for (unsigned key0 = 0; key0 < n; key0 += KEYS) {
    const unsigned rows = min(n - key0, KEYS);
    float score = 0.f;
    for (unsigned c0 = 0; c0 < head_dim; c0 += CHANNELS) {
      __syncthreads(); // q is complete, and no thread reads the tile before any more
      for (unsigned r = warp; r < rows; r += WARPS)
        tile[r * PITCH + lane] = c0 + lane < head_dim ? k[size_t(key0 + r) * kv_token_stride + c0 + lane] : 0.f;
      __syncthreads();
      if (thread < rows)
        for (int c = 0; c < CHANNELS; c++) score += query[c0 + c] * tile[thread * PITCH + c];
    }
    if (thread < rows) {
      scores[key0 + thread] = score;
      max_score = fmaxf(max_score, score);
    }
  }

  // Softmax: the maximum is subtracted first, because the exponential of 89 is already an infinity in f32.
  max_score = tree(tile, max_score, [](float a, float b) { return fmaxf(a, b); });
  float sum = 0.f;
  for (unsigned s = thread; s < n; s += THREADS) {
    scores[s] = exp2_approx((scores[s] - max_score) * LOG2_E);
    sum += scores[s];
  }
  sum = tree(tile, sum, [](float a, float b) { return a + b; });

  // The mean of v, 32 channels at a time, one per lane; each warp takes every fourth key.
  for (unsigned c0 = 0; c0 < head_dim; c0 += CHANNELS) {
    const unsigned channel = c0 + lane;
    float mean = 0.f;
    if (channel < head_dim)
      for (unsigned s = warp; s < n; s += WARPS) mean += scores[s] * v[size_t(s) * kv_token_stride + channel];
    // The parts of the four warps: 128 values become 64, then 32.
    __syncthreads();
    tile[thread] = mean;
    __syncthreads();
    if (thread < 64) tile[thread] = mean += tile[thread + 64];
    __syncthreads();
    if (thread < 32 && channel < head_dim) y[channel] = (mean + tile[thread + 32]) / sum;
  }
}
