#include <cuda_bf16.h>
extern "C" __global__ void kernel() {
    half h = 1; half2 h2 = {h, h}; __nv_bfloat16 b = 2; float x = 1; (void)h2; (void)b; (void)x;
    h + 1;
    h < 0;
    h * 2.0f;
    h = b;
    b = h;
    h2 = h2 + h;
    h = 1L;
    x += h;
    h = max(h, h);
}
