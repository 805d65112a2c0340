// Included, and with an alignment that depends on a type.
template <class T>
__device__ T inFunction(int i) {
    extern __shared__ __align__(sizeof(T)) unsigned char raw[];
    T *const values = reinterpret_cast<T *>(raw);
    return T(values != nullptr && i >= 0);
}
