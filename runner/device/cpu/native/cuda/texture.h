// Textures and surfaces by their objects (CUDA C++ Programming Guide, "Texture and Surface Memory", "Texture Fetching").
#pragma once

#include "../half/format.h"

using cudaTextureObject_t = unsigned long long;
using cudaSurfaceObject_t = unsigned long long;

enum cudaSurfaceBoundaryMode { cudaBoundaryModeZero, cudaBoundaryModeClamp, cudaBoundaryModeTrap };

namespace simt {

enum class Bound : int32_t { texture, linear_memory, surface };
enum class Address : int32_t { wrap, clamp, mirror, border };

// What an object points to; runner/device/cpu/interface.py has the same structure.
struct Image {
    unsigned char* data;  // dense, x fastest
    int64_t size[3];      // texels in x, y, z; 1 where there is no such axis
    const char* name;
    const char* type;     // of a texel in C++
    uint32_t border[4];   // the bits of its numbers
    Address address[3];
    Bound bound;
    int32_t dimensions;
    int32_t kind;         // NumPy's letter for a texel's numbers: i, u or f
    int32_t bytes;        // of a number
    int32_t channels;
    int32_t linear;       // the filter mode
    int32_t promoted;     // integers are read as fractions
    int32_t normalized;   // coordinates are in [0, 1)
};

constexpr int64_t border = -1;

// The texel that the address mode puts in place of texel `i` of `n`.
inline int64_t addressed(Address mode, int64_t i, int64_t n) {
    if (i >= 0 && i < n) return i;
    switch (mode) {
        case Address::border: return border;
        case Address::clamp: return i < 0 ? 0 : n - 1;
        case Address::wrap: return (i % n + n) % n;
        case Address::mirror: break;
    }
    const int64_t folded = (i % (2 * n) + 2 * n) % (2 * n);
    return folded < n ? folded : 2 * n - 1 - folded;
}

// Along one axis: a texel, the next one, and the weight of that in 256ths.
struct Place {
    int64_t texel[2];
    int weight;
};

// As an H200 does it: normalized coordinates have 21 bits of fraction, the rest is cut off. Where texels are
// interpolated, coordinates of texels are rounded to 8 bits of fraction, so weights are multiples of 1/256.
__attribute__((noinline)) inline Place placed(const Image& image, int axis, float coordinate) {
    const int64_t n = image.size[axis];
    const Address mode = image.address[axis];
    double at = coordinate;
    at = at != at ? 0 : at < -0x1p32 ? -0x1p32 : at > 0x1p32 ? 0x1p32 : at;
    if (image.normalized) at = ldexp(floor(ldexp(at, 21)), -21) * double(n);
    if (!image.linear) return {{addressed(mode, int64_t(floor(at)), n), border}, 0};
    int64_t fixed = int64_t(floor(at * 256 + 0.5)) - 128;
    if (mode == Address::clamp) fixed = fixed < 0 ? 0 : fixed > (n - 1) * 256 ? (n - 1) * 256 : fixed;
    return {{addressed(mode, fixed >> 8, n), addressed(mode, (fixed >> 8) + 1, n)}, int(fixed & 255)};
}

inline Place placed(const Image&, int, int texel) { return {{texel, border}, 0}; }  // of linear memory

// A texel, null for the border, and its weight in 256ths.
struct Corner {
    const unsigned char* texel;
    int weight;
};

// A share of a weight, rounded to 256ths: ties up for the second texel in x, down for the first.
inline int shared_weight(int weight, int share, bool second) { return (weight * share + (second ? 128 : 127)) >> 8; }

// The weight of a corner, whose bits say in which axes the second texel is meant. An H200 divides the weight in x, then
// in z, then in y, and rounds each time; in y, the first texel gets the rest.
inline int weight_of(const Place (&places)[3], int corner, int dimensions) {
    const bool second = corner & 1;
    int weight = second ? places[0].weight : 256 - places[0].weight;
    if (dimensions == 3) weight = shared_weight(weight, corner & 4 ? places[2].weight : 256 - places[2].weight, second);
    if (dimensions == 1) return weight;
    const int upper = shared_weight(weight, places[1].weight, second);
    return corner & 2 ? upper : weight - upper;
}

// The texels that make up a fetch; how many they are.
__attribute__((noinline)) inline int cornered(const Image& image, const Place (&places)[3], Corner (&corners)[8]) {
    int count = 0;
    for (int corner = 0; corner < (image.linear ? 1 << image.dimensions : 1); ++corner) {
        const int weight = image.linear ? weight_of(places, corner, image.dimensions) : 256;
        if (weight == 0) continue;
        int64_t at = 0;
        bool inside = true;
        for (int axis = image.dimensions - 1; axis >= 0; --axis) {
            const int64_t texel = places[axis].texel[corner >> axis & 1];
            inside = inside && texel != border;
            at = at * image.size[axis] + texel;
        }
        corners[count++] = {inside ? image.data + at * image.channels * image.bytes : nullptr, weight};
    }
    return count;
}

// Integers that are read as fractions are interpolated as numbers of 16 bits, of which this is the largest.
inline double largest_16(const Image& image) { return image.kind == 'i' ? 32767 : 65535; }

// One number of a texel, exact: as a fetch gives it, but integers to be interpolated as numbers of 16 bits.
__attribute__((noinline)) inline double number_of(const Image& image, const unsigned char* texel, int channel) {
    uint32_t bits = image.border[channel];
    if (!texel) {
        if (image.promoted && image.linear) return bit_cast<float>(bits) * largest_16(image);
        if (image.kind == 'f' || image.promoted) return bit_cast<float>(bits);
        return image.kind == 'i' ? double(int32_t(bits)) : double(bits);
    }
    bits = 0;
    memcpy(&bits, texel + channel * image.bytes, size_t(image.bytes));
    if (image.kind == 'f') return image.bytes == 2 ? Binary16::decode(uint16_t(bits)) : bit_cast<float>(bits);
    const int unused = 32 - 8 * image.bytes;
    double value = image.kind == 'i' ? double(int32_t(bits << unused) >> unused) : double(bits);
    if (!image.promoted) return value;
    const double largest = double((1u << (8 * image.bytes - (image.kind == 'i'))) - 1);
    if (value < -largest) value = -largest;
    if (!image.linear) return float(value / largest);
    if (image.bytes == 2) return value;
    return image.kind == 'i' ? floor(value * (8 * 258 + 1 / 16.0)) / 8 : value * 257;
}

// The weighted mean, which is rounded once: to the nearest of what the texels' format holds, ties away from 0.
inline double blended(const Image& image, const Corner* corners, int count, int channel) {
    if (!image.linear) return number_of(image, corners[0].texel, channel);
    double sum = 0;
    for (int i = 0; i < count; ++i) sum += corners[i].weight * number_of(image, corners[i].texel, channel);
    sum /= 256;
    if (image.promoted) return round(sum) / largest_16(image);
    if (image.bytes == 4 || !isfinite(sum) || sum == 0) return sum;
    const int last = ilogb(sum) < -14 ? -24 : ilogb(sum) - 10;  // place of a half's significand
    return ldexp(round(ldexp(sum, -last)), last);
}

// The numbers of a texel's type: float of float4.
template <class T, class = void>
struct Numbers {
    using type = T;
};
template <class T>
struct Numbers<T, std::void_t<decltype(T::x)>> {
    using type = decltype(T::x);
};

__attribute__((noinline)) inline const Image& image_of(unsigned long long object, Bound bound, int dimensions, const char* name,
                                                       int line, const char* file) {
    if (!object) violation(line, file, "%s: the object is 0", name);
    const Image& image = *reinterpret_cast<const Image*>(object);
    if (image.bound != bound) {
        violation(line, file, "%s: '%s' is %s", name, image.name,
                  image.bound == Bound::surface         ? "a surface"
                  : bound == Bound::surface             ? "a texture"
                  : image.bound == Bound::linear_memory ? "a texture of linear memory, which tex1Dfetch reads"
                                                        : "no texture of linear memory: 'resource: linear' makes it one");
    }
    if (image.dimensions != dimensions) {
        violation(line, file, "%s: '%s' has %d dimension%s", name, image.name, image.dimensions,
                  image.dimensions == 1 ? "" : "s");
    }
    return image;
}

template <class T, class Coordinate>
inline T fetched(unsigned long long object, Bound bound, int dimensions, Coordinate x, Coordinate y, Coordinate z,
                 const char* name, int line, const char* file) {
    using Number = typename Numbers<T>::type;
    const Image& image = image_of(object, bound, dimensions, name, line, file);
    const bool fraction = image.kind == 'f' || image.promoted;
    const bool same = fraction ? std::is_same<Number, float>::value
                               : kind_of<Number>() == image.kind && int(sizeof(Number)) == image.bytes;
    if (!same || int(sizeof(T) / sizeof(Number)) != image.channels) {
        violation(line, file, "%s: a fetch from '%s' gives %s, not a type of %d %s numbers of %d bytes", name, image.name,
                  image.type, int(sizeof(T) / sizeof(Number)),
                  kind_of<Number>() == 'f' ? "float" : kind_of<Number>() == 'i' ? "signed" : "unsigned",
                  int(sizeof(Number)));
    }
    T result;
    Number numbers[sizeof(T) / sizeof(Number)];
    if (bound == Bound::linear_memory && (x < 0 || x >= image.size[0])) {
        memset(&numbers, 0, sizeof numbers);
    } else {
        const Place places[3] = {placed(image, 0, x), dimensions > 1 ? placed(image, 1, y) : Place(),
                                 dimensions > 2 ? placed(image, 2, z) : Place()};
        Corner corners[8];
        const int count = cornered(image, places, corners);
        for (int channel = 0; channel < image.channels; ++channel) {
            numbers[channel] = Number(blended(image, corners, count, channel));
        }
    }
    memcpy(&result, &numbers, sizeof result);
    return result;
}

// Where `bytes` bytes lie in a surface; null: outside, where a read gives 0 and a write does nothing.
__attribute__((noinline)) inline unsigned char* in_surface(unsigned long long object, int dimensions, int x, int y, int z,
                                                           int bytes, cudaSurfaceBoundaryMode mode, const char* name,
                                                           int line, const char* file) {
    const Image& image = image_of(object, Bound::surface, dimensions, name, line, file);
    const int texel = image.bytes * image.channels;
    const int64_t row = image.size[0] * texel;
    int64_t at[3] = {x, y, z};
    if (x % bytes) {
        violation(line, file, "%s: byte %d in x of '%s' is not a multiple of the %d bytes accessed", name, x, image.name, bytes);
    }
    const int64_t last[3] = {row - bytes, image.size[1] - 1, image.size[2] - 1};
    for (int axis = 0; axis < dimensions; ++axis) {
        if (at[axis] >= 0 && at[axis] <= last[axis]) continue;
        if (mode == cudaBoundaryModeZero) return nullptr;
        if (mode == cudaBoundaryModeClamp) {
            at[axis] = at[axis] < 0 ? 0 : last[axis];
            continue;
        }
        if (axis == 0) {
            violation(line, file, "%s: out of bounds of the surface '%s': byte %d in x, but a row has %lld bytes", name,
                      image.name, x, (long long)row);
        }
        violation(line, file, "%s: out of bounds of the surface '%s': %lld in %c, but its size there is %lld", name,
                  image.name, (long long)at[axis], "xyz"[axis], (long long)image.size[axis]);
    }
    return image.data + (at[2] * image.size[1] + at[1]) * row + at[0];
}

template <class T>
inline T from_surface(const unsigned char* at) {
    T value;
    if (at) {
        memcpy(&value, at, sizeof value);
    } else {
        memset(&value, 0, sizeof value);
    }
    return value;
}

}  // namespace simt

#define SIMT_TEXTURE(NAME, BOUND, DIMENSIONS, COORDINATE, PARAMETERS, ...)                                          \
    template <class T>                                                                                              \
    inline T NAME(cudaTextureObject_t object, PARAMETERS, SIMT_CALLED_FROM) {                                       \
        return simt::fetched<T, COORDINATE>(object, simt::Bound::BOUND, DIMENSIONS, __VA_ARGS__, #NAME, line, file); \
    }                                                                                                               \
    template <class T>                                                                                              \
    inline void NAME(T* result, cudaTextureObject_t object, PARAMETERS, SIMT_CALLED_FROM) {                         \
        *result = NAME<T>(object, SIMT_NAMES_##DIMENSIONS, line, file);                                             \
    }
#define SIMT_COMMA ,
#define SIMT_NAMES_1 x
#define SIMT_NAMES_2 x, y
#define SIMT_NAMES_3 x, y, z
SIMT_TEXTURE(tex1Dfetch, linear_memory, 1, int, int x, x, 0, 0)
SIMT_TEXTURE(tex1D, texture, 1, float, float x, x, 0, 0)
SIMT_TEXTURE(tex2D, texture, 2, float, float x SIMT_COMMA float y, x, y, 0)
SIMT_TEXTURE(tex3D, texture, 3, float, float x SIMT_COMMA float y SIMT_COMMA float z, x, y, z)
#undef SIMT_TEXTURE

#define SIMT_SURFACE(DIMENSIONS, PARAMETERS, ...)                                                                    \
    template <class T>                                                                                              \
    inline T surf##DIMENSIONS##Dread(cudaSurfaceObject_t object, PARAMETERS,                                        \
                                     cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap, SIMT_CALLED_FROM) {       \
        return simt::from_surface<T>(simt::in_surface(object, DIMENSIONS, __VA_ARGS__, sizeof(T), mode,             \
                                                      "surf" #DIMENSIONS "Dread", line, file));                     \
    }                                                                                                               \
    template <class T>                                                                                              \
    inline void surf##DIMENSIONS##Dread(T* result, cudaSurfaceObject_t object, PARAMETERS,                          \
                                        cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap, SIMT_CALLED_FROM) {    \
        *result = surf##DIMENSIONS##Dread<T>(object, SIMT_NAMES_##DIMENSIONS, mode, line, file);                    \
    }                                                                                                               \
    template <class T>                                                                                              \
    inline void surf##DIMENSIONS##Dwrite(T value, cudaSurfaceObject_t object, PARAMETERS,                           \
                                         cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap, SIMT_CALLED_FROM) {   \
        unsigned char* const at = simt::in_surface(object, DIMENSIONS, __VA_ARGS__, sizeof(T), mode,                \
                                                   "surf" #DIMENSIONS "Dwrite", line, file);                        \
        if (at) memcpy(at, &value, sizeof value);                                                                   \
    }
SIMT_SURFACE(1, int x, x, 0, 0)
SIMT_SURFACE(2, int x SIMT_COMMA int y, x, y, 0)
SIMT_SURFACE(3, int x SIMT_COMMA int y SIMT_COMMA int z, x, y, z)
#undef SIMT_SURFACE
#undef SIMT_COMMA
#undef SIMT_NAMES_1
#undef SIMT_NAMES_2
#undef SIMT_NAMES_3
