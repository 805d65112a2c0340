// Whether a case is right, and what its objective is, follow from its parameters alone.
extern "C" __global__ void theirs(int* out, int tile, int vector, int many)
{
    out[0] = tile * vector > 64;
}
