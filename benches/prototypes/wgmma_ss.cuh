#define FRAGMENT(i) "+f"(acc[i][0]), "+f"(acc[i][1]), "+f"(acc[i][2]), "+f"(acc[i][3])
template <bool ADD>
__device__ __forceinline__ void wgmma_ss(float (&acc)[2][4], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, %10, 1, 1, 0, 0;"
               : FRAGMENT(0), FRAGMENT(1)
               : "l"(a), "l"(b), "n"(ADD));
}
template <bool ADD>
__device__ __forceinline__ void wgmma_ss(float (&acc)[3][4], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n24k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11}, %12, %13, %14, 1, 1, 0, 0;"
               : FRAGMENT(0), FRAGMENT(1), FRAGMENT(2)
               : "l"(a), "l"(b), "n"(ADD));
}
template <bool ADD>
__device__ __forceinline__ void wgmma_ss(float (&acc)[4][4], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, %16, %17, %18, 1, 1, 0, 0;"
               : FRAGMENT(0), FRAGMENT(1), FRAGMENT(2), FRAGMENT(3)
               : "l"(a), "l"(b), "n"(ADD));
}
template <bool ADD>
__device__ __forceinline__ void wgmma_ss(float (&acc)[6][4], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n48k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23}, %24, %25, %26, 1, 1, 0, 0;"
               : FRAGMENT(0), FRAGMENT(1), FRAGMENT(2), FRAGMENT(3), FRAGMENT(4), FRAGMENT(5)
               : "l"(a), "l"(b), "n"(ADD));
}
template <bool ADD>
__device__ __forceinline__ void wgmma_ss(float (&acc)[8][4], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, %34, 1, 1, 0, 0;"
               : FRAGMENT(0), FRAGMENT(1), FRAGMENT(2), FRAGMENT(3), FRAGMENT(4), FRAGMENT(5), FRAGMENT(6), FRAGMENT(7)
               : "l"(a), "l"(b), "n"(ADD));
}
template <bool ADD>
__device__ __forceinline__ void wgmma_ss(float (&acc)[12][4], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n96k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47}, %48, %49, %50, 1, 1, 0, 0;"
               : FRAGMENT(0), FRAGMENT(1), FRAGMENT(2), FRAGMENT(3), FRAGMENT(4), FRAGMENT(5), FRAGMENT(6), FRAGMENT(7), FRAGMENT(8), FRAGMENT(9), FRAGMENT(10), FRAGMENT(11)
               : "l"(a), "l"(b), "n"(ADD));
}
template <bool ADD>
__device__ __forceinline__ void wgmma_ss(float (&acc)[14][4], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n112k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55}, %56, %57, %58, 1, 1, 0, 0;"
               : FRAGMENT(0), FRAGMENT(1), FRAGMENT(2), FRAGMENT(3), FRAGMENT(4), FRAGMENT(5), FRAGMENT(6), FRAGMENT(7), FRAGMENT(8), FRAGMENT(9), FRAGMENT(10), FRAGMENT(11), FRAGMENT(12), FRAGMENT(13)
               : "l"(a), "l"(b), "n"(ADD));
}
template <bool ADD>
__device__ __forceinline__ void wgmma_ss(float (&acc)[26][4], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n208k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103}, %104, %105, %106, 1, 1, 0, 0;"
               : FRAGMENT(0), FRAGMENT(1), FRAGMENT(2), FRAGMENT(3), FRAGMENT(4), FRAGMENT(5), FRAGMENT(6), FRAGMENT(7), FRAGMENT(8), FRAGMENT(9), FRAGMENT(10), FRAGMENT(11), FRAGMENT(12), FRAGMENT(13), FRAGMENT(14), FRAGMENT(15), FRAGMENT(16), FRAGMENT(17), FRAGMENT(18), FRAGMENT(19), FRAGMENT(20), FRAGMENT(21), FRAGMENT(22), FRAGMENT(23), FRAGMENT(24), FRAGMENT(25)
               : "l"(a), "l"(b), "n"(ADD));
}
