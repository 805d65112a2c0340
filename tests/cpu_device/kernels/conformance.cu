// What a warp and a block compute, for comparison with an oracle and with recordings of a real GPU.

// One case a block of one warp: kind, width, argument and mask from the tables. Lanes outside the mask store -1.
extern "C" __global__ void shuffleCases(const int *kinds, const int *widths, const int *arguments,
                                        const unsigned *masks, int *out) {
    int lane = threadIdx.x, value = 100 + lane, result = -1;
    int kind = kinds[blockIdx.x], width = widths[blockIdx.x], argument = arguments[blockIdx.x];
    unsigned mask = masks[blockIdx.x];
    if (mask >> lane & 1) {
        if (kind == 0) result = __shfl_sync(mask, value, argument, width);
        if (kind == 1) result = __shfl_up_sync(mask, value, argument, width);
        if (kind == 2) result = __shfl_down_sync(mask, value, argument, width);
        if (kind == 3) result = __shfl_xor_sync(mask, value, argument, width);
    }
    out[blockIdx.x * 32 + lane] = result;
}

extern "C" __global__ void shuffleTypes(double *doubles, float *floats, unsigned long long *words, long long *longs,
                                        unsigned *units, short *shorts, unsigned char *bytes) {
    int i = threadIdx.x;
    doubles[i] = __shfl_xor_sync(0xffffffffu, i * 1.5 - 7, 3);
    floats[i] = __shfl_up_sync(0xffffffffu, i * 0.25f, 1);
    words[i] = __shfl_down_sync(0xffffffffu, 0x100000001ull * i, 2);
    longs[i] = __shfl_sync(0xffffffffu, -1000000007ll * i, i + 5);
    units[i] = __shfl_xor_sync(0xffffffffu, 0xfffffff0u + i, 8, 16);
    shorts[i] = __shfl_down_sync(0xffffffffu, (short)(i - 16), 4, 8);
    bytes[i] = __shfl_up_sync(0xffffffffu, (unsigned char)(200 + i), 2, 4);
}

// Each block is one mask; 4 results a lane.
extern "C" __global__ void votes(const unsigned *masks, unsigned *out) {
    unsigned i = threadIdx.x, mask = masks[blockIdx.x], *mine = out + (blockIdx.x * 32 + i) * 4;
    if (!(mask >> i & 1)) return;
    mine[0] = __ballot_sync(mask, i % 3 == 0);
    mine[1] = __any_sync(mask, i == 4);
    mine[2] = __all_sync(mask, i != 5);
    mine[3] = __ballot_sync(mask, i & 4);
}

// 6 results a lane.
extern "C" __global__ void matches(const unsigned *masks, unsigned *out) {
    unsigned i = threadIdx.x, mask = masks[blockIdx.x], *mine = out + (blockIdx.x * 32 + i) * 6;
    if (!(mask >> i & 1)) return;
    int all;
    mine[0] = __match_any_sync(mask, i % 4);
    mine[1] = __match_any_sync(mask, (unsigned long long)(i / 8) << 40);
    mine[2] = __match_all_sync(mask, 7, &all);
    mine[3] = all;
    mine[4] = __match_all_sync(mask, i < 31 ? 1 : 2, &all);
    mine[5] = all;
}

// Two groups of one warp at the same time, with unequal trip counts; then all together.
extern "C" __global__ void divergentGroups(int *out) {
    int i = threadIdx.x, v = i;
    if (i < 8) {
        for (int k = 0; k < 5; k++) v += __shfl_xor_sync(0xffu, v, 1 << k % 3);
    } else {
        for (int k = 0; k < 3; k++) v += __shfl_down_sync(0xffffff00u, v, 1, 8);
    }
    __syncwarp();
    v += __shfl_sync(0xffffffffu, v, 0);
    out[i] = v;
}

extern "C" __global__ void barrierCounts(int *out) {
    int i = threadIdx.x;
    int count = __syncthreads_count(i % 3 == 0);
    int all = __syncthreads_and(i < 1000), not_all = __syncthreads_and(i != 200);
    int some = __syncthreads_or(i == 77), none = __syncthreads_or(i > 5000);
    out[i] = count * 10000 + all * 1000 + not_all * 100 + some * 10 + none;
}

// Threads that have returned do not count at a barrier.
extern "C" __global__ void barrierAfterExit(int *out) {
    int i = threadIdx.x;
    if (i >= 70) return;
    int count = __syncthreads_count(1);
    if (i < 10) return;
    out[i] = count * 1000 + __syncthreads_count(i % 2);
}

// One shuffle, executed at two places of the source.
extern "C" __global__ void splitSites(int *out) {
    int i = threadIdx.x, r;
    if (i & 1) {
        r = __shfl_xor_sync(0xffffffffu, i * 10, 1);
    } else {
        r = __shfl_xor_sync(0xffffffffu, i * 10, 1);
    }
    out[i] = r;
}

// Exited lanes may stay in the mask. A lane that reads one gets anything, so those results are not stored.
extern "C" __global__ void exitedLanes(int *out, int alive) {
    int i = threadIdx.x;
    if (i >= alive) return;
    __syncwarp();
    int read = __shfl_xor_sync(0xffffffffu, i, 16);
    out[i] = ((i ^ 16) < alive ? read : -5) * 100 + __popc(__ballot_sync(0xffffffffu, 1));
}

extern "C" __global__ void vectorTypes(const float4 *in, float4 *out, uint2 *pairs, double2 *wide, uchar4 *bytes,
                                       int *sizes) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 v = __ldg(&in[i]);
    out[i] = make_float4(v.w, v.z, v.y, v.x);
    pairs[i] = make_uint2(i, 2 * i);
    wide[i] = make_double2(v.x, v.y);
    bytes[i] = make_uchar4(i, i + 1, i + 2, i + 3);
    if (i == 0) {
        int n = 0;
        sizes[n++] = sizeof(char3) * 100 + alignof(char3);
        sizes[n++] = sizeof(char4) * 100 + alignof(char4);
        sizes[n++] = sizeof(short2) * 100 + alignof(short2);
        sizes[n++] = sizeof(short4) * 100 + alignof(short4);
        sizes[n++] = sizeof(int2) * 100 + alignof(int2);
        sizes[n++] = sizeof(int3) * 100 + alignof(int3);
        sizes[n++] = sizeof(uint4) * 100 + alignof(uint4);
        sizes[n++] = sizeof(float2) * 100 + alignof(float2);
        sizes[n++] = sizeof(float3) * 100 + alignof(float3);
        sizes[n++] = sizeof(double2) * 100 + alignof(double2);
        sizes[n++] = sizeof(longlong2) * 100 + alignof(longlong2);
        sizes[n++] = sizeof(dim3) * 100 + alignof(dim3);
    }
}

// 24 results for each pair of inputs.
extern "C" __global__ void integerIntrinsics(const unsigned *left, const unsigned *right, unsigned *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = 0;
    unsigned a = left[i], b = right[i], *mine = out + i * 24;
    unsigned long long wide = (unsigned long long)a << 32 | b;
    mine[n++] = __popc(a);
    mine[n++] = __popcll(wide);
    mine[n++] = __clz(a);
    mine[n++] = __clzll(wide);
    mine[n++] = __ffs(a);
    mine[n++] = __ffsll(wide);
    mine[n++] = __brev(a);
    mine[n++] = (unsigned)(__brevll(wide) >> 16);
    mine[n++] = __byte_perm(a, b, 0x0246 + (a & 0x1111));
    mine[n++] = __funnelshift_l(a, b, b & 63);
    mine[n++] = __funnelshift_r(a, b, b & 63);
    mine[n++] = __funnelshift_lc(a, b, b & 63);
    mine[n++] = __funnelshift_rc(a, b, b & 63);
    mine[n++] = __mul24((int)a, (int)b);
    mine[n++] = __umul24(a, b);
    mine[n++] = __mulhi((int)a, (int)b);
    mine[n++] = __umulhi(a, b);
    mine[n++] = __sad((int)a, (int)b, 5);
    mine[n++] = __usad(a, b, 5);
    mine[n++] = __hadd((int)a, (int)b);
    mine[n++] = __rhadd((int)a, (int)b);
    mine[n++] = __uhadd(a, b);
    mine[n++] = __urhadd(a, b);
    mine[n++] = min((int)a, (int)b) ^ max(a, b);
}

// 12 results for each input.
extern "C" __global__ void conversions(const float *in, long long *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = 0;
    float x = in[i];
    long long *mine = out + i * 12;
    mine[n++] = __float2int_rn(x);
    mine[n++] = __float2int_rz(x);
    mine[n++] = __float2int_rd(x);
    mine[n++] = __float2int_ru(x);
    mine[n++] = __float2uint_rn(x);
    mine[n++] = __float2uint_rz(x);
    mine[n++] = __float2ll_rz(x);
    mine[n++] = (long long)__float2ull_rz(x);
    mine[n++] = __double2int_rz(x);
    mine[n++] = __float_as_int(x);
    mine[n++] = __float_as_int(__saturatef(x));
    mine[n++] = __float_as_int(min(x, 1.5f) + max(x, -2.5f));
}

// out: sum, max, min, or, xor, difference, and, swapped, winners, 4 bins; none depends on the order.
extern "C" __global__ void atomicTotals(const int *in, int *out, unsigned *ring, unsigned long long *wide, float *sum,
                                        double *precise, int size) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size) return;
    atomicAdd(&out[0], in[i]);
    atomicMax(&out[1], in[i]);
    atomicMin(&out[2], in[i]);
    atomicOr(&out[3], 1 << (i & 31));
    atomicXor(&out[4], in[i]);
    atomicSub(&out[5], 2);
    atomicAnd(&out[6], ~(1 << (i & 7)));
    if (atomicCAS(&out[7], 0, 77) == 0) atomicAdd(&out[8], 1);  // one thread wins
    atomicAdd(&out[9 + (in[i] & 3)], 1);
    atomicInc(&ring[0], 99u);
    atomicDec(&ring[1], 99u);
    atomicAdd_block(&ring[2 + blockIdx.x], 1u);
    atomicAdd(wide, 1ull << 33);
    atomicAdd(sum, 1.0f);
    atomicAdd_system(precise, 0.5);
}

extern "C" __global__ void dimensions(unsigned *out) {
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    out[block * blockDim.x * blockDim.y * blockDim.z + thread] =
        threadIdx.x | threadIdx.y << 5 | threadIdx.z << 10 | blockIdx.x << 15 | blockIdx.y << 20 | blockIdx.z << 25;
}
