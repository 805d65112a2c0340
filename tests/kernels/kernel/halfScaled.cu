// A scalar of a half type, and arrays of two numbers an element that are filled with given numbers.
extern "C" __global__ void halfScaled(const SCALAR* in, SCALAR* out, SCALAR factor, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = in[i] * factor;
    }
}
