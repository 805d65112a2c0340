// char1 ... double4 with CUDA's alignments, and make_*.
#pragma once

#define SIMT_VECTOR_1_3(TYPE, NAME)                                         \
    struct NAME##1 { TYPE x; };                                             \
    struct NAME##3 { TYPE x, y, z; };                                       \
    inline NAME##1 make_##NAME##1(TYPE x) { return {x}; }                   \
    inline NAME##3 make_##NAME##3(TYPE x, TYPE y, TYPE z) { return {x, y, z}; }

#define SIMT_VECTOR_2_4(TYPE, NAME, ALIGN2, ALIGN4)                         \
    struct alignas(ALIGN2) NAME##2 { TYPE x, y; };                          \
    struct alignas(ALIGN4) NAME##4 { TYPE x, y, z, w; };                    \
    inline NAME##2 make_##NAME##2(TYPE x, TYPE y) { return {x, y}; }        \
    inline NAME##4 make_##NAME##4(TYPE x, TYPE y, TYPE z, TYPE w) { return {x, y, z, w}; }

#define SIMT_VECTORS(TYPE, NAME, ALIGN2, ALIGN4) \
    SIMT_VECTOR_1_3(TYPE, NAME)                  \
    SIMT_VECTOR_2_4(TYPE, NAME, ALIGN2, ALIGN4)

SIMT_VECTORS(signed char, char, 2, 4)
SIMT_VECTORS(unsigned char, uchar, 2, 4)
SIMT_VECTORS(short, short, 4, 8)
SIMT_VECTORS(unsigned short, ushort, 4, 8)
SIMT_VECTORS(int, int, 8, 16)
SIMT_VECTOR_2_4(unsigned, uint, 8, 16)
SIMT_VECTORS(long, long, 16, 16)
SIMT_VECTORS(unsigned long, ulong, 16, 16)
SIMT_VECTORS(long long, longlong, 16, 16)
SIMT_VECTORS(unsigned long long, ulonglong, 16, 16)
SIMT_VECTORS(float, float, 8, 16)
SIMT_VECTORS(double, double, 16, 16)

// uint3 is declared with dim3, which the runtime needs.
struct uint1 { unsigned x; };
inline uint1 make_uint1(unsigned x) { return {x}; }
inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }

#undef SIMT_VECTOR_1_3
#undef SIMT_VECTOR_2_4
#undef SIMT_VECTORS
