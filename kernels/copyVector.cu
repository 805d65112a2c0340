// copyVector: out[r * cols + c] = in[r * cols + c], a copy of a matrix of rows by cols.
//
// New against copyGmem: a thread copies 16 bytes, the most that one instruction loads before sm_100. A copy can
//      ignore rows: it treats the matrix as one array and uses one-dimensional blocks.
// Macros: BLOCK threads per block, SCALAR element type.
// Constraints: the arrays are aligned to 16 bytes, as cudaMalloc guarantees. A partial last vector is copied element
//      by element.

#if !defined(BLOCK) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, SCALAR"
#endif

constexpr int PER_VECTOR = 16 / sizeof(SCALAR);

// 16 bytes, which one instruction loads or stores.
struct alignas(16) Vector {
    SCALAR element[PER_VECTOR];
};

extern "C" __global__ void copyVector(const SCALAR* in, SCALAR* out, long long rows, long long cols)
{
    const long long n = rows * cols;
    const long long first = ((long long)blockIdx.x * BLOCK + threadIdx.x) * PER_VECTOR;

    if (first + PER_VECTOR <= n) {
        *(Vector*)(out + first) = *(const Vector*)(in + first);
    } else {
        for (long long i = first; i < n; ++i) {
            out[i] = in[i];
        }
    }
}
