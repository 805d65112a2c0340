// softmaxRow: out[r][c] = exp(in[r][c] - max of row r) / sum of exp(in[r][k] - max of row r) over k.
//
// New: one block computes a row. Its threads keep the row in registers, so that each element is read and written
//      once. The maximum, then the sum, are reduced by warp shuffles, and once more over the block's warps.
// Macros: BLOCK threads per block, PER_THREAD elements of a thread, which lie BLOCK apart.
// Constraints: whole warps; PER_THREAD * BLOCK >= cols.

#if !defined(BLOCK) || !defined(PER_THREAD)
#error "this kernel needs the macros BLOCK, PER_THREAD"
#endif

__device__ constexpr float LOWEST = -3.402823466e38f;  // the maximum of no elements

template <typename Join>
__device__ float over_block(float value, float start, Join join)
{
    __shared__ float of_warps[32];
    for (int step = 16; step > 0; step /= 2) value = join(value, __shfl_xor_sync(0xffffffff, value, step));
    __syncthreads();  // an earlier result may still be read
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
    __syncthreads();
    value = threadIdx.x % 32 < BLOCK / 32 ? of_warps[threadIdx.x % 32] : start;
    for (int step = 16; step > 0; step /= 2) value = join(value, __shfl_xor_sync(0xffffffff, value, step));
    return value;
}

extern "C" __global__ void softmaxRow(const float* in, float* out, long long cols)
{
    in += blockIdx.x * cols;
    out += blockIdx.x * cols;
    float x[PER_THREAD], most = LOWEST, sum = 0.0f;
#pragma unroll
    for (int i = 0; i < PER_THREAD; ++i) {
        const long long at = threadIdx.x + i * BLOCK;
        x[i] = at < cols ? in[at] : LOWEST;
        most = fmaxf(most, x[i]);
    }
    most = over_block(most, LOWEST, [](float a, float b) { return fmaxf(a, b); });
#pragma unroll
    for (int i = 0; i < PER_THREAD; ++i) {
        x[i] = expf(x[i] - most);
        if (threadIdx.x + i * BLOCK < cols) sum += x[i];
    }
    sum = over_block(sum, 0.0f, [](float a, float b) { return a + b; });
#pragma unroll
    for (int i = 0; i < PER_THREAD; ++i) {
        const long long at = threadIdx.x + i * BLOCK;
        if (at < cols) out[at] = x[i] / sum;
    }
}
