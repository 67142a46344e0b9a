// One block per graph; neighbouring threads add neighbouring columns.
extern "C" __global__ void segment_mean(const float *x, const unsigned *offsets, float *y, unsigned c) {
    unsigned first = offsets[blockIdx.x], end = offsets[blockIdx.x + 1];
    for (unsigned j = threadIdx.x; j < c; j += blockDim.x) {
        float sum = 0.f;
        for (unsigned i = first; i < end; ++i) sum += x[(size_t)i * c + j];
        y[(size_t)blockIdx.x * c + j] = end > first ? sum / (end - first) : 0.f;
    }
}
