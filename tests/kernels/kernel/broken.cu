extern "C" __global__ void broken(const int* in, int* out, int n)
{
    out[0] = in[0] + undeclared;
}
