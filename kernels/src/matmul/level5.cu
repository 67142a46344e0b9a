#include "matmul/small.cuh"

#define KERNEL(NAME, ...)                                                                                    \
  extern "C" __global__ void __launch_bounds__((__VA_ARGS__::THREADS))                                        \
      matmul_f32_level5_##NAME(const float *__restrict__ a, const float *__restrict__ b,                     \
                               const float *__restrict__ bias, float *__restrict__ c, int m, int n, int k,   \
                               long long a_batch, int a_row, int a_column, long long b_batch, int b_row,     \
                               int b_column) {                                                               \
    small<__VA_ARGS__>(a, b, bias, c, m, n, k, {a_batch, a_row, a_column}, {b_batch, b_row, b_column});        \
  }
