// All that cuda_fp16.h and cuda_bf16.h of the CPU device offer, but for pairs (half_pairs.cu). nvcc compiles it, too: what
// is offered is what CUDA has.
#include "half.cuh"

extern "C" __global__ void toFloat(const NUMBER *in, float *out) {
    NUMBER x = in[thread()];
    float *row = out + 7 * thread();
    row[0] = x;
    row[1] = PASTE(__, FORMAT, 2float)(x);
    row[2] = (double)x;
    PAIR both = PAIR(x, x);
    row[3] = PASTE(__, FORMAT, 22float2)(both).x;
    row[4] = PASTE(__, FORMAT, 22float2)(both).y;
    row[5] = __low2float(both);
    row[6] = __high2float(both);
}

extern "C" __global__ void fromFloat(const float *in, NUMBER *out) {
    float x = in[thread()];
    NUMBER *row = out + 8 * thread();
    row[0] = x;
    row[1] = PASTE(__float2, FORMAT, _rn)(x);
    row[2] = PASTE(__float2, FORMAT, _rz)(x);
    row[3] = PASTE(__float2, FORMAT, _rd)(x);
    row[4] = PASTE(__float2, FORMAT, _ru)(x);
    row[5] = PASTE(__float2, FORMAT, )(x);
    row[6] = PASTE(__float22, FORMAT, 2_rn)(make_float2(x, 1)).x;
    row[7] = PASTE(__floats2, FORMAT, 2_rn)(1, x).y;
}

extern "C" __global__ void fromDouble(const double *in, NUMBER *out) {
    out[2 * thread()] = in[thread()];
    out[2 * thread() + 1] = PASTE(__double2, FORMAT, )(in[thread()]);
}

#define FROM_INTEGER(WORD, VALUE)                                     \
    *row++ = PASTE(__##WORD##2, FORMAT, _rn)(VALUE);                  \
    *row++ = PASTE(__##WORD##2, FORMAT, _rz)(VALUE);                  \
    *row++ = PASTE(__##WORD##2, FORMAT, _rd)(VALUE);                  \
    *row++ = PASTE(__##WORD##2, FORMAT, _ru)(VALUE);
extern "C" __global__ void fromInteger(const long long *in, NUMBER *out) {
    long long x = in[thread()];
    NUMBER *row = out + 32 * thread();
    FROM_INTEGER(ll, x)
    FROM_INTEGER(ull, (unsigned long long)x)
    FROM_INTEGER(int, (int)x)
    FROM_INTEGER(uint, (unsigned)x)
    FROM_INTEGER(short, (short)x)
    FROM_INTEGER(ushort, (unsigned short)x)
    *row++ = NUMBER(x);
    *row++ = NUMBER((unsigned long long)x);
    *row++ = NUMBER((int)x);
    *row++ = NUMBER((unsigned)x);
    *row++ = NUMBER((short)x);
    *row++ = NUMBER((unsigned short)x);
    *row++ = NUMBER((long)x);
    *row++ = NUMBER((unsigned long)x);
}

#define TO_INTEGER(WORD)                                     \
    *row++ = PASTE(__, FORMAT, 2##WORD##_rn)(x);             \
    *row++ = PASTE(__, FORMAT, 2##WORD##_rz)(x);             \
    *row++ = PASTE(__, FORMAT, 2##WORD##_rd)(x);             \
    *row++ = PASTE(__, FORMAT, 2##WORD##_ru)(x);
extern "C" __global__ void toInteger(const NUMBER *in, long long *out) {
    NUMBER x = in[thread()];
    long long *row = out + 32 * thread();
    TO_INTEGER(int)
    TO_INTEGER(uint)
    TO_INTEGER(short)
    TO_INTEGER(ushort)
    TO_INTEGER(ll)
    TO_INTEGER(ull)
    *row++ = PASTE(__, FORMAT, 2char_rz)(x);
    *row++ = PASTE(__, FORMAT, 2uchar_rz)(x);
    *row++ = static_cast<int>(x);
    *row++ = static_cast<unsigned>(x);
    *row++ = static_cast<long long>(x);
    *row++ = static_cast<short>(x);
    *row++ = x ? 1 : 0;
    *row++ = !x;
}

extern "C" __global__ void arithmetic(const NUMBER *as, const NUMBER *bs, const NUMBER *cs, NUMBER *out) {
    NUMBER a = __ldg(as + thread()), b = __ldcg(bs + thread()), c = __ldca(cs + thread());
    NUMBER *row = out + 32 * thread();
    __stwb(row++, a + b);
    __stcg(row++, a - b);
    __stcs(row++, a * b);
    __stwt(row++, a / b);
    *row++ = __hfma(a, b, c);
    *row++ = -a;
    *row++ = __habs(a);
    *row++ = __hmax(a, b);
    *row++ = __hmin(a, b);
    *row++ = __hmax_nan(a, b);
    *row++ = __hmin_nan(a, b);
    *row++ = __hadd_sat(a, b);
    *row++ = __hsub_sat(a, b);
    *row++ = __hmul_sat(a, b);
    *row++ = __hfma_sat(a, b, c);
    *row++ = __hfma_relu(a, b, c);
    *row++ = __hadd(a, b);
    *row++ = __hsub(a, b);
    *row++ = __hmul(a, b);
    *row++ = __hdiv(a, b);
    *row++ = __hadd_rn(a, b);
    *row++ = __hsub_rn(a, b);
    *row++ = __hmul_rn(a, b);
    NUMBER sum = a, difference = a, product = a, quotient = a, up = a, down = a;
    *row++ = sum += b;
    *row++ = difference -= b;
    *row++ = product *= b;
    *row++ = quotient /= b;
    *row++ = ++up;
    *row++ = --down;
    bool same = bits(up--) == bits(a + NUMBER(1)) && bits(down++) == bits(a - NUMBER(1));
    *row++ = same ? __hneg(a) : NUMBER(99);
    *row++ = +a;
    *row++ = up;
}

extern "C" __global__ void comparisons(const NUMBER *as, const NUMBER *bs, unsigned *out) {
    NUMBER a = __ldcs(as + thread()), b = __ldcv(bs + thread());
    unsigned *row = out + 4 * thread();
    row[0] = (a == b) | (a != b) << 1 | (a < b) << 2 | (a <= b) << 3 | (a > b) << 4 | (a >= b) << 5;
    row[1] = __heq(a, b) | __hne(a, b) << 1 | __hlt(a, b) << 2 | __hle(a, b) << 3 | __hgt(a, b) << 4 | __hge(a, b) << 5;
    row[2] = __hequ(a, b) | __hneu(a, b) << 1 | __hltu(a, b) << 2 | __hleu(a, b) << 3 | __hgtu(a, b) << 4 |
             __hgeu(a, b) << 5;
    row[3] = __hisnan(a) | (__hisinf(a) == 1) << 1 | (__hisinf(a) == -1) << 2;
}

extern "C" __global__ void functions(const NUMBER *in, NUMBER *out) {
    NUMBER a = in[thread()];
    NUMBER *row = out + 16 * thread();
    *row++ = hsqrt(a);
    *row++ = hrsqrt(a);
    *row++ = hrcp(a);
    *row++ = hexp(a);
    *row++ = hexp2(a);
    *row++ = hexp10(a);
    *row++ = hlog(a);
    *row++ = hlog2(a);
    *row++ = hlog10(a);
    *row++ = hsin(a);
    *row++ = hcos(a);
    *row++ = htrunc(a);
    *row++ = hceil(a);
    *row++ = hfloor(a);
    *row++ = hrint(a);
#if __CUDACC_VER_MAJOR__ >= 13 || defined(__CUDA_SIMT_HOST__)
    *row++ = htanh_approx(a) == htanh(a) || __hisnan(a) ? htanh(a) : NUMBER(99);
#endif
}

// Bits as integers, constants, raw structures, volatile, the other format: each place of `out` is 1.
extern "C" __global__ void oddments(int *out) {
    volatile NUMBER kept = NUMBER(3);
    kept = NUMBER(4);
    NUMBER four = kept, three = 3, a = PASTE(__ushort_as_, FORMAT, )(0x8001), b = PASTE(__short_as_, FORMAT, )(-32767);
    out[0] = bits(a) == 0x8001u && PASTE(__, FORMAT, _as_short)(b) == -32767;
    out[1] = four == NUMBER(4) && three < four;
    out[2] = sizeof(NUMBER) == 2 && alignof(NUMBER) == 2 && sizeof(PAIR) == 4 && alignof(PAIR) == 4;
    out[3] = float(half(__nv_bfloat16(1.5f))) == 1.5f && float(__nv_bfloat16(half(1.5f))) == 1.5f;
    out[4] = __hisinf(CUDART_INF_FP16) && __hisnan(CUDART_NAN_FP16) && float(CUDART_MAX_NORMAL_FP16) == 65504.0f &&
             float(CUDART_ONE_FP16) == 1.0f && !CUDART_ZERO_FP16 && !CUDART_NEG_ZERO_FP16 && CUDART_MIN_DENORM_FP16;
    out[5] = __hisinf(CUDART_INF_BF16) && __hisnan(CUDART_NAN_BF16) && float(CUDART_MAX_NORMAL_BF16) > 3.38e38f &&
             float(CUDART_ONE_BF16) == 1.0f && !CUDART_ZERO_BF16 && !CUDART_NEG_ZERO_BF16 && CUDART_MIN_DENORM_BF16;
    half2 ones = half2(1, 1);
    nv_bfloat162 twos = {2, 2};
    __half2_raw raw = ones;
    out[6] = raw.x == 0x3c00 && raw.y == raw.x && half2(raw) == ones && twos.x == nv_bfloat16(2);
    PAIR again;
    again = {three, four};
    out[7] = again.x == three && again.y == four && __ldcs(&again) == __ldcv(&again);
}

extern "C" __global__ void totals(NUMBER *number, PAIR *pair) {
    atomicAdd(number, 1);
    atomicAdd(pair, PAIR(1, 2));
}

template <class T>
__device__ T shuffled(int kind, unsigned mask, T value, int argument, int width) {
    if (kind == 0) return __shfl_sync(mask, value, argument, width);
    if (kind == 1) return __shfl_up_sync(mask, value, argument, width);
    if (kind == 2) return __shfl_down_sync(mask, value, argument, width);
    return __shfl_xor_sync(mask, value, argument, width);
}
template <class T>
__device__ T shuffled(int kind, unsigned mask, T value, int argument) {
    if (kind == 0) return __shfl_sync(mask, value, argument);
    if (kind == 1) return __shfl_up_sync(mask, value, argument);
    if (kind == 2) return __shfl_down_sync(mask, value, argument);
    return __shfl_xor_sync(mask, value, argument);
}
extern "C" __global__ void shuffles(const int *kinds, const int *widths, const int *arguments, const unsigned *masks,
                                    NUMBER *numbers, PAIR *pairs) {
    int lane = threadIdx.x, kind = kinds[blockIdx.x], width = widths[blockIdx.x], argument = arguments[blockIdx.x];
    unsigned mask = masks[blockIdx.x];
    if (!(mask >> lane & 1)) return;
    NUMBER number = lane + 100;
    PAIR pair = PAIR(lane, -lane - 1);
    if (width) {
        numbers[thread()] = shuffled(kind, mask, number, argument, width);
        pairs[thread()] = shuffled(kind, mask, pair, argument, width);
    } else {  // the default
        numbers[thread()] = shuffled(kind, mask, number, argument);
        pairs[thread()] = shuffled(kind, mask, pair, argument);
    }
}
extern "C" __global__ void readsExited(NUMBER *numbers, PAIR *pairs) {
    if (threadIdx.x >= 16) return;
    numbers[threadIdx.x] = __shfl_xor_sync(0xffffffffu, NUMBER(1), 16);
    pairs[threadIdx.x] = __shfl_xor_sync(0xffffffffu, PAIR(1, 1), 16);
}

extern "C" __global__ void takes(NUMBER *number, const NUMBER *numbers, PAIR *pair, NUMBER scalar, int *integers) {
    number[0] = numbers[0] + pair[0].x + pair[0].y + scalar;
}
