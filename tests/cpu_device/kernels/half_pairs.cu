// Functions and operators of pairs; see half.cu.
#include <cuda_bf16.h>

#define PASTE_(a, b, c) a##b##c
#define PASTE(a, b, c) PASTE_(a, b, c)

__device__ int thread() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ unsigned bits(NUMBER a) { return PASTE(__, FORMAT, _as_ushort)(a); }
__device__ unsigned bits(PAIR a) { return bits(a.x) | bits(a.y) << 16; }

// Each function of pairs against that of numbers: `out` has the number of the first check that fails, or 0.
struct Checks {
    int done, first_wrong;
    __device__ void hold(bool condition) {
        ++done;
        if (!condition && !first_wrong) first_wrong = done;
    }
};
#define SAME(PAIRS, FIRST, SECOND) checks.hold(bits(PAIRS) == bits(PAIR(FIRST, SECOND)));
#define HOLDS(CONDITION) checks.hold(CONDITION);
#define SAME_OF_ONE(PAIRWISE, NAME) SAME(PAIRWISE(a), NAME(a.x), NAME(a.y))
#define SAME_OF_TWO(PAIRWISE, NAME) SAME(PAIRWISE(a, b), NAME(a.x, b.x), NAME(a.y, b.y))
#define SAME_OF_THREE(PAIRWISE, NAME) SAME(PAIRWISE(a, b, c), NAME(a.x, b.x, c.x), NAME(a.y, b.y, c.y))
#define SAME_COMPARISON(NAME)                                                                               \
    SAME(__##NAME##2(a, b), NUMBER(__##NAME(a.x, b.x) ? 1 : 0), NUMBER(__##NAME(a.y, b.y) ? 1 : 0))         \
    HOLDS(__##NAME##2_mask(a, b) == ((__##NAME(a.x, b.x) ? 0xffffu : 0u) | (__##NAME(a.y, b.y) ? 0xffff0000u : 0u)))
#define SAME_OF_BOTH(NAME) HOLDS(__hb##NAME##2(a, b) == (__h##NAME(a.x, b.x) && __h##NAME(a.y, b.y)))
extern "C" __global__ void pairs(const PAIR *as, const PAIR *bs, const PAIR *cs, int *out) {
    PAIR a = __ldg(as + thread()), b = __ldcg(bs + thread()), c = __ldca(cs + thread());
    Checks checks = {0, 0};
    SAME(a + b, a.x + b.x, a.y + b.y)
    SAME(a - b, a.x - b.x, a.y - b.y)
    SAME(a * b, a.x * b.x, a.y * b.y)
    SAME(a / b, a.x / b.x, a.y / b.y)
    SAME(-a, -a.x, -a.y)
    SAME(+a, a.x, a.y)
    SAME_OF_TWO(__hadd2, __hadd)
    SAME_OF_TWO(__hsub2, __hsub)
    SAME_OF_TWO(__hmul2, __hmul)
    SAME_OF_TWO(__h2div, __hdiv)
    SAME_OF_TWO(__hadd2_rn, __hadd)
    SAME_OF_TWO(__hsub2_rn, __hsub)
    SAME_OF_TWO(__hmul2_rn, __hmul)
    SAME_OF_TWO(__hadd2_sat, __hadd_sat)
    SAME_OF_TWO(__hsub2_sat, __hsub_sat)
    SAME_OF_TWO(__hmul2_sat, __hmul_sat)
    SAME_OF_TWO(__hmax2, __hmax)
    SAME_OF_TWO(__hmin2, __hmin)
    SAME_OF_TWO(__hmax2_nan, __hmax_nan)
    SAME_OF_TWO(__hmin2_nan, __hmin_nan)
    SAME_OF_THREE(__hfma2, __hfma)
    SAME_OF_THREE(__hfma2_sat, __hfma_sat)
    SAME_OF_THREE(__hfma2_relu, __hfma_relu)
    SAME_OF_ONE(__hneg2, __hneg)
    SAME_OF_ONE(__habs2, __habs)
    SAME_OF_ONE(h2sqrt, hsqrt)
    SAME_OF_ONE(h2rsqrt, hrsqrt)
    SAME_OF_ONE(h2rcp, hrcp)
    SAME_OF_ONE(h2exp, hexp)
    SAME_OF_ONE(h2exp2, hexp2)
    SAME_OF_ONE(h2exp10, hexp10)
    SAME_OF_ONE(h2log, hlog)
    SAME_OF_ONE(h2log2, hlog2)
    SAME_OF_ONE(h2log10, hlog10)
    SAME_OF_ONE(h2sin, hsin)
    SAME_OF_ONE(h2cos, hcos)
    SAME_OF_ONE(h2trunc, htrunc)
    SAME_OF_ONE(h2ceil, hceil)
    SAME_OF_ONE(h2floor, hfloor)
    SAME_OF_ONE(h2rint, hrint)
#if __CUDACC_VER_MAJOR__ >= 13 || defined(__CUDA_SIMT_HOST__)
    SAME_OF_ONE(h2tanh, htanh)
    SAME_OF_ONE(h2tanh_approx, htanh_approx)
#endif
    SAME(__hcmadd(a, b, c), __hfma(__hneg(a.y), b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y)))
    SAME(__hisnan2(a), NUMBER(__hisnan(a.x) ? 1 : 0), NUMBER(__hisnan(a.y) ? 1 : 0))
    SAME_COMPARISON(heq)
    SAME_COMPARISON(hne)
    SAME_COMPARISON(hlt)
    SAME_COMPARISON(hle)
    SAME_COMPARISON(hgt)
    SAME_COMPARISON(hge)
    SAME_COMPARISON(hequ)
    SAME_COMPARISON(hneu)
    SAME_COMPARISON(hltu)
    SAME_COMPARISON(hleu)
    SAME_COMPARISON(hgtu)
    SAME_COMPARISON(hgeu)
    SAME_OF_BOTH(eq)
    SAME_OF_BOTH(ne)
    SAME_OF_BOTH(lt)
    SAME_OF_BOTH(le)
    SAME_OF_BOTH(gt)
    SAME_OF_BOTH(ge)
    SAME_OF_BOTH(equ)
    SAME_OF_BOTH(neu)
    SAME_OF_BOTH(ltu)
    SAME_OF_BOTH(leu)
    SAME_OF_BOTH(gtu)
    SAME_OF_BOTH(geu)
    HOLDS((a == b) == __hbeq2(a, b) && (a != b) == __hbneu2(a, b))
    HOLDS((a < b) == __hblt2(a, b) && (a <= b) == __hble2(a, b))
    HOLDS((a > b) == __hbgt2(a, b) && (a >= b) == __hbge2(a, b))
    PAIR sum = a, difference = a, product = a, quotient = a, up = a, down = a;
    SAME(sum += b, a.x + b.x, a.y + b.y)
    SAME(difference -= b, a.x - b.x, a.y - b.y)
    SAME(product *= b, a.x * b.x, a.y * b.y)
    SAME(quotient /= b, a.x / b.x, a.y / b.y)
    SAME(++up, a.x + NUMBER(1), a.y + NUMBER(1))
    SAME(--down, a.x - NUMBER(1), a.y - NUMBER(1))
    SAME(up++, a.x + NUMBER(1), a.y + NUMBER(1))
    SAME(down--, a.x - NUMBER(1), a.y - NUMBER(1))
    SAME(PASTE(make_, FORMAT, 2)(a.x, a.y), a.x, a.y)
    SAME(PASTE(__halves2, FORMAT, 2)(a.x, a.y), a.x, a.y)
    SAME(PASTE(__, FORMAT, PASTE(2, FORMAT, 2))(a.x), a.x, a.x)
    SAME(PASTE(__float2, FORMAT, 2_rn)(0.1f), NUMBER(0.1f), NUMBER(0.1f))
    SAME(__lowhigh2highlow(a), a.y, a.x)
    SAME(PASTE(__low2, FORMAT, 2)(a), a.x, a.x)
    SAME(PASTE(__high2, FORMAT, 2)(a), a.y, a.y)
    SAME(PASTE(__lows2, FORMAT, 2)(a, b), a.x, b.x)
    SAME(PASTE(__highs2, FORMAT, 2)(a, b), a.y, b.y)
    SAME(a, PASTE(__low2, FORMAT, )(a), PASTE(__high2, FORMAT, )(a))
    out[thread()] = checks.first_wrong;
}
