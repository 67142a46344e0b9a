// Prints what NVIDIA's cuda_occupancy.h says of several hundred launches, as JSON; tests/nvidia.rs compiles it:
//
//   c++ -I CUDA/include nvidia.cpp -o nvidia && ./nvidia
//
// A case is [capability, threads, registers, shared, blocks, by warps, by blocks, by registers, by shared memory], where
// null is no limit. The header takes the sizes of an SM from the caller; those below are from the CUDA C++ Programming
// Guide, "Technical Specifications per Compute Capability".
#include <climits>
#include <cstdio>
#include <cstdlib>

#include <cuda.h>
#include <cuda_occupancy.h>

struct Gpu { int major, minor, threads, shared_kib; };

const Gpu GPUS[] = {{7, 5, 1024, 64},   {8, 0, 2048, 164},  {8, 6, 1536, 100}, {8, 9, 1536, 100},
                    {9, 0, 2048, 228},  {10, 0, 2048, 228}, {12, 0, 1536, 100}};
const int PER_GPU = 120;
const int THREADS[] = {1, 32, 33, 64, 96, 128, 160, 192, 256, 320, 384, 512, 640, 768, 992, 1024};
const int REGISTERS[] = {1, 16, 24, 25, 32, 33, 40, 48, 56, 64, 65, 72, 80, 96, 128, 168, 200, 255};
const int SHARED[] = {0, 1, 256, 1024, 3000, 8192, 16384, 24576, 32768, 40000, 49152, 65536, 101376, 166912, 232448};

template <int N> int any(const int (&values)[N], unsigned &state) {
    state = state * 1664525u + 1013904223u;
    return values[(state >> 16) % N];
}

void print_limit(int blocks, const char *end) {
    if (blocks == INT_MAX) printf("null%s", end);
    else printf("%d%s", blocks, end);
}

void print_case(const Gpu &gpu, int threads, int registers, int shared, const char *end) {
    const int reserved = gpu.major == 7 ? 0 : 1024;
    cudaOccDeviceProp properties;
    properties.computeMajor = gpu.major;
    properties.computeMinor = gpu.minor;
    properties.maxThreadsPerBlock = 1024;
    properties.maxThreadsPerMultiprocessor = gpu.threads;
    properties.regsPerBlock = properties.regsPerMultiprocessor = 65536;
    properties.warpSize = 32;
    properties.sharedMemPerBlock = 49152;
    properties.sharedMemPerMultiprocessor = gpu.shared_kib << 10;
    properties.numSms = 1;
    properties.sharedMemPerBlockOptin = (gpu.shared_kib << 10) - reserved;
    properties.reservedSharedMemPerBlock = reserved;

    cudaOccFuncAttributes function;
    function.maxThreadsPerBlock = 1024;
    function.numRegs = registers;
    function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    function.maxDynamicSharedSizeBytes = shared;
    function.numBlockBarriers = 1;

    cudaOccDeviceState state;
    cudaOccResult result;
    if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &function, &state, threads, shared)) exit(1);
    printf("[%d, %d, %d, %d, %d, ", 10 * gpu.major + gpu.minor, threads, registers, shared,
           result.activeBlocksPerMultiprocessor);
    print_limit(result.blockLimitWarps, ", ");
    print_limit(result.blockLimitBlocks, ", ");
    print_limit(result.blockLimitRegs, ", ");
    print_limit(result.blockLimitSharedMem, "]");
    printf("%s\n", end);
}

int main() {
    unsigned state = 1;
    printf("{\"cuda\": %d, \"cases\": [\n", CUDA_VERSION);
    for (const Gpu &gpu : GPUS)
        for (int i = 0; i < PER_GPU; i++) {
            const bool is_last = gpu.major == 12 && i + 1 == PER_GPU;
            const int threads = any(THREADS, state), registers = any(REGISTERS, state);
            // The first launches need little shared memory, which is what leaves the other limits to decide.
            const int shared = i % 2 ? any(SHARED, state) : i % 3 * 700;
            print_case(gpu, threads, registers, shared, is_last ? "" : ",");
        }
    printf("]}\n");
}
