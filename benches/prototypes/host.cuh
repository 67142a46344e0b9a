// Helpers of the programs: random bf16 numbers, tensor maps, errors.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "common/hopper.cuh"

#define CHECK(x) do { cudaError_t error_ = (x); if (error_ != cudaSuccess) { printf("%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(error_)); exit(1); } } while (0)
using std::vector;
static std::mt19937 rng(7);
static float normal() { static std::normal_distribution<float> d; return d(rng); }
static unsigned short to_bf16(float x) { unsigned b; memcpy(&b, &x, 4); b += 0x7fff + (b >> 16 & 1); return b >> 16; }
static float from_bf16(unsigned short h) { unsigned b = unsigned(h) << 16; float x; memcpy(&x, &b, 4); return x; }
static float rnd(float x) { return from_bf16(to_bf16(x)); }

typedef CUresult (*Encode)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *, const cuuint64_t *, const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
static Encode encode;
static TensorMap map_of(bf16 *p, size_t rows, size_t columns, unsigned box_rows) {
  CUtensorMap map; cuuint64_t dims[2] = {columns, rows}, strides[1] = {columns * 2}; cuuint32_t box[2] = {64, box_rows}, steps[2] = {1, 1};
  CUresult r = encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, p, dims, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (r) { printf("encode %d\n", r); exit(1); }
  TensorMap t; static_assert(sizeof t == sizeof map); memcpy(&t, &map, sizeof t); return t;
}

// Asks the driver for the function that makes tensor maps; map_of needs it.
static void find_encode() {
  void *f; cudaDriverEntryPointQueryResult q; CHECK(cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &f, cudaEnableDefault, &q)); encode = (Encode)f;
}
