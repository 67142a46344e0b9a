// The PTX instructions of a matmul on Hopper: TMA copies whole boxes of a tensor, mbarriers tell when a copy is
// complete, and wgmma multiplies matrices in shared memory. They need sm_90a.
//
// TMA, the Tensor Memory Accelerator, is a unit of each SM that copies a box of a tensor between global and
// shared memory by itself: one thread starts the copy, which takes no registers and no address arithmetic. TMA and
// wgmma see what threads wrote to shared memory only after fence_proxy_async.
//
// An mbarrier is 8 bytes of shared memory, addressed as shared_address gives it. It goes from phase to phase: a phase
// is complete when all its arrivals and all announced bytes have come. A thread that waits names the parity of the
// phase, 0 for the first, and may be one phase late, not two.
#pragma once

#include "common/cluster.cuh"
#include "common/mma.cuh"

// A tensor map describes a tensor to TMA: the driver encodes it (cuTensorMapEncodeTiled), and a launch passes it.
struct alignas(64) TensorMap {
  unsigned long long words[16];
};

// Makes what mbarrier_init wrote visible to TMA and to the cluster.
__device__ __forceinline__ void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// All threads of the cluster wait for each other. It makes no writes visible but those of mbarrier_init.
__device__ __forceinline__ void cluster_barrier() {
  fence_mbarrier_init();
  asm volatile("barrier.cluster.arrive.relaxed;\n\t"
               "barrier.cluster.wait.acquire;" ::
                   : "memory");
}

__device__ __forceinline__ void mbarrier_init(unsigned barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// Arrives, and announces the bytes that copies will bring.
__device__ __forceinline__ void mbarrier_arrive_expect_tx(unsigned barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// Arrives at the barrier of this address in a block of the cluster. It is not a release at the cluster's
// scope, which would wait for all of this thread's stores to reach the L2 cache, a thousand cycles or so:
// what was done before is reads by the tensor cores, and they were waited for.
__device__ __forceinline__ void mbarrier_arrive(unsigned barrier, unsigned rank) {
  asm volatile("{\n\t.reg .b32 there;\n\t"
               "mapa.shared::cluster.u32 there, %0, %1;\n\t"
               "mbarrier.arrive.shared::cluster.b64 _, [there];\n\t}" ::"r"(barrier),
               "r"(rank)
               : "memory");
}

// Arrives at a barrier of this block.
__device__ __forceinline__ void mbarrier_arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Waits for the end of the phase of this parity.
__device__ __forceinline__ void mbarrier_wait(unsigned barrier, unsigned parity) {
  unsigned over;
  do {
    asm volatile("{\n\t.reg .pred over;\n\t"
                 "mbarrier.try_wait.parity.shared::cta.b64 over, [%1], %2;\n\t"
                 "selp.b32 %0, 1, 0, over;\n\t}"
                 : "=r"(over)
                 : "r"(barrier), "r"(parity)
                 : "memory");
  } while (!over);
}

// As mbarrier_wait, for bytes that other blocks of the cluster send with store_async.
__device__ __forceinline__ void mbarrier_wait_cluster(unsigned barrier, unsigned parity) {
  unsigned over;
  do {
    asm volatile("{\n\t.reg .pred over;\n\t"
                 "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 over, [%1], %2;\n\t"
                 "selp.b32 %0, 1, 0, over;\n\t}"
                 : "=r"(over)
                 : "r"(barrier), "r"(parity)
                 : "memory");
  } while (!over);
}

// This address in the block of this rank.
__device__ __forceinline__ unsigned map_rank(unsigned address, unsigned rank) {
  unsigned there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  return there;
}

// Writes 16 bytes to the address `there` of a block of the cluster; they complete on that block's mbarrier, so that a thread
// that waits there needs no barrier of the cluster, where all would wait for all. Both addresses are those of map_rank.
__device__ __forceinline__ void store_async(unsigned there, uint4 x, unsigned barrier) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(there),
               "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w), "r"(barrier)
               : "memory");
}

// A barrier of N threads of the block, whole warps; id 0 is __syncthreads. barrier_arrive does not wait.
template <int N>
__device__ __forceinline__ void barrier_sync(unsigned id) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "n"(N) : "memory");
}
template <int N>
__device__ __forceinline__ void barrier_arrive(unsigned id) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "n"(N) : "memory");
}

// Starts to copy a box of a matrix, whose first element is (row, column), to shared memory, zeros where there
// is no matrix; its bytes complete on a barrier. One thread starts it, TMA does it.
__device__ __forceinline__ void tma_load(unsigned to, const TensorMap *map, unsigned row, unsigned column,
                                         unsigned barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%2, %3}], [%4];" ::"r"(to),
               "l"(map), "r"(column), "r"(row), "r"(barrier)
               : "memory");
}

// The same, to all blocks of the cluster that have a bit in `blocks`, at the same address and on the same barrier
// in each: the box is read once from the L2 cache.
__device__ __forceinline__ void tma_load_multicast(unsigned to, const TensorMap *map, unsigned row, unsigned column,
                                                   unsigned barrier, unsigned short blocks) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
               "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
               "l"(map), "r"(column), "r"(row), "r"(barrier), "h"(blocks)
               : "memory");
}

// As tma_load, of a tensor (sequence, token, head, channel).
__device__ __forceinline__ void tma_load(unsigned to, const TensorMap *map, unsigned sequence, unsigned token,
                                         unsigned head, unsigned channel, unsigned barrier) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(to),
               "l"(map), "r"(channel), "r"(head), "r"(token), "r"(sequence), "r"(barrier)
               : "memory");
}

// Starts to copy a box from shared memory to a matrix, where there is one; fence_proxy_async and a barrier first.
__device__ __forceinline__ void tma_store(const TensorMap *map, unsigned row, unsigned column, unsigned from) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];\n\t"
               "cp.async.bulk.commit_group;" ::"l"(map),
               "r"(column), "r"(row), "r"(from)
               : "memory");
}

__device__ __forceinline__ void tma_store(const TensorMap *map, unsigned sequence, unsigned token, unsigned head,
                                          unsigned channel, unsigned from) {
  asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%1, %2, %3, %4}], [%5];\n\t"
               "cp.async.bulk.commit_group;" ::"l"(map),
               "r"(channel), "r"(head), "r"(token), "r"(sequence), "r"(from)
               : "memory");
}

// Waits until TMA has read shared memory for all stores of this thread, so that it may be written again.
__device__ __forceinline__ void tma_store_wait() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }

// Makes what this thread wrote to shared memory visible to TMA and wgmma.
__device__ __forceinline__ void fence_proxy_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Brings a map into the cache before the first copy needs it.
__device__ __forceinline__ void prefetch_tensor_map(const TensorMap *map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// A thread of the warpgroup has N registers from here on: fewer, which the block gets back, or more, once the
// block has them.
template <int N>
__device__ __forceinline__ void setmaxnreg_dec() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
}
template <int N>
__device__ __forceinline__ void setmaxnreg_inc() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
}

// Four 8×8 matrices of bf16 to shared memory (stmatrix): load_matrices the other way.
__device__ __forceinline__ void store_matrices(unsigned address, unsigned a, unsigned b, unsigned c, unsigned d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(a), "r"(b),
               "r"(c), "r"(d)
               : "memory");
}

// The encoding of an address or a byte offset in a matrix descriptor: 14 bits, in units of 16 bytes.
__device__ __forceinline__ unsigned long long matrix_descriptor_encode(unsigned bytes) { return bytes >> 4 & 0x3fff; }

// The descriptor of a matrix in shared memory that wgmma reads: "PTX ISA", matrix descriptor format. The matrix has rows
// of 128 bytes that TMA swizzled. From 8 rows to the next 8 are 1024 bytes: the stride. Where wgmma reads it by columns
// (transposed), a row holds 64 of them, and the next 64 are `leading_byte_offset` further on; elsewhere wgmma ignores
// that offset.
__device__ __forceinline__ unsigned long long matrix_descriptor(unsigned start_address,
                                                                unsigned leading_byte_offset = 16) {
  constexpr unsigned STRIDE_BYTE_OFFSET = 8 * 128;
  constexpr unsigned long long SWIZZLE_MODE_128B = 1;
  return matrix_descriptor_encode(start_address)              // bits 13–0
         | matrix_descriptor_encode(leading_byte_offset) << 16 // bits 29–16
         | matrix_descriptor_encode(STRIDE_BYTE_OFFSET) << 32  // bits 45–32
         | SWIZZLE_MODE_128B << 62;                            // bits 63–62
}

// Around wgmma: from wgmma_fence on, only wgmma may touch the registers of the accumulators, until wgmma_wait has
// waited for its group. wgmma_commit closes a group, and wgmma_wait returns once at most PENDING groups are in flight.
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int PENDING>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

// acc += a·bᵀ by a warpgroup, a 64×16 and b N×16 in shared memory, acc 64×N. Warp w has rows 16·w to 16·w + 15 of acc,
// in N/8 fragments of 16×8, whose elements lie in the lanes as those of mma do.
#define ACC(i) "+f"(acc[i][0]), "+f"(acc[i][1]), "+f"(acc[i][2]), "+f"(acc[i][3])
#define ACC8(i) ACC(i), ACC(i + 1), ACC(i + 2), ACC(i + 3), ACC(i + 4), ACC(i + 5), ACC(i + 6), ACC(i + 7)
__device__ __forceinline__ void wgmma(float (&acc)[24][4], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n192k16.f32.bf16.bf16 {"
               "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
               "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
               "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
               "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
               "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
               "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95}, "
               "%96, %97, 1, 1, 1, 0, 0;"
               : ACC8(0), ACC8(8), ACC8(16)
               : "l"(a), "l"(b));
}

// With ADD = false the next two compute acc = a·bᵀ.
template <bool ADD>
__device__ __forceinline__ void wgmma(float (&acc)[10][4], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n80k16.f32.bf16.bf16 {"
               "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
               "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
               "%32, %33, %34, %35, %36, %37, %38, %39}, "
               "%40, %41, %42, 1, 1, 0, 0;"
               : ACC8(0), ACC(8), ACC(9)
               : "l"(a), "l"(b), "n"(ADD));
}
template <bool ADD = true>
__device__ __forceinline__ void wgmma(float (&acc)[16][4], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
               "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
               "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
               "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
               "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
               "%64, %65, %66, 1, 1, 0, 0;"
               : ACC8(0), ACC8(8)
               : "l"(a), "l"(b), "n"(ADD));
}

// acc += a·b, a 64×16 in registers, in the lanes as mma's left operand is, b 16×N in shared memory, read by columns.
__device__ __forceinline__ void wgmma(float (&acc)[8][4], const unsigned (&a)[4], unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
               "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
               "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
               "{%32, %33, %34, %35}, %36, 1, 1, 1, 1;"
               : ACC8(0)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
__device__ __forceinline__ void wgmma(float (&acc)[16][4], const unsigned (&a)[4], unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
               "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
               "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
               "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
               "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
               "{%64, %65, %66, %67}, %68, 1, 1, 1, 1;"
               : ACC8(0), ACC8(8)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

// For a few rows of x, which are the columns of yᵀ = w·xᵀ: 32 or 16 of them, where otherwise most of each wgmma would be
// empty. ADD as above.
template <bool ADD>
__device__ __forceinline__ void wgmma(float (&acc)[4][4], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {"
               "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
               "%16, %17, %18, 1, 1, 0, 0;"
               : ACC(0), ACC(1), ACC(2), ACC(3)
               : "l"(a), "l"(b), "n"(ADD));
}
template <bool ADD>
__device__ __forceinline__ void wgmma(float (&acc)[2][4], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7}, "
               "%8, %9, %10, 1, 1, 0, 0;"
               : ACC(0), ACC(1)
               : "l"(a), "l"(b), "n"(ADD));
}

// store_matrices of the transposes: what wgmma has computed as yᵀ becomes rows of y.
__device__ __forceinline__ void store_matrices_transposed(unsigned address, unsigned a, unsigned b, unsigned c,
                                                          unsigned d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(a), "r"(b),
               "r"(c), "r"(d)
               : "memory");
}

// Starts to copy neighbouring bytes, a multiple of 16, to shared memory of this block; they complete on a barrier.
__device__ __forceinline__ void bulk_load(unsigned to, const void *from, unsigned bytes, unsigned barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
}

// graph_pass in f32: FP16, 64 and 32 columns.
template <bool ADD>
__device__ __forceinline__ void wgmma_f16(float (&acc)[8][4], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {"
               "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
               "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
               "%32, %33, %34, 1, 1, 0, 0;"
               : ACC8(0)
               : "l"(a), "l"(b), "n"(ADD));
}
template <bool ADD>
__device__ __forceinline__ void wgmma_f16(float (&acc)[4][4], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {"
               "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
               "%16, %17, %18, 1, 1, 0, 0;"
               : ACC(0), ACC(1), ACC(2), ACC(3)
               : "l"(a), "l"(b), "n"(ADD));
}
#undef ACC
#undef ACC8
