// Shared by the vectorized stencils: guarded loads and stores of vectors, and the derivative.
// They need the macro SCALAR.
#pragma once

constexpr int RADIUS = 4;
constexpr int PER_VECTOR = 16 / sizeof(SCALAR);
constexpr int BESIDE = RADIUS / PER_VECTOR;  // vectors of neighbours on each side
__constant__ SCALAR coefficient[RADIUS + 1];

// 16 bytes, which one instruction loads or stores.
struct alignas(16) Vector {
    SCALAR element[PER_VECTOR];
};

// The vector that begins with element i, a multiple of PER_VECTOR.
__device__ inline Vector vector_at(const SCALAR* in, long long i, long long n)
{
    if (i >= 0 && i + PER_VECTOR <= n) {
        return *(const Vector*)(in + i);
    }
    Vector loaded;
#pragma unroll
    for (int e = 0; e < PER_VECTOR; ++e) {
        loaded.element[e] = i >= 0 && i + e < n ? in[i + e] : (SCALAR)0;
    }
    return loaded;
}

// The derivative at the elements of the vector near[BESIDE]; the others are its neighbours on both sides.
__device__ inline Vector derivative(const Vector (&near)[2 * BESIDE + 1])
{
    Vector sum = {};
#pragma unroll
    for (int e = 0; e < PER_VECTOR; ++e) {
#pragma unroll
        for (int k = 1; k <= RADIUS; ++k) {
            const int before = RADIUS + e - k, behind = RADIUS + e + k;
            sum.element[e] += coefficient[k] * (near[behind / PER_VECTOR].element[behind % PER_VECTOR] -
                                                near[before / PER_VECTOR].element[before % PER_VECTOR]);
        }
    }
    return sum;
}

// Stores the elements of a vector that are inside the array.
__device__ inline void store(SCALAR* out, long long i, long long n, const Vector& vector)
{
    if (i + PER_VECTOR <= n) {
        *(Vector*)(out + i) = vector;
    } else {
#pragma unroll
        for (int e = 0; e < PER_VECTOR; ++e) {
            if (i + e < n) {
                out[i + e] = vector.element[e];
            }
        }
    }
}
