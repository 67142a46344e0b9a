// y = w·x, a GEMV in bf16 with sums in f32. w (rows, stride); its first K columns count.
// x (K), y (rows). The stride is a multiple of 8, so each row begins at a multiple of 16 bytes.
//
// Launch: grid (rows), block (32). One warp per row of w.

using bf16 = unsigned short;

__device__ float widen(unsigned bits) { return __uint_as_float(bits << 16); }

// The sum of eight products. Each word of a chunk of 16 bytes has two numbers.
__device__ float dot8(uint4 a, uint4 b) {
  unsigned as[4] = {a.x, a.y, a.z, a.w}, bs[4] = {b.x, b.y, b.z, b.w};
  float sum = 0.f;
  for (int i = 0; i < 4; i++) {
    sum += widen(as[i] & 0xffff) * widen(bs[i] & 0xffff) + widen(as[i] >> 16) * widen(bs[i] >> 16);
  }
  return sum;
}

extern "C" __global__ void gemv(const bf16 *w, const bf16 *x, float *y, int k, int stride) {
  const bf16 *row = w + size_t(blockIdx.x) * stride;
  int lane = threadIdx.x;
  float sum = 0.f;
  // REGION: columns
  //|   // Add up this lane's products. reinterpret_cast<const uint4 *>(row)[i] has the eight
  //|   // columns from 8·i on. The last columns may be fewer than eight: widen(row[c]) is column c.
  int chunks = k / 8;
  for (int i = lane; i < chunks; i += 32) {
    sum += dot8(reinterpret_cast<const uint4 *>(row)[i], reinterpret_cast<const uint4 *>(x)[i]);
  }
  int column = chunks * 8 + lane;
  if (column < k) sum += widen(row[column]) * widen(x[column]);
  // END
  for (int bit = 16; bit > 0; bit /= 2) sum += __shfl_xor_sync(0xffffffff, sum, bit);
  if (lane == 0) y[blockIdx.x] = sum;
}
