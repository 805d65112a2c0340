// readOnly: reads every vector of 16 bytes, and does as little as can be with it: the floor of whatever must read all,
//      where that is large. A block's tile is 64 KiB as it is used, so that few blocks share a small array.
//
// The values are folded into one vector, which is stored if it is one that it practically never is (2^-128 of all);
// without a store the compiler would leave the loads out.
// Macros: BLOCK threads per block, VECTORS loads under way at once in a thread, STREAM 1 for streaming loads.
// Constraints: a block reads a tile of BLOCK * VECTORS vectors; vectors behind the last whole tile are not read.

#if !defined(BLOCK) || !defined(VECTORS) || !defined(STREAM)
#error "this kernel needs the macros BLOCK, VECTORS, STREAM"
#endif

extern "C" __global__ void readOnly(const int4* in, int4* out)
{
    const int4* mine = in + (long long)blockIdx.x * BLOCK * VECTORS + threadIdx.x;
    int4 loaded[VECTORS];
#pragma unroll
    for (int k = 0; k < VECTORS; ++k) {
        loaded[k] = STREAM ? __ldcs(mine + k * BLOCK) : mine[k * BLOCK];
    }
    int4 folded = {};
#pragma unroll
    for (int k = 0; k < VECTORS; ++k) {
        folded.x ^= loaded[k].x;
        folded.y ^= loaded[k].y;
        folded.z ^= loaded[k].z;
        folded.w ^= loaded[k].w;
    }
    if (folded.x == 0x3c6ef372 && folded.y == 0x510e527f && folded.z == 0x1f83d9ab && folded.w == 0x5be0cd19) {
        out[0] = folded;
    }
}
