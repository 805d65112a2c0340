// Complex numbers as CUDA's header of that name has them.
#pragma once

#define SIMT_COMPLEX(NAME, VECTOR, REAL, R)                                                                        \
    using NAME = VECTOR;                                                                                           \
    inline NAME make_##NAME(REAL x, REAL y) { return {x, y}; }                                                     \
    inline REAL cuCreal##R(NAME a) { return a.x; }                                                                 \
    inline REAL cuCimag##R(NAME a) { return a.y; }                                                                 \
    inline NAME cuConj##R(NAME a) { return {a.x, -a.y}; }                                                          \
    inline NAME cuCadd##R(NAME a, NAME b) { return {a.x + b.x, a.y + b.y}; }                                       \
    inline NAME cuCsub##R(NAME a, NAME b) { return {a.x - b.x, a.y - b.y}; }                                       \
    inline NAME cuCmul##R(NAME a, NAME b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }               \
    inline NAME cuCfma##R(NAME a, NAME b, NAME c) {                                                                \
        return {a.x * b.x + c.x - a.y * b.y, a.y * b.x + c.y + a.x * b.y};                                         \
    }                                                                                                              \
    inline NAME cuCdiv##R(NAME a, NAME b) {                                                                        \
        const REAL scale = 1 / (fabs(b.x) + fabs(b.y)); /* so that the squares do not overflow */                  \
        const NAME s = {a.x * scale, a.y * scale}, t = {b.x * scale, b.y * scale};                                 \
        const REAL inverse = 1 / (t.x * t.x + t.y * t.y);                                                          \
        return {(s.x * t.x + s.y * t.y) * inverse, (s.y * t.x - s.x * t.y) * inverse};                             \
    }                                                                                                              \
    inline REAL cuCabs##R(NAME a) { return hypot(a.x, a.y); }

SIMT_COMPLEX(cuFloatComplex, float2, float, f)
SIMT_COMPLEX(cuDoubleComplex, double2, double, )
#undef SIMT_COMPLEX

using cuComplex = cuFloatComplex;
inline cuComplex make_cuComplex(float x, float y) { return {x, y}; }
inline cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex a) { return {a.x, a.y}; }
inline cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex a) { return {float(a.x), float(a.y)}; }
