// bankAccess: each thread follows the chain tile[k] = (k + 1) % 1024 from element lane * stride, for `loads` loads:
// out[i] = first + (lane * stride + loads) % 1024, where lane is i % 32 and first is the block's first element.
//
// New: nothing; a stride of 1 is the baseline. The bank of a 4-byte element is its index modulo 32, so the stride
// determines how many different words of one bank a warp requests. A stride of 0 broadcasts one word to all lanes, 1
// reads all banks in parallel, 32 reads 32 words of one bank serially, 33 is parallel again.
// Macros: BLOCK threads per block, SCALAR integer element type.
// Constraints: whole warps; stride from 0 to 33, so that all 32 lanes start within the chain; loads from 1 to 2^20;
//              BLOCK * blocks at most 2^24.

#if !defined(BLOCK) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, SCALAR"
#endif

extern "C" __global__ void bankAccess(SCALAR* out, int stride, int loads)
{
    constexpr int length = 1024;  // a multiple of 32, so that wrapping around keeps the bank pattern
    __shared__ SCALAR tile[length];
    const int t = threadIdx.x;

    for (int k = t; k < length; k += BLOCK) {
        tile[k] = (SCALAR)((k + 1) % length);
    }
    __syncthreads();

    // The address of a load is the result of the previous one, so the compiler can neither remove nor hoist a load. All
    // lanes advance by one element, hence by one bank: every round has the same conflicts.
    int at = t % 32 * stride;
    for (int r = 0; r < loads; ++r) {
        at = (int)tile[at];
    }
    const int first = blockIdx.x * BLOCK;
    out[first + t] = (SCALAR)(first + at);
}
