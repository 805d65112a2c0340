// From a kernel's own type: the unpacker of its arguments, and a description of them.
#pragma once

namespace simt {

template <class T>
constexpr char kind_of() {
    using Plain = std::remove_cv_t<T>;
    if (std::is_void<Plain>::value) return 'v';
    if (std::is_same<Plain, bool>::value) return 'b';
    if (std::is_floating_point<Plain>::value) return 'f';
    if (std::is_integral<Plain>::value) return std::is_signed<Plain>::value ? 'i' : 'u';
    return std::is_pointer<Plain>::value ? 'p' : 's';
}

template <class T>
constexpr unsigned size_of() {
    if constexpr (std::is_void<T>::value) {
        return 0;
    } else {
        return unsigned(sizeof(T));
    }
}

// "... [with T = float4]" or "... [T = float4]": the compiler's own spelling of a type.
template <class T>
const char* spelled() {
    return __PRETTY_FUNCTION__;
}

// One parameter a line: "pointer const i 4 <spelling>" or "value - f 8 <spelling>".
template <class T>
inline int describe(char* out, size_t room) {
    using Pointee = std::remove_pointer_t<T>;
    const bool pointer = std::is_pointer<T>::value;
    return snprintf(out, room, "%s %s %c %u %s\n", pointer ? "pointer" : "value",
                    pointer && std::is_const<Pointee>::value ? "const" : "-", kind_of<Pointee>(), size_of<Pointee>(),
                    spelled<std::remove_cv_t<Pointee>>());
}

template <auto function>
struct Kernel;

template <class... Parameters, void (*function)(Parameters...)>
struct Kernel<function> {
    // `arguments` as for cuLaunchKernel: a pointer to each argument's value. Each thread gets copies of its own, since
    // a kernel may change its parameters. Flattened, so that the kernel's body is inlined into this loop: there is then
    // no call whose return a switch of stacks would mispredict.
    template <size_t... each>
    __attribute__((flatten)) static void run_lanes(void** arguments, std::index_sequence<each...>) {
        (void)arguments;
        do {
            function(*static_cast<std::remove_reference_t<Parameters>*>(arguments[each])...);
        } while (next_lane());
    }

    static void run(void** arguments) {
        for (const BlockSetter* setter = first_setter; setter; setter = setter->next) setter->set();
        run_lanes(arguments, std::index_sequence_for<Parameters...>());
    }

    static size_t signature(char* out, size_t room) {
        size_t used = 0;
        out[0] = 0;
        ((used += size_t(describe<Parameters>(out + used, used < room ? room - used : 0))), ...);
        return used;
    }
};

}  // namespace simt
