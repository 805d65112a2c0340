// Textures of one to three dimensions, read as the CUDA C++ Programming Guide says ("Texture Fetching").
//
// A texture object is the address of a description. Of two neighbours the second one's weight has 8 bits after the point,
// as on a GPU.
#pragma once

using cudaTextureObject_t = unsigned long long;
using cudaSurfaceObject_t = unsigned long long;

namespace simt {

enum class TextureAddress : uint32_t { wrap, clamp, mirror, border };  // CUDA's numbers

struct Texture {  // texture.py has the same structure
    const unsigned char* texels;
    uint32_t size[3];     // in x, y and z
    uint32_t dimensions;  // 0: memory in a line, for tex1Dfetch
    uint32_t channels;
    uint32_t kind;   // NumPy's letter of its numbers: i, u or f
    uint32_t bytes;  // of a number
    TextureAddress address;
    uint32_t filters, normalized_coordinates, normalized_values;
};

template <class T, class = void>
struct Texel {
    using Number = T;
};
template <class T>
struct Texel<T, decltype(void(T().x))> {
    using Number = decltype(T().x);
};

inline float half_as_float(uint16_t bits) {
    const uint32_t magnitude = bits & 0x7fffu, sign = uint32_t(bits & 0x8000u) << 16;
    const float value = bit_cast<float>(magnitude << 13) * 0x1p112f;  // exact; infinity and NaN have their own exponent
    return magnitude >= 0x7c00u ? bit_cast<float>(sign | 0x7f800000u | magnitude << 13) : value * (sign ? -1.0f : 1.0f);
}

// One number of the texture, as it is read.
inline double texel(const Texture& texture, size_t at) {
    const unsigned char* const from = texture.texels + at * texture.bytes;
    uint32_t bits = 0;
    memcpy(&bits, from, texture.bytes);
    if (texture.kind == 'f') return texture.bytes == 2 ? half_as_float(uint16_t(bits)) : bit_cast<float>(bits);
    const unsigned unused = 32 - 8 * texture.bytes;
    const double value = texture.kind == 'i' ? double(int32_t(bits << unused) >> unused) : double(bits);
    if (!texture.normalized_values) return value;
    const double highest = texture.kind == 'i' ? (1 << (8 * texture.bytes - 1)) - 1 : (1 << 8 * texture.bytes) - 1;
    return value / highest < -1 ? -1 : value / highest;
}

// Up to two neighbours in one dimension, and the weight of the second one; -1 is outside.
struct Neighbours {
    long long first, second;
    double weight;
};

inline Neighbours neighbours(const Texture& texture, double x, unsigned dimension) {
    const double size = texture.size[dimension];
    const bool wraps = texture.address == TextureAddress::wrap, mirrors = texture.address == TextureAddress::mirror;
    if (texture.normalized_coordinates) {
        const double turns = floor(x);
        if (wraps || mirrors) x -= turns;
        if (mirrors && fmod(turns, 2) != 0) x = 1 - x;
        x *= size;
    }
    const auto inside = [&](double i) -> long long {
        if (i >= 0 && i < size) return (long long)i;
        if (texture.address == TextureAddress::border) return -1;
        if (wraps) return (long long)(i < 0 ? i + size : i - size);
        return i > 0 ? (long long)size - 1 : 0;  // also of NaN
    };
    if (!texture.filters) return {inside(floor(x)), -1, 0};
    const double first = floor(x - 0.5);
    return {inside(first), inside(first + 1), nearbyint((x - 0.5 - first) * 256) / 256};
}

template <class T>
inline void check_texel(const Texture& texture, unsigned dimensions, const char* name, int line, const char* file) {
    using Number = typename Texel<T>::Number;
    const bool is_float = texture.kind == 'f' || texture.normalized_values;
    const bool same = is_float ? std::is_same<Number, float>::value
                               : std::is_integral<Number>::value && sizeof(Number) == texture.bytes &&
                                     std::is_signed<Number>::value == (texture.kind == 'i');
    if (texture.dimensions != dimensions) {
        violation(line, file, "%s cannot read this texture, which %s", name,
                  texture.dimensions ? "has another number of dimensions, or is no linear memory" : "is linear memory");
    }
    if (!same || texture.channels * sizeof(Number) != sizeof(T)) {
        violation(line, file, "%s reads another type than the texture has: %u of %s%u", name, texture.channels,
                  is_float ? "float" : texture.kind == 'i' ? "int" : "uint", is_float ? 32 : 8 * texture.bytes);
    }
}

template <class T, unsigned dimensions>
__attribute__((noinline)) T sample(cudaTextureObject_t object, const double (&at)[3], const char* name, int line,
                                   const char* file) {
    using Number = typename Texel<T>::Number;
    const Texture& texture = *reinterpret_cast<const Texture*>(object);
    check_texel<T>(texture, dimensions, name, line, file);
    Neighbours along[3] = {{0, -1, 0}, {0, -1, 0}, {0, -1, 0}};
    for (unsigned d = 0; d < dimensions; ++d) along[d] = neighbours(texture, at[d], d);
    Number result[sizeof(T) / sizeof(Number)];
    for (unsigned channel = 0; channel < texture.channels; ++channel) {
        double sum = 0;
        for (unsigned corner = 0; corner < 8; ++corner) {
            double weight = 1;
            long long place[3];
            for (unsigned d = 0; d < 3; ++d) {
                const bool second = corner >> d & 1;
                place[d] = second ? along[d].second : along[d].first;
                weight *= second ? along[d].weight : 1 - along[d].weight;
            }
            if (weight == 0 || place[0] < 0 || place[1] < 0 || place[2] < 0) continue;  // a border is 0
            const size_t index = (size_t(place[2]) * texture.size[1] + size_t(place[1])) * texture.size[0] + size_t(place[0]);
            sum += weight * texel(texture, index * texture.channels + channel);
        }
        result[channel] = Number(sum);
    }
    return bit_cast<T>(result);
}

template <class T>
__attribute__((noinline)) T fetch(cudaTextureObject_t object, int at, int line, const char* file) {
    using Number = typename Texel<T>::Number;
    const Texture& texture = *reinterpret_cast<const Texture*>(object);
    check_texel<T>(texture, 0, "tex1Dfetch", line, file);
    Number result[sizeof(T) / sizeof(Number)] = {};
    if (at < 0 || unsigned(at) >= texture.size[0]) return bit_cast<T>(result);
    for (unsigned i = 0; i < texture.channels; ++i) result[i] = Number(texel(texture, size_t(at) * texture.channels + i));
    return bit_cast<T>(result);
}

}  // namespace simt

template <class T>
inline T tex1Dfetch(cudaTextureObject_t texture, int at, SIMT_CALLED_FROM) {
    return simt::fetch<T>(texture, at, line, file);
}
template <class T>
inline T tex1D(cudaTextureObject_t texture, float x, SIMT_CALLED_FROM) {
    return simt::sample<T, 1>(texture, {x, 0, 0}, "tex1D", line, file);
}
template <class T>
inline T tex2D(cudaTextureObject_t texture, float x, float y, SIMT_CALLED_FROM) {
    return simt::sample<T, 2>(texture, {x, y, 0}, "tex2D", line, file);
}
template <class T>
inline T tex3D(cudaTextureObject_t texture, float x, float y, float z, SIMT_CALLED_FROM) {
    return simt::sample<T, 3>(texture, {x, y, z}, "tex3D", line, file);
}
template <class T>
inline void tex1Dfetch(T* value, cudaTextureObject_t texture, int at, SIMT_CALLED_FROM) {
    *value = tex1Dfetch<T>(texture, at, line, file);
}
template <class T>
inline void tex1D(T* value, cudaTextureObject_t texture, float x, SIMT_CALLED_FROM) {
    *value = tex1D<T>(texture, x, line, file);
}
template <class T>
inline void tex2D(T* value, cudaTextureObject_t texture, float x, float y, SIMT_CALLED_FROM) {
    *value = tex2D<T>(texture, x, y, line, file);
}
template <class T>
inline void tex3D(T* value, cudaTextureObject_t texture, float x, float y, float z, SIMT_CALLED_FROM) {
    *value = tex3D<T>(texture, x, y, z, line, file);
}
