// Mathematical functions that <math.h> lacks. Accuracy is the host library's, which is at least the GPU's.
#pragma once

// min and max exist for pairs of the same type, and for a signed with an unsigned one, which counts as unsigned.
namespace simt {
template <class T>
inline T lower(T a, T b) { return b < a ? b : a; }
template <class T>
inline T higher(T a, T b) { return a < b ? b : a; }
}  // namespace simt

#define SIMT_MIN_MAX(TYPE, LEFT, RIGHT)                                    \
    inline TYPE min(LEFT a, RIGHT b) { return simt::lower<TYPE>(a, b); }   \
    inline TYPE max(LEFT a, RIGHT b) { return simt::higher<TYPE>(a, b); }
#define SIMT_MIN_MAX_INTEGER(SIGNED)                                             \
    SIMT_MIN_MAX(SIGNED, SIGNED, SIGNED)                                         \
    SIMT_MIN_MAX(unsigned SIGNED, unsigned SIGNED, unsigned SIGNED)              \
    SIMT_MIN_MAX(unsigned SIGNED, unsigned SIGNED, SIGNED)                       \
    SIMT_MIN_MAX(unsigned SIGNED, SIGNED, unsigned SIGNED)
SIMT_MIN_MAX_INTEGER(int)
SIMT_MIN_MAX_INTEGER(long)
SIMT_MIN_MAX_INTEGER(long long)
#undef SIMT_MIN_MAX
#undef SIMT_MIN_MAX_INTEGER

inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }
inline double min(float a, double b) { return fmin(double(a), b); }
inline double max(float a, double b) { return fmax(double(a), b); }
inline double min(double a, float b) { return fmin(a, double(b)); }
inline double max(double a, float b) { return fmax(a, double(b)); }

inline unsigned umin(unsigned a, unsigned b) { return min(a, b); }
inline unsigned umax(unsigned a, unsigned b) { return max(a, b); }
inline long long llmin(long long a, long long b) { return min(a, b); }
inline long long llmax(long long a, long long b) { return max(a, b); }
inline unsigned long long ullmin(unsigned long long a, unsigned long long b) { return min(a, b); }
inline unsigned long long ullmax(unsigned long long a, unsigned long long b) { return max(a, b); }

inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float rcbrtf(float x) { return 1.0f / cbrtf(x); }
inline double rcbrt(double x) { return 1.0 / cbrt(x); }
inline float fdividef(float a, float b) { return a / b; }
inline double fdivide(double a, double b) { return a / b; }

inline float __expf(float x) { return expf(x); }
inline float __exp10f(float x) { return powf(10.0f, x); }
inline float __logf(float x) { return logf(x); }
inline float __log2f(float x) { return log2f(x); }
inline float __log10f(float x) { return log10f(x); }
inline float __powf(float x, float y) { return powf(x, y); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __tanf(float x) { return tanf(x); }
inline float __tanhf(float x) { return tanhf(x); }
inline void __sincosf(float x, float* sine, float* cosine) {
    *sine = sinf(x);
    *cosine = cosf(x);
}
inline float __fdividef(float a, float b) { return a / b; }
inline float __saturatef(float x) { return x >= 0.0f ? (x > 1.0f ? 1.0f : x) : 0.0f; }  // NaN gives 0
