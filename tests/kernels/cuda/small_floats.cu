// Pairs of floats of 8 and of 4 bits, by functions and by types.
#include <cuda_fp4.h>
#include <cuda_fp8.h>

__global__ void pairs(const float* x, unsigned* to, float* back, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (2 * i + 1 >= n) return;
    const float2 two = {x[2 * i], x[2 * i + 1]};
    const __half2 halves = __floats2half2_rn(two.x, two.y);
    const __nv_fp8x2_storage_t bits = __nv_cvt_float2_to_fp8x2(two, __NV_SATFINITE, __NV_E4M3);
    const __nv_fp8x4_e5m2 four(make_float4(two.x, two.y, two.y, two.x));
    to[4 * i] = bits;
    to[4 * i + 1] = four.__x;
    to[4 * i + 2] = __nv_cvt_float2_to_fp4x2(two, __NV_E2M1, cudaRoundNearest);
    to[4 * i + 3] = __nv_fp8x2_e4m3(halves).__x | __nv_fp4x2_e2m1(halves).__x << 16;
    const __half2 wide(__nv_cvt_fp8x2_to_halfraw2(bits, __NV_E4M3));
    const float4 again = float4(four);
    const float2 quarter = float2(__nv_fp4x2_e2m1(two));
    const float values[] = {__low2float(wide), __high2float(wide), again.z, again.w, quarter.x, quarter.y};
    for (int k = 0; k < 6; ++k) back[6 * i + k] = values[k];
}
