#include <cuda_fp16.h>
#include <math_constants.h>

extern "C" __global__ void kernel(float *sums, unsigned *counters, __half2 *halves, int *flags)
{
    const unsigned t = threadIdx.x;
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    atomicAdd((float2 *)sums, make_float2(1, 2));
    atomicAdd((float4 *)(sums + 4), make_float4(1, 2, 3, 4));
#endif
    atomicAdd_block(sums + 8, 1.0f);
    atomicAdd_system(sums + 9, 2.0f);
    atomicInc(counters, 4);
    atomicDec(counters + 1, 4);
    atomicMax_system(counters + 2, t * 7 % 128);
    for (unsigned short seen = 0, *word = (unsigned short *)(counters + 3); ; ) {
        const unsigned short was = atomicCAS(word, seen, (unsigned short)(seen + 1));
        if (was == seen) break;
        seen = was;
    }
    atomicAdd(halves, __floats2half2_rn(1.0f, 0.5f));

    const clock_t start = clock();
    const long long start64 = clock64();
    __nanosleep(10);
    if (t == 0) {
        flags[0] = clock() - start >= 0 && clock64() >= start64;
        __shared__ int there;
        int *back = (int *)__cvta_shared_to_generic(__cvta_generic_to_shared(&there));
        flags[1] = back == &there;
        __stcg(flags + 2, __ldcs(flags + 4) + __ldcv(flags + 4));
        __builtin_assume(t < 128);
        flags[3] = CUDART_INF_F > CUDART_MAX_NORMAL_F && CUDART_PI > CUDART_PI_F - 1e-6 && isnan(CUDART_NAN);
    }
}
