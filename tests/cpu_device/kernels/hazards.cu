// Each kernel breaks one rule, at the line with the comment that starts with its name.
#include <cassert>
extern "C" __global__ void notInMask(int *o) {
    o[threadIdx.x] = __shfl_sync(0x0000ffffu, (int)threadIdx.x, 0);  // notInMask: lanes 16-31 call it too
}
extern "C" __global__ void neverArrives(int *o) {
    int v = threadIdx.x;
    if (threadIdx.x % 32 < 16) v = __shfl_down_sync(0xffffffffu, v, 8);  // neverArrives: without lanes 16-31
    __syncthreads();  // neverArrives-barrier
    o[threadIdx.x] = v;
}
extern "C" __global__ void readsOutside(int *o) {
    int i = threadIdx.x, v = i;
    if (i < 16) v = __shfl_down_sync(0x0000ffffu, v, 8);  // readsOutside: lanes 8-15 read 16-23
    o[i] = v;
}
extern "C" __global__ void readsExited(int *o) {
    int i = threadIdx.x;
    if (i >= 20) return;
    o[i] = __shfl_sync(0xffffffffu, i, 25);  // readsExited
}
extern "C" __global__ void divergesAtBarrier(int *o) {
    if (threadIdx.x < 16) __syncthreads();  // divergesAtBarrier-first
    else __syncthreads();  // divergesAtBarrier
    o[threadIdx.x] = 1;
}
extern "C" __global__ void differentBarriers(int *o) {
    if (threadIdx.x < 16) o[0] = __syncthreads_count(1);  // differentBarriers-first
    else __syncthreads();  // differentBarriers
}
#include "barrier_here.cuh"
#include "barrier_there.cuh"
extern "C" __global__ void otherFile(int *o) {
    if (threadIdx.x < 16) barrierThere();
    else barrierHere();
    o[0] = 1;
}
extern "C" __global__ void masksDiffer(int *o) {
    unsigned m = threadIdx.x % 2 ? 0xffffffffu : 0x55555555u | 0xffff0000u;
    o[threadIdx.x] = __any_sync(m | 1u << threadIdx.x % 32, 1);  // masksDiffer
}
extern "C" __global__ void operationsDiffer(int *o) {
    if (threadIdx.x % 2) o[threadIdx.x] = __any_sync(0xffffffffu, 1);  // operationsDiffer
    else o[threadIdx.x] = __all_sync(0xffffffffu, 1);  // operationsDiffer-other
}
extern "C" __global__ void badWidth(int *o, int width) {
    o[threadIdx.x] = __shfl_sync(0xffffffffu, 1, 0, width);  // badWidth
}
extern "C" __global__ void writesBeyond(int *o, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) o[i] = i;  // writesBeyond: one too many
}
extern "C" __global__ void writesBefore(int *o) { o[(int)threadIdx.x - 3000] = 1; }  // writesBefore
extern "C" __global__ void writesJustBefore(int *o) { o[(int)threadIdx.x - 1] = 1; }  // writesJustBefore
extern "C" __global__ void readsBeyond(const int *a, int *o, int at) {
    o[threadIdx.x] = a[threadIdx.x + at];  // readsBeyond
}
extern "C" __global__ void addsBeyond(int *o) {
    atomicAdd(&o[5000], 1);  // addsBeyond
}
extern "C" __global__ void writesInput(const int *a, int *o) {
    ((int *)a)[threadIdx.x + 3] = 1;  // writesInput
    o[0] = 1;
}
extern "C" __global__ void writesBeyondShared(int *o, int at) {
    extern __shared__ int numbers[];
    numbers[threadIdx.x + at] = 1;  // writesBeyondShared
    __syncthreads();
    o[threadIdx.x] = numbers[threadIdx.x + at];
}
extern "C" __global__ void writesNowhere(int *o) {
    int *nowhere = (int *)(size_t)(o[0] + 64);
    *nowhere = 1;  // writesNowhere
}
extern "C" __global__ void misaligned(float4 *o) {
    float4 *off = (float4 *)((char *)o + 4);
    off[threadIdx.x] = make_float4(1, 2, 3, 4);  // misaligned
}
extern "C" __global__ void neverEnds(int *o) {
    volatile int *flag = o;
    if (blockIdx.x == 1 && threadIdx.x == 5) while (flag[0] == 0) { }  // neverEnds
}
extern "C" __global__ void waitsInBlock(int *o) {
    volatile int *flag = o;
    if (threadIdx.x == 0) while (flag[0] == 0) { }  // waitsInBlock: for a thread that cannot run meanwhile
    if (threadIdx.x == 33) flag[0] = 1;
}
extern "C" __global__ void barriersForEver(int *o) {
    volatile int *flag = o;
    while (flag[0] == 0) __syncthreads();  // barriersForEver
}
extern "C" __global__ void oneFailsOneSpins(int *o) {
    volatile int *flag = o;
    if (blockIdx.x == 0) while (flag[0] == 0) { }
    if (blockIdx.x == 1) __trap();  // oneFailsOneSpins
}
__device__ __noinline__ int descend(int n, volatile int *o) {
    volatile int frame[64];
    frame[n & 63] = n;
    int below = o[0] == 0 ? descend(n + 1, o) : 0;  // recurses: for ever
    return below + frame[n & 31];
}
extern "C" __global__ void recurses(int *o) { o[threadIdx.x + 1] = descend(threadIdx.x, o); }
extern "C" __global__ void dividesByZero(int *o, int d) {
    o[threadIdx.x] = 5 / (d - (int)threadIdx.x);  // dividesByZero
}
extern "C" __global__ void asserts(int *o, int n) {
    assert((int)threadIdx.x < n);  // asserts
    o[threadIdx.x] = 1;
}
extern "C" __global__ void traps(int *o) {
    if (threadIdx.x == 9) __trap();  // traps
    o[threadIdx.x] = 1;
}
extern "C" __global__ void fine(int *o) {
    int v = threadIdx.x;
    v = __shfl_xor_sync(0xffffffffu, v, 1);
    __syncthreads();
    o[threadIdx.x] = v;
}
extern "C" __global__ void tooFewAtBarrier(int *o) {
    if (threadIdx.x < 32) asm volatile("bar.sync 2, 64;" ::: "memory");  // tooFewAtBarrier
    else __syncthreads();  // tooFewAtBarrier-other
    o[threadIdx.x] = 1;
}
extern "C" __global__ void halfAWarpAtBarrier(int *o) {
    if (threadIdx.x < 16) asm volatile("bar.arrive 2, 64;" ::: "memory");  // halfAWarpAtBarrier
    else __syncthreads();
    o[threadIdx.x] = 1;
}
extern "C" __global__ void noSuchBarrier(int *o) {
    asm volatile("bar.sync %0, 32;" ::"r"(o[threadIdx.x] + 16) : "memory");  // noSuchBarrier
}
extern "C" __global__ void brokenWarpAtBarrier(int *o) {
    asm volatile("bar.sync 1, %0;" ::"r"(o[threadIdx.x] + 48) : "memory");  // brokenWarpAtBarrier
}
