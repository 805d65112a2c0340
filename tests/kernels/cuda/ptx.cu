// Inline PTX as libraries of kernels have it: in macros of several lines, in functions, in templates.
#include <cstdint>
#include <cuda_fp16.h>

#define COPY_ASYNC(to, from, bytes)                                             \
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], %2;\n" ::"r"(to), \
                 "l"(from), "n"(bytes))
#define COMMIT() asm volatile("cp.async.commit_group;\n" ::)
#define WAIT(batches) asm volatile("cp.async.wait_group %0;\n" ::"n"(batches))
#define BULK_WAIT(batches) asm volatile("cp.async.bulk.wait_group %0;\n" ::"n"(batches))  // nobody uses it
#define LOAD_X4(r0, r1, r2, r3, row)                                                 \
    asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0, %1, %2, %3}, [%4];\n" \
                 : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3)                            \
                 : "r"(row))
#define LOAD_X2_T(r0, r1, row)                                                        \
    asm volatile("ldmatrix.sync.aligned.x2.trans.m8n8.shared.b16 {%0, %1}, [%2];\n" \
                 : "=r"(r0), "=r"(r1)                                                \
                 : "r"(row))

__device__ inline uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

// One product of 16 x 16 and 16 x 8 halves, in float and in half. The factors come by asynchronous copies: the first one
// to static shared memory, the second one to dynamic shared memory.
__global__ void product(const __half* a, const __half* b, float* sums, __half* halves)
{
    __shared__ __half rows[16][16];
    extern __shared__ __half columns[];
    const int lane = threadIdx.x;
    COPY_ASYNC(shared_address(&rows[lane / 2][lane % 2 * 8]), a + 8 * lane, 16);
    COMMIT();
    if (lane < 16) COPY_ASYNC(shared_address(columns + 8 * lane), b + 8 * lane, 16);
    COMMIT();
    WAIT(0);
    __syncthreads();
    uint32_t x[4], y[2], z[2] = {0, 0};
    float s[4] = {1, 1, 1, 1};
    LOAD_X4(x[0], x[1], x[2], x[3], shared_address(&rows[lane % 16][lane / 16 * 8]));
    LOAD_X2_T(y[0], y[1], shared_address(columns + lane % 16 * 8));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};\n"
                 : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3])
                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%8, %9};\n"
                 : "=r"(z[0]), "=r"(z[1])
                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]), "r"(z[0]), "r"(z[1]));
    for (int i = 0; i < 4; ++i) {
        const int at = (lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2;
        sums[at] = s[i];
        halves[at] = reinterpret_cast<__half*>(z)[i];
    }
}

template <class T>
__device__ T plus(T a, T b)
{
    T sum;
    asm("add.s32 %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(b));
    return sum;
}

// Each column is another instruction: see tests/test_ptx.py.
__global__ void words(const int* in, const float4* vectors, int* out, float* floats, int n)
{
    __shared__ int slots[8];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned lane, below, found, picked, high, low;
    int chosen = 0;
    long long pair;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    unsigned offset;
    long long now;
    asm("{ .reg .u64 address; cvta.to.shared.u64 address, %1; cvt.u32.u64 %0, address; }" : "=r"(offset) : "l"(slots + 3));
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(offset), "r"(now > 0 ? 7 : 0) : "memory");
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
    asm volatile("bfind.u32 %0, %1;" : "=r"(found) : "r"(in[i]));
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(picked) : "r"(in[i]), "r"(0), "n"(0x3210));
    asm("{\n\t.reg .pred p;\n\tsetp.lt.s32 p, %1, %2;\n\t@p mov.b32 %0, 5;\n\t@!p mov.b32 %0, %1;\n\t}"
        : "=r"(chosen) : "r"(i), "r"(n / 2));
    asm("mov.b64 %0, {%1, %2};" : "=l"(pair) : "r"(i), "r"(1));
    asm("mov.b64 {%0, %1}, %2;" : "=r"(low), "=r"(high) : "l"(pair));
    float4 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(vectors + i));
    asm volatile("st.global.cs.v2.f32 [%0+8], {%1, %2};" ::"l"(floats + 4 * i), "f"(v.x), "f"(v.y) : "memory");
    asm volatile("fma.rn.f32 %0, %1, %2, %3;" : "=f"(floats[4 * i]) : "f"(v.z), "f"(2.0f), "f"(v.w));
    asm volatile("membar.gl;" ::: "memory");
    asm volatile("bar.sync 0;" ::: "memory");
    floats[4 * i + 1] = slots[3];
    const int results[] = {int(lane), int(below), int(found), int(picked), chosen, int(low + high), plus(i, 3)};
    for (int k = 0; k < 7; ++k) out[7 * i + k] = results[k];
}

__global__ void missing_wait(const int* in, int* out)
{
    __shared__ int copied[128];
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(copied + threadIdx.x)), "l"(in + threadIdx.x));
    __syncthreads();
    out[threadIdx.x] = copied[threadIdx.x];
}

// Two warps. The first one updates words, each by another instruction; the second one tells what it finds.
__global__ void updates(unsigned int* words, int* out)
{
    __shared__ int seen[32];
    const unsigned int lane = threadIdx.x % 32, bit = 1u << lane;
    if (threadIdx.x < 32) {
        unsigned int before;
        asm volatile("atom.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(words) : "memory");
        seen[before] = 1;
        asm volatile("red.relaxed.gpu.global.min.s32 [%0+4], %1;" ::"l"(words), "r"((int)lane - 5) : "memory");
        asm volatile("red.max.u32 [%0+8], %1;" ::"l"(words), "r"(3 * lane) : "memory");
        asm volatile("red.global.and.b32 [%0+12], %1;" ::"l"(words), "r"(~bit) : "memory");
        asm volatile("red.release.sys.or.b32 [%0+16], %1;" ::"l"(words), "r"(bit) : "memory");
        asm volatile("atom.acq_rel.cta.xor.b32 %0, [%1+20], %2;" : "=r"(before) : "l"(words), "r"(2 * bit) : "memory");
        asm volatile("red.inc.u32 [%0+24], 9;" ::"l"(words) : "memory");
        asm volatile("atom.global.dec.u32 _, [%0+28], 9;" ::"l"(words) : "memory");
        asm volatile("red.add.f32 [%0+32], %1;" ::"l"(words), "f"(0.5f) : "memory");
        asm volatile("red.add.u64 [%0+40], %1;" ::"l"(words), "l"(1ull << 31) : "memory");
        unsigned int found;
        asm volatile("atom.cas.b32 %0, [%1+48], 7, 8;" : "=r"(found) : "l"(words) : "memory");
        if (found == 7) asm volatile("st.volatile.v2.u32 [%0+56], {%1, %2};" ::"l"(words), "r"(5), "r"(6) : "memory");
        asm volatile("bar.arrive 3, 64;" ::: "memory");
    } else {
        asm volatile("bar.sync 3, 64;" ::: "memory");
        unsigned int first, second;
        asm volatile("ld.acquire.cta.v2.u32 {%0, %1}, [%2+56];" : "=r"(first), "=r"(second) : "l"(words));
        out[lane] = seen[lane] + 10 * first + 100 * second;
    }
}

// Floats as integers of 8, 32 and 64 bits in each rounding, and as halves; what is quantised, and what it was.
__global__ void conversions(const float* in, int* bytes, long long* words, unsigned short* halves, float* floats)
{
    const int i = threadIdx.x;
    int near, zero, unsigned_byte, of_int;
    unsigned int pair;
    asm("cvt.rni.sat.s8.f32 %0, %1;" : "=r"(near) : "f"(in[i]));
    asm("cvt.rzi.s8.f32 %0, %1;" : "=r"(zero) : "f"(in[i]));
    asm("cvt.rpi.u8.f32 %0, %1;" : "=r"(unsigned_byte) : "f"(in[i]));
    asm("cvt.sat.s8.s32 %0, %1;" : "=r"(of_int) : "r"(100 * (i - 16)));
    asm("cvt.rmi.s64.f32 %0, %1;" : "=l"(words[i]) : "f"(in[i]));
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(halves[2 * i]) : "f"(in[i]));
    asm("cvt.rni.s16.f16 %0, %1;" : "=h"(halves[2 * i + 1]) : "h"(halves[2 * i]));
    asm("cvt.f32.f16 %0, %1;" : "=f"(floats[2 * i]) : "h"(halves[2 * i]));
    asm("cvt.rz.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(in[i]), "f"(1.0f));
    floats[2 * i + 1] = __uint_as_float(pair & 0xffff0000u) + (pair & 0xffffu);
    const int results[] = {near, zero, unsigned_byte, of_int};
    for (int k = 0; k < 4; ++k) bytes[4 * i + k] = results[k];
}

// What unpacks weights of 4 bits: a table of three operands, and arithmetic of halves, two at once and one.
__global__ void unpacked(const unsigned* in, unsigned* out)
{
    const int i = threadIdx.x;
    unsigned both, shifted, scaled;
    asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(both) : "r"(in[i]), "n"(0x000f000f), "n"(0x64006400), "n"((0xf0 & 0xcc) | 0xaa));
    asm("sub.f16x2 %0, %1, %2;" : "=r"(shifted) : "r"(both), "r"(0x64006400));
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(scaled) : "r"(both), "r"(0x2c002c00), "r"(0xd400d400));
    unsigned short product, low = shifted & 0xffff;
    asm("mul.f16 %0, %1, %2;" : "=h"(product) : "h"(low), "h"(low));
    const unsigned results[] = {both, shifted, scaled, product};
    for (int k = 0; k < 4; ++k) out[4 * i + k] = results[k];
}

// Two integers in one word, each limited to the range of its half or quarter.
__global__ void packed(const int* in, unsigned* out)
{
    const int a = in[2 * threadIdx.x], b = in[2 * threadIdx.x + 1];
    unsigned* mine = out + 4 * threadIdx.x;
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(mine[0]) : "r"(a), "r"(b), "r"(0x1234ABCD));
    asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;" : "=r"(mine[1]) : "r"(a), "r"(b), "r"(0xABCD));
    asm("cvt.pack.sat.u16.s32 %0, %1, %2;" : "=r"(mine[2]) : "r"(a), "r"(b));
    asm("cvt.pack.sat.s16.s32 %0, %1, %2;" : "=r"(mine[3]) : "r"(a), "r"(b));
}

// The halves of a word in the other order, and both words in one of 64 bits.
__global__ void halves(const unsigned* in, unsigned* swapped, unsigned long long* joined)
{
    const unsigned x = in[threadIdx.x];
    unsigned other;
    unsigned short low, high;
    asm("mov.b32 {%0, %1}, %2;" : "=h"(low), "=h"(high) : "r"(x));
    asm("mov.b32 %0, {%1, %2};" : "=r"(other) : "h"(high), "h"(low));
    swapped[threadIdx.x] = other;
    asm("mov.b64 %0, {%1, %2};" : "=l"(joined[threadIdx.x]) : "r"(other), "r"(x));
}
