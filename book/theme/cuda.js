// CUDA for highlight.js, which colours it as C++: its own words are added to the grammar. All C++ of the book is CUDA, so
// blocks of `cpp` get them, too. book.js has run before, so this script highlights them again.
const CUDA = {
    keyword:
        "__global__ __device__ __host__ __shared__ __constant__ __managed__ __restrict__ __forceinline__ __noinline__ " +
        "__align__ __launch_bounds__ __cluster_dims__ __grid_constant__ " +
        "char1 char2 char3 char4 uchar1 uchar2 uchar3 uchar4 short1 short2 short3 short4 ushort1 ushort2 ushort3 ushort4 " +
        "int1 int2 int3 int4 uint1 uint2 uint3 uint4 float1 float2 float3 float4 double1 double2 double3 double4 dim3 " +
        "half half2 __half __half2 bf16 bf16x2 __nv_bfloat16 __nv_bfloat162",
    built_in:
        "threadIdx blockIdx blockDim gridDim warpSize " +
        "__syncthreads __syncwarp __activemask __threadfence __threadfence_block __threadfence_system __trap " +
        "__shfl_sync __shfl_up_sync __shfl_down_sync __shfl_xor_sync __any_sync __all_sync __ballot_sync __match_any_sync " +
        "__reduce_add_sync __reduce_max_sync __reduce_min_sync " +
        "atomicAdd atomicSub atomicExch atomicMin atomicMax atomicInc atomicDec atomicCAS atomicAnd atomicOr atomicXor " +
        "__float_as_uint __uint_as_float __float_as_int __int_as_float __float2int_rn __ldg __clz __popc __ffs " +
        "__dp4a __dp2a_lo __dp2a_hi __funnelshift_l __funnelshift_r __expf __logf __sinf __cosf __fdividef " +
        "__cvta_generic_to_shared __cvta_generic_to_global __cvta_global_to_generic",
};
const cpp = hljs.getLanguage("cpp").rawDefinition;
hljs.registerLanguage("cpp", () => {
    const grammar = cpp();
    for (const kind in CUDA) grammar.keywords[kind] += " " + CUDA[kind];
    return grammar;
});
// In a chapter, `cuda` is as good a name as `cpp`.
hljs.registerAliases(["cuda"], { languageName: "cpp" });
document.querySelectorAll("code.language-cpp, code.language-cuda").forEach((block) => {
    block.textContent = block.textContent; // without the first colours
    hljs.highlightBlock(block);
});
