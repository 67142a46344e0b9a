// The kernel of silu_mul.ptx in CUDA C++. NVRTC compiles it while the program runs.

extern "C" __global__ void silu_mul_f32(const float *gate, const float *up, float *y, unsigned n)
{
    unsigned element = blockIdx.x * 256 + threadIdx.x;
    if (element < n)
        y[element] = gate[element] / (1.f + __expf(-gate[element])) * up[element];
}
