// y (rows, columns): y_rc = x_rc · w_c, with loads and stores of 16 bytes where they are legal.
//
// Launch: grid (rows), block (64). x and w may begin anywhere in their buffers.

// REGION: legal
//| // Whether every row of x and y, and w, can be read and written as float4.
//| __device__ bool is_legal(const float *x, const float *w, const float *y, int columns) {
//|   return columns % 4 == 0;
//| }
// Every row is aligned if the first one is, and if a row has a multiple of 16 bytes.
__device__ bool is_aligned(const float *p) { return reinterpret_cast<size_t>(p) % 16 == 0; }

__device__ bool is_legal(const float *x, const float *w, const float *y, int columns) {
  return columns % 4 == 0 && is_aligned(x) && is_aligned(w) && is_aligned(y);
}
// END

extern "C" __global__ void scaled_columns(const float *x, const float *w, float *y, int columns) {
  const float *from = x + size_t(blockIdx.x) * columns;
  float *to = y + size_t(blockIdx.x) * columns;
  if (is_legal(x, w, y, columns)) {
    // REGION: four
    //|     // Four neighbouring columns per thread and turn, as one float4 of each array.
    for (int i = threadIdx.x; i < columns / 4; i += 64) {
      float4 v = reinterpret_cast<const float4 *>(from)[i];
      float4 s = reinterpret_cast<const float4 *>(w)[i];
      reinterpret_cast<float4 *>(to)[i] = {v.x * s.x, v.y * s.y, v.z * s.z, v.w * s.w};
    }
    // END
  } else {
    for (int i = threadIdx.x; i < columns; i += 64) to[i] = from[i] * w[i];
  }
}
