// Vectors of 16 bytes, which one instruction loads or stores, at the ends of an array and of a row.
// They need the macro SCALAR.
#pragma once

constexpr int VECTOR = 16 / sizeof(SCALAR);  // elements

struct alignas(16) Vector {
    SCALAR element[VECTOR];
};

// Loads an aligned vector; the one at the end of the array by the element, as nothing lies behind it.
__device__ Vector load(const SCALAR* in, long long first, long long size)
{
    Vector loaded = {};
    if (first + VECTOR <= size) {
        return *(const Vector*)(in + first);
    }
#pragma unroll
    for (int i = 0; i < VECTOR; ++i) {
        loaded.element[i] = in[first + i < size ? first + i : first];
    }
    return loaded;
}

// Stores those elements of an aligned vector that are rows of the matrix; whole, if all are.
__device__ void store(SCALAR* column, long long row, long long rows, const Vector& vector)
{
    if (row >= 0 && row + VECTOR <= rows) {
        *(Vector*)(column + row) = vector;
        return;
    }
#pragma unroll
    for (int i = 0; i < VECTOR; ++i) {
        if (row + i >= 0 && row + i < rows) {
            column[row + i] = vector.element[i];
        }
    }
}
