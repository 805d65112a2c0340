// 16-byte vectors, which one instruction loads or stores, with guards at the ends of arrays and rows.
// They need the macro SCALAR.
#pragma once

constexpr int VECTOR = 16 / sizeof(SCALAR);  // elements

struct alignas(16) Vector {
    SCALAR element[VECTOR];
};

// Loads an aligned vector. A partial one at the end of the array is loaded element by element.
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

// Stores the elements of an aligned vector that are inside the matrix, with one instruction if all are.
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
