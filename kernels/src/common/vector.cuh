// f32 and bf16 in memory, f32 in registers: single elements, 4 elements, and 16 bytes at a time.
//
// A warp that reads 16 bytes per lane moves 512 bytes with one instruction, four times as many as with 4
// bytes per lane: fewer instructions for the same bytes, and more bytes in flight. The address has to be
// a multiple of the size that is read, or the GPU stops with an error: `aligned` tests it.
#pragma once

// The upper half of an f32: its sign, its 8 bits of exponent and 7 bits of fraction.
struct bf16 {
  unsigned short bits;
};

// Exact.
__device__ __forceinline__ float widen(float x) { return x; }
__device__ __forceinline__ float widen(bf16 x) { return __uint_as_float(unsigned(x.bits) << 16); }

// Two f32 to two bf16, `low` in the lower half; to nearest, ties to even. NaN stays NaN.
__device__ __forceinline__ unsigned pack_bf16(float low, float high) {
#if __CUDA_ARCH__ >= 800
  unsigned packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
#else
  // Adds half a unit in the last bit of the upper half, less one where that bit is 0: ties go to even.
  auto upper_half = [](float x) {
    unsigned bits = __float_as_uint(x);
    return isnan(x) ? 0x7fffu : (bits + 0x7fffu + ((bits >> 16) & 1)) >> 16;
  };
  return upper_half(low) | upper_half(high) << 16;
#endif
}

// The f32 of the lower and of the upper half of two packed bf16.
__device__ __forceinline__ float unpack_low(unsigned packed) { return __uint_as_float(packed << 16); }
__device__ __forceinline__ float unpack_high(unsigned packed) { return __uint_as_float(packed & 0xffff0000u); }

// Writes one element, rounded to nearest even.
__device__ __forceinline__ void store(float *p, float x) { *p = x; }
__device__ __forceinline__ void store(bf16 *p, float x) { p->bits = (unsigned short)pack_bf16(x, 0.f); }

// Reads 4 elements, 16 bytes of f32 or 8 of bf16; p has to be a multiple of that.
__device__ __forceinline__ float4 load4(const float *p) { return *reinterpret_cast<const float4 *>(p); }
__device__ __forceinline__ float4 load4(const bf16 *p) {
  uint2 packed = *reinterpret_cast<const uint2 *>(p);
  return make_float4(unpack_low(packed.x), unpack_high(packed.x), unpack_low(packed.y), unpack_high(packed.y));
}

// Writes 4 elements, 16 bytes of f32 or 8 of bf16; p has to be a multiple of that.
__device__ __forceinline__ void store4(float *p, float4 x) { *reinterpret_cast<float4 *>(p) = x; }
__device__ __forceinline__ void store4(bf16 *p, float4 x) {
  *reinterpret_cast<uint2 *>(p) = make_uint2(pack_bf16(x.x, x.y), pack_bf16(x.z, x.w));
}

// Elements in 16 bytes, a chunk: 4 of f32, 8 of bf16. Kernels call it PER_CHUNK.
template <typename T>
constexpr int PER_16_BYTES = 16 / int(sizeof(T));

// The elements in 16 bytes.
template <typename T>
__device__ __forceinline__ void unpack16(uint4 v, float (&x)[PER_16_BYTES<T>]) {
  const unsigned words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (int i = 0; i < 4; i++) {
    if constexpr (sizeof(T) == 4) {
      x[i] = __uint_as_float(words[i]);
    } else {
      x[2 * i] = unpack_low(words[i]);
      x[2 * i + 1] = unpack_high(words[i]);
    }
  }
}

// 16 bytes of elements, bf16 rounded to nearest even.
__device__ __forceinline__ uint4 pack16(const float (&x)[4]) {
  return make_uint4(__float_as_uint(x[0]), __float_as_uint(x[1]), __float_as_uint(x[2]), __float_as_uint(x[3]));
}
__device__ __forceinline__ uint4 pack16(const float (&x)[8]) {
  return make_uint4(pack_bf16(x[0], x[1]), pack_bf16(x[2], x[3]), pack_bf16(x[4], x[5]), pack_bf16(x[6], x[7]));
}

// Reads 16 bytes; p has to be 16-byte aligned.
template <typename T>
__device__ __forceinline__ void load16(const T *p, float (&x)[PER_16_BYTES<T>]) {
  unpack16<T>(*reinterpret_cast<const uint4 *>(p), x);
}

// Writes 16 bytes; p has to be 16-byte aligned.
template <typename T>
__device__ __forceinline__ void store16(T *p, const float (&x)[PER_16_BYTES<T>]) {
  *reinterpret_cast<uint4 *>(p) = pack16(x);
}

// Reads N elements: one, or 16 bytes of them. A kernel that is a template over N is compiled for either.
template <typename T, int N>
__device__ __forceinline__ void load(const T *p, float (&x)[N]) {
  if constexpr (N == 1) x[0] = widen(*p);
  else load16(p, x);
}

// Writes N elements: one, or 16 bytes of them.
template <typename T, int N>
__device__ __forceinline__ void store(T *p, const float (&x)[N]) {
  if constexpr (N == 1) store(p, x[0]);
  else store16(p, x);
}

// Whether an address is a multiple of BYTES, a power of two. True for null.
template <int BYTES = 16>
__device__ __forceinline__ bool aligned(const void *p) {
  return reinterpret_cast<unsigned long long>(p) % BYTES == 0;
}
