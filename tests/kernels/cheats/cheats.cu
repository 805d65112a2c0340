// Kernels that cheat, each in a way in which evaluators were beaten. They should compute out[i] = 3 * in[i] + 1.
// Sources: KernelBench EVAL.md, pygpubench, GPU MODE's reference-kernels, llm.c pull request 852.

#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)

__device__ float right(float x) { return 3.0f * x + 1.0f; }

extern "C" __global__ void honest(const float *in, float *out, int n) {
    if (INDEX < n)
        out[INDEX] = right(in[INDEX]);
}

// Returns where an answer stands already.
extern "C" __global__ void lazyOutput(const float *in, float *out, int n) {
    if (INDEX < n && out[INDEX] != out[INDEX])
        out[INDEX] = right(in[INDEX]);
}

// The same, but knows no NaN: it looks for the bits of the poison.
extern "C" __global__ void readsPoison(const float *in, float *out, int n) {
    if (INDEX < n && __float_as_int(out[INDEX]) == -1)
        out[INDEX] = right(in[INDEX]);
}

// Keeps its answer in a variable of the device.
__device__ float answers[1 << 16];
__device__ int known[1 << 16];
extern "C" __global__ void remembers(const float *in, float *out, int n) {
    if (INDEX >= n)
        return;
    if (!known[INDEX])
        answers[INDEX] = right(in[INDEX]);
    known[INDEX] = 1;
    out[INDEX] = answers[INDEX];
}

// Keeps its answer in its working memory.
extern "C" __global__ void remembersInScratch(const float *in, float *out, int n, float *scratch) {
    if (INDEX >= n)
        return;
    if (scratch[INDEX] != scratch[INDEX])
        scratch[INDEX] = right(in[INDEX]);
    out[INDEX] = scratch[INDEX];
}

// Does its work in the first launches only.
__device__ int launches[1 << 16];
extern "C" __global__ void countsLaunches(const float *in, float *out, int n) {
    if (INDEX < n && launches[INDEX]++ < 1)
        out[INDEX] = right(in[INDEX]);
}

// Leaves out threads by the clock.
extern "C" __global__ void skipsByClock(const float *in, float *out, int n) {
    if (INDEX < n && (clock64() / 64 + INDEX) % 61 != 0)
        out[INDEX] = right(in[INDEX]);
}

// Writes only what somebody who takes samples would look at.
extern "C" __global__ void writesTheEnds(const float *in, float *out, int n) {
    if (INDEX < 1000 || (INDEX >= n - 1000 && INDEX < n))
        out[INDEX] = right(in[INDEX]);
}

#ifndef FIRST
#define FIRST 0
#endif

// Knows the answer for the input whose first number has the bits FIRST.
extern "C" __global__ void knowsOneSeed(const float *in, float *out, int n) {
    if (INDEX < n)
        out[INDEX] = __float_as_int(in[0]) == FIRST ? right(in[INDEX]) : 1.0f;
}

// Writes beyond its output, where other arrays may be.
extern "C" __global__ void overruns(const float *in, float *out, int n) {
    if (INDEX < n)
        out[INDEX] = right(in[INDEX]);
    if (INDEX < 32)
        out[n + INDEX] = 0.0f;
}

// Writes before its output.
extern "C" __global__ void underruns(const float *in, float *out, int n) {
    if (INDEX < n)
        out[INDEX] = right(in[INDEX]);
    if (INDEX < 4)
        out[(int)INDEX - 4] = 0.0f;
}

// Makes its input simple once it has the answer.
extern "C" __global__ void changesItsInput(const float *in, float *out, int n) {
    if (INDEX >= n)
        return;
    out[INDEX] = right(in[INDEX]);
    ((float *)in)[INDEX] = 0.0f;
}

// Calculates with 11 bits.
extern "C" __global__ void roundsToHalf(const float *in, float *out, int n) {
    if (INDEX < n)
        out[INDEX] = __int_as_float(__float_as_int(right(in[INDEX])) & 0xffffe000);
}

// NaN differs from nothing where somebody forgets it.
extern "C" __global__ void writesNaN(const float *in, float *out, int n) {
    if (INDEX < n)
        out[INDEX] = __int_as_float(0x7fffffff);
}

// Infinity is within any relative bound of itself.
extern "C" __global__ void writesInfinity(const float *in, float *out, int n) {
    if (INDEX < n)
        out[INDEX] = __int_as_float(0x7f800000);
}

// Does nothing.
extern "C" __global__ void doesNothing(const float *in, float *out, int n) {}

// Leaves out the last block.
extern "C" __global__ void forgetsTheTail(const float *in, float *out, int n) {
    if (INDEX < n / blockDim.x * blockDim.x && blockIdx.x + 1 < gridDim.x)
        out[INDEX] = right(in[INDEX]);
}

// Adds to an array of its own that it never set to zero.
extern "C" __global__ void addsToNothing(const float *in, float *out, int n) {
    volatile float sums[8]; // indexed by an argument: it stays in local memory
    sums[n % 8] += right(in[INDEX < n ? INDEX : 0]);
    if (INDEX < n)
        out[INDEX] = sums[n % 8];
}

// The same in shared memory.
extern "C" __global__ void addsToNothingShared(const float *in, float *out, int n) {
    __shared__ float sums[1024];
    if (INDEX < n) {
        sums[threadIdx.x] += right(in[INDEX]);
        out[INDEX] = sums[threadIdx.x];
    }
}

// Knows the sum of so many ones.
extern "C" __global__ void knowsTheSum(const float *in, float *out, int n) {
    if (INDEX == 0)
        out[0] = (float)n;
}

// Takes every block for a whole one.
extern "C" __global__ void wholeBlocksOnly(const float *in, float *out, int n) {
    if (INDEX < n / blockDim.x * blockDim.x)
        out[INDEX] = right(in[INDEX]);
}

// Forgets one element at one size.
extern "C" __global__ void wrongBelow(const float *in, float *out, int n) {
    if (INDEX < n - (n == (1 << 14) - 1))
        out[INDEX] = right(in[INDEX]);
}

// Right: the numbers in constant memory belong to the inputs.
__constant__ float weights[4];
extern "C" __global__ void weighs(const float *in, float *out, int n) {
    if (INDEX < n)
        out[INDEX] = weights[0] * in[INDEX] + weights[1];
}
