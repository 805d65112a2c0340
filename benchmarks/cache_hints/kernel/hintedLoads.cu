// Block sums by 16-byte loads with and without the cache hint L2::evict_last: what does it keep through the flush between
// two samples? The launches read the same array each time, as a kernel would that hopes to find it in the L2 cache.

#if !defined BLOCK || !defined HINT
#error "this kernel needs the macros BLOCK, HINT"
#endif

__device__ int4 load(const int4 *at) {
    int4 v;
#if HINT
    unsigned long long policy;
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("ld.global.L2::cache_hint.v4.s32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(at), "l"(policy));
#else
    asm volatile("ld.global.v4.s32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(at));
#endif
    return v;
}

extern "C" __global__ void hintedLoads(const int *in, int *out) {
    __shared__ int sums[BLOCK / 32];
    const int4 v = load(reinterpret_cast<const int4 *>(in) + blockIdx.x * BLOCK + threadIdx.x);
    int sum = v.x + v.y + v.z + v.w;
    for (int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    if (threadIdx.x % 32 == 0)
        sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        int all = 0;
        for (int warp = 0; warp < BLOCK / 32; ++warp)
            all += sums[warp];
        out[blockIdx.x] = all;
    }
}
