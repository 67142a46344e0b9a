// Level 5 of next_token: the drawn token stays on the device, where the next step reads it.
//
// Against level 4: there the k most probable tokens cross the bus, the host draws one, and the token crosses back
// before the next step can start. Here one warp draws, inside the recorded step: what crosses the bus is the
// uniform number on the way in, which does not wait, and the token on the way out.
//
// The sums are those of the host, in its order and in f64, so that a seed means the same text: one thread adds
// the k probabilities that the warp has put into shared memory. Some ten cycles an addition, up to four times over k
// (all and a part of them, to find how many candidates there are, and again to find the drawn one): about a microsecond for k = 40.
//
// Launch: grid (1), block (32).
//
// Compiled for sm_75 and sm_90: from sm_90 on, a launch may overlap with the one before.
//
// To be faster: a scan over the warp's lanes, whose sums are rounded in another order.
#include "common/overlap.cuh"
#include "common/warp.cuh"

constexpr unsigned MAX_K = 1024; // as in level4.cu

// Number of candidates: the fewest of the first k probabilities whose sum reaches top_p of all.
__device__ __forceinline__ unsigned nucleus(const float *p, unsigned k, double top_p) {
  double all = 0., below = 0.;
  for (unsigned i = 0; i < k; i++) all += p[i];
  for (unsigned i = 0; i < k; i++) {
    below += p[i];
    if (below >= top_p * all) return i + 1;
  }
  return k;
}

// ANCHOR: drawn
// The index at which the sum of the first n probabilities passes `uniform` of all.
__device__ __forceinline__ unsigned drawn(const float *p, unsigned n, double uniform) {
  double all = 0.;
  for (unsigned i = 0; i < n; i++) all += p[i];
  double left = uniform * all;
  for (unsigned i = 0; i < n; i++) {
    left -= p[i];
    if (left < 0.) return i;
  }
  return n - 1;
}
// ANCHOR_END: drawn

// tokens (2, k): tokens, most probable first, and the bits of their probabilities, from top_k; chance (2): a uniform
// number in 0..1, and top_p → token (1), or `vocab` where the probabilities are NaN.
extern "C" __global__ void __launch_bounds__(WARP)
    draw_level5(const unsigned *tokens, const double *chance, unsigned *token, unsigned k, unsigned vocab) {
  __shared__ float p[MAX_K];
  let_next_start();
  wait_for_previous();
  for (unsigned i = threadIdx.x; i < k; i += WARP) p[i] = __uint_as_float(tokens[k + i]);
  __syncwarp();
  if (threadIdx.x > 0) return;
  const unsigned i = drawn(p, nucleus(p, k, chance[1]), chance[0]);
  *token = isnan(p[0]) ? vocab : tokens[i]; // all are NaN, or none is
}
