// cuRAND's generators: what each gives for a seed, a subsequence and an offset. test_curand.py knows the numbers.
#include <curand_kernel.h>

template <class State>
__device__ void draw(const unsigned long long *start, unsigned *words, float *floats, double *doubles)
{
    State state;
    curand_init(start[0], start[1], start[2], &state);
    for (int i = 0; i < 6; ++i) words[i] = curand(&state);
    floats[0] = curand_uniform(&state);
    doubles[0] = curand_uniform_double(&state);
    floats[1] = curand_normal(&state);
    floats[2] = curand_normal(&state);
    doubles[1] = curand_normal_double(&state);
    doubles[2] = curand_normal_double(&state);
    const float2 pair = curand_normal2(&state);
    floats[3] = pair.x;
    floats[4] = pair.y;
    words[6] = curand(&state);

    // The same place is reached by skipping, and a logarithmic normal number is the exponential of a normal one.
    State skipped;
    curand_init(start[0], start[1], 0, &skipped);
    skipahead(start[2] + 3, &skipped);
    words[7] = curand(&skipped) == words[3];
    State other = skipped;
    const float normal = curand_normal(&skipped);
    floats[5] = curand_log_normal(&other, 0.5f, 2.0f) / expf(0.5f + 2.0f * normal);
    words[8] = sizeof(State);
}

extern "C" __global__ void numbers(const unsigned long long *starts, unsigned *words, float *floats, double *doubles)
{
    const int t = threadIdx.x;
    draw<curandState>(starts + 3 * t, words + 18 * t, floats + 12 * t, doubles + 6 * t);
    draw<curandStatePhilox4_32_10_t>(starts + 3 * t, words + 18 * t + 9, floats + 12 * t + 6, doubles + 6 * t + 3);
}

// Four numbers at once, from each place within Philox's blocks of four; and subsequences one after the other.
extern "C" __global__ void fours(unsigned *words, float *floats)
{
    const int t = threadIdx.x;
    curandStatePhilox4_32_10_t one, four, floating;
    curand_init(7, t, t % 5, &one);
    four = floating = one;
    skipahead_sequence(2, &four);
    skipahead_sequence(2, &one);
    skipahead_sequence(2, &floating);
    for (int round = 0; round < 2; ++round) {
        const uint4 x = curand4(&four);
        const float4 y = curand_uniform4(&floating);
        const unsigned all[] = {x.x, x.y, x.z, x.w};
        const float uniform[] = {y.x, y.y, y.z, y.w};
        for (int i = 0; i < 4; ++i) {
            const unsigned next = curand(&one);
            words[(t * 8 + round * 4 + i) * 2] = next;
            words[(t * 8 + round * 4 + i) * 2 + 1] = all[i];
            floats[t * 8 + round * 4 + i] = uniform[i];
        }
    }
}
