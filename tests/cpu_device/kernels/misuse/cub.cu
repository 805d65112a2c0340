#include <cub/cub.cuh>
extern "C" __global__ void kernel(int *out) {
    using Reduce = cub::BlockReduce<int, 64>;
    using TooLarge = cub::BlockReduce<int, 128>;
    __shared__ typename Reduce::TempStorage shared;
    const int t = threadIdx.x;
#if MISTAKE == 1
    out[t] = Reduce(shared).Sum(t);
#elif MISTAKE == 2
    if (t < 40) out[t] = Reduce(shared).Sum(t); else
        __syncthreads();
#else
    out[t] = TooLarge().Reduce(t, cub::Sum());
#endif
}
