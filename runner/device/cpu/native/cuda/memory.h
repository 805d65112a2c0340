// Loads and stores with cache hints; a hint changes no result.
#pragma once

#define SIMT_LOAD(NAME)             \
    template <class T>              \
    inline T NAME(const T* address) { \
        return *address;            \
    }
SIMT_LOAD(__ldg)
SIMT_LOAD(__ldca)
SIMT_LOAD(__ldcg)
SIMT_LOAD(__ldcs)
SIMT_LOAD(__ldcv)
SIMT_LOAD(__ldlu)
#undef SIMT_LOAD

#define SIMT_STORE(NAME)                                     \
    template <class T>                                       \
    inline void NAME(T* address, simt::NotDeduced<T> value) { \
        *address = value;                                    \
    }
SIMT_STORE(__stwb)
SIMT_STORE(__stcg)
SIMT_STORE(__stcs)
SIMT_STORE(__stwt)
#undef SIMT_STORE

// All addresses are in one space here.
#define SIMT_CONVERSIONS(SPACE)                                                                             \
    inline size_t __cvta_generic_to_##SPACE(const void* address) { return reinterpret_cast<size_t>(address); } \
    inline void* __cvta_##SPACE##_to_generic(size_t address) { return reinterpret_cast<void*>(address); }
SIMT_CONVERSIONS(global)
SIMT_CONVERSIONS(shared)
SIMT_CONVERSIONS(constant)
SIMT_CONVERSIONS(local)
#undef SIMT_CONVERSIONS
