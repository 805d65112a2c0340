"""Kernels of libraries for machine learning, with the code of the host around them, on each compiler."""

from __future__ import annotations

import importlib.util
import re

import numpy as np
import pytest
from support import constant

from runner.device import Source, elf
from runner.device.cpu.build import CpuCompiler
from runner.device.cuda.compiler import CudaCompiler, Nvcc
from runner.device.cuda.nvrtc import Nvrtc
from runner.errors import CompileError

COMPILERS = [
    "cpu",
    pytest.param("nvcc", marks=[pytest.mark.nvcc, pytest.mark.gpu]),  # PyCUDA cannot be loaded without a driver
    pytest.param("nvrtc", marks=pytest.mark.skipif(not importlib.util.find_spec("cuda"), reason="no cuda.core")),
]

TORCH = """
#include <torch/extension.h>
#include <c10/cuda/CUDAGuard.h>
template <typename scalar_t>
__global__ void scaled(const torch::PackedTensorAccessor32<scalar_t, 2, torch::RestrictPtrTraits> in,
                       at::PackedTensorAccessor64<scalar_t, 2> out, float factor)
{
    if (threadIdx.x < in.size(1)) out[blockIdx.x][threadIdx.x] = in[blockIdx.x][threadIdx.x] * factor;
}
__device__ inline at::Half atomicAdd(at::Half* address, at::Half value) { return *address = value; }
template <typename scalar_t>
C10_LAUNCH_BOUNDS_1(256)
__global__ void sums(scalar_t* out, const scalar_t* in, int64_t n)
{
    at::acc_type<scalar_t, true> sum = 0;
    CUDA_KERNEL_LOOP(i, n) {
        sum += in[i];
        out[i] = in[i] * in[i] + 1 > scalar_t(2) ? -in[i] : static_cast<scalar_t>(WARP_SHFL_XOR(sum, 1) / 3.0);
        gpuAtomicAdd(out, in[i]);
    }
}
torch::Tensor launch(torch::Tensor in)
{
    AT_DISPATCH_FLOATING_TYPES(in.scalar_type(), "scaled", ([&] { scaled<scalar_t><<<1, 1>>>(in, in, 1.0f); }));
    return in;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("launch", &launch); }
"""
NAMES = """
#include "no_such_host_header.h"
__global__ void kernel(uint32_t* out, half* halves, int64_t n, uint m)
{
    out[0] = FLT_MAX > INT_MAX ? uint8_t(n) : std::max(n, int64_t(4)) + std::max({1, 2});
    halves[0] = std::is_same_v<half, int> ? 0.0f : std::numeric_limits<float>::infinity();
}
"""
QUALIFIED = """
#include "marks.cuh"
namespace conversion {
template <typename To, typename From>
AUTHORS_INLINE To to(From value) { return To(value); }
template <>
AUTHORS_INLINE float to(signed char value) { return __int2float_rn(value); }
}
void host() { undeclared(); }
__global__ void kernel(float* out) { out[threadIdx.x] = conversion::to<float>((signed char)threadIdx.x); }
"""
OWN_SHUFFLE = """
#include <cuda_fp16.h>
struct Own {
    __half x;
    __device__ Own(__half value) : x(value) {}
    __device__ operator __half() const { return x; }
};
__device__ __inline__ Own __shfl_down(const Own value, const unsigned int delta) { return __shfl_down(value.operator __half(), delta); }
__global__ void kernel(__half* out) { out[0] = Own(out[1]); }
"""
SPECIALIZED = """
#include <torch/torch.h>
template <typename T, int N> struct Traits;
template <typename T> struct Traits<T, 2> { unknown_type<T> member; };
template <typename T> __device__ T twice(T x) { return 2 * x; }
__global__ void kernel(float* out) { out[0] = twice(out[1]); }
"""
HOST_MEMBER = """
#include <torch/torch.h>
#include <vector>
inline float first(const std::vector<float>& values) { return values[0]; }
struct Factor {
    __host__ __device__ Factor() : value(1) {}
    inline __host__ Factor(const std::vector<float>& values) : value(first(values)) {}
    float value;
};
__global__ void kernel(float* out, Factor factor) { out[0] = factor.value * Factor().value; }
"""
LIBRARY = """
#include <torch/torch.h>
#include <library/vector.h>
__global__ void kernel(double* out) { out[threadIdx.x] = library::sum(library::Pair<double>(library::Pair<float>(1, 2))); }
"""
PAIR = """
#pragma once
#define LIBRARY_CALL __device__
namespace library {
template <typename T>
struct Pair {
    T x, y;
    LIBRARY_CALL constexpr Pair(T a, T b);
    template <typename U>
    LIBRARY_CALL constexpr Pair(Pair<U> const& a);
};
template <typename T>
LIBRARY_CALL constexpr Pair<T>::Pair(T a, T b)
    : x(a), y(b)
{}
template <typename T>
template <typename U>
LIBRARY_CALL constexpr Pair<T>::Pair(Pair<U> const& a)
    : x(T(a.x))
    , y(T(a.y))
{}
template <typename T>
LIBRARY_CALL T sum(Pair<T> const& a) { return a.x + a.y; }
}
"""
ATTRIBUTE = """
#include <torch/extension.h>
namespace other {
__align__(8) struct Unused { int index; float value; };
}
__global__ void kernel(float* out) { out[threadIdx.x] = 1; }
"""
PASTED = """
#include <torch/extension.h>
#define ATOMIC(NAME) \\
    template <typename T> struct Atomic##NAME##Impl { \\
        __device__ void operator()(T* address, T value) { *address = OP(*address, value); } \\
    };
#define OP(X, Y) X + Y
ATOMIC(Add)
#undef OP
static inline __device__ void add(float* address, float value) { AtomicAddImpl<float>()(address, value); }
#define OP(X, Y) X * Y
ATOMIC(Mul)
#undef OP
__global__ void kernel(float* out) { add(out, 1); AtomicMulImpl<float>()(out, 2); }
"""
TENSOR_INFO = """
#include <ATen/ATen.h>
#include <ATen/cuda/detail/IndexUtils.cuh>
#include <ATen/cuda/detail/TensorInfo.cuh>
__global__ void kernel(const at::cuda::detail::TensorInfo<int64_t, int> in, int64_t* out)
{
    out[threadIdx.x] = in.data[at::cuda::detail::IndexToOffset<int64_t, int, -1>::get(threadIdx.x, in)] + in.sizes[in.dims - 1];
}
"""
HOST = """#include <cstdio>
int main()
{
    void* memory = memalign(64, 1 << 20);
    std::cerr << "no <iostream>";
    cudaThreadSynchronize();
}
__global__ void kernel(int* out) { out[threadIdx.x] = 1; }
__global__ void wrong(int* out)
{
    out[0] = undeclared;
}
"""
INSTANTIATED = """
#include <cuda_fp16.h>
#define INSTANTIATE(T) template void launch<T>(T*, int);
#define InstantiateAll() INSTANTIATE(half) INSTANTIATE(int)
template <class T>
__global__ void kernel(T* out, int n) { out[0] = T(n); }
template <class T>
void launch(T* out, int n) { unknown_to_all(out, n); }
INSTANTIATE(half);
INSTANTIATE(float)
InstantiateAll()
template __global__ void kernel<float>(float*, int);
"""
# Braces in macros keep a parser without a preprocessor from dividing the file; the alias is in an included one.
UNDIVIDED = """
#include "alias.cuh"
#define END }
__global__ void first(int* out) { if (out[0]) { { { out[0] = 1; END END END END
__global__ void second(int* out) { if (out[0]) { { { out[0] = 2; END END END END
__global__ void kernel(int* out) { out[0] = there::three(); }
"""
ALIAS = "namespace here { __device__ inline int three() { return 3; } }\nnamespace there = here;\nvoid host() { unknown(); }\n"
A = '#pragma once\n#include "b.cuh"\nvoid of_host_a() { unknown_to_all(); }\n__device__ inline int a() { return b() + 1; }\n'
B = '#pragma once\n#include "a.cuh"\nvoid of_host_b() { unknown_to_all(); }\n__device__ inline int b() { return 1; }\n'
MARKS = "#pragma once\n#define AUTHORS_INLINE AUTHORS_DEVICE __forceinline__\n#define AUTHORS_DEVICE __device__\n"
CIRCLE = '#include "a.cuh"\n__global__ void kernel(int* out) { out[0] = a(); }\n'

CODE = {
    "a parameter that is a tensor": (TORCH, "scaled<float>"),
    "a header of the toolkit for the host": (f"#include <cuda.h>\n{TORCH}", "scaled<float>"),
    "c10::Half": (TORCH, "scaled<c10::Half>"),
    "an accumulator": (TORCH, "sums<at::BFloat16>"),
    "names of a missing header": (NAMES, "kernel"),
    "code of the host that does not compile": (HOST, "kernel"),
    "macros that instantiate templates of the host": (INSTANTIATED, "kernel<half>"),
    "headers that include each other": (CIRCLE, "kernel"),
    "a qualifier that another file defines": (QUALIFIED, "kernel"),
    "an author's own overload of a function that CUDA removed": (OWN_SHUFFLE, "kernel"),
    "a specialization that is not needed": (SPECIALIZED, "kernel"),
    "a member that the host alone can call": (HOST_MEMBER, "kernel"),
    "a library whose headers are all there": (LIBRARY, "kernel"),
    "a structure with an attribute that is left out": (ATTRIBUTE, "kernel"),
    "a macro that makes the names of what it declares": (PASTED, "kernel"),
    "a tensor of any dimensions": (TENSOR_INFO, "kernel"),
    "a file that no parser divides": (UNDIVIDED, "kernel"),
}


@pytest.fixture(params=COMPILERS)
def compiler(request, tmp_path, own_cache):
    """Each compiler; those of a GPU need none, and have a cache of their own."""
    if request.param == "cpu":
        return CpuCompiler()
    return CudaCompiler("sm_90", Nvcc(()) if request.param == "nvcc" else Nvrtc(), tmp_path / "cache")


@pytest.fixture
def source(tmp_path):
    """A source of a text, beside the headers that it may include."""

    def make(text, function, *options):
        for name, content in {"own.cu": text, "a.cuh": A, "b.cuh": B, "alias.cuh": ALIAS, "marks.cuh": MARKS}.items():
            (tmp_path / name).write_text(content)
        (tmp_path / "include" / "library").mkdir(parents=True, exist_ok=True)
        (tmp_path / "include" / "library" / "vector.h").write_text(PAIR)
        return Source(tmp_path / "own.cu", text, function, include=(tmp_path / "include",), options=options)

    return make


@pytest.mark.parametrize("what", CODE)
def test_a_kernel_compiles_whatever_is_around_it(compiler, source, what):
    """As the builder of PyTorch compiles it, from the file as it is."""
    text, function = CODE[what]
    assert compiler.compile(source(text, function, "--expt-relaxed-constexpr")).digest


def test_an_error_of_the_kernel_has_its_line(compiler, source):
    """Also where code of the host before it does not compile either."""
    with pytest.raises(CompileError, match=r"own\.cu[:(]11\)?: .*undeclared"):
        compiler.compile(source(HOST, "wrong"))


@pytest.mark.nvcc
@pytest.mark.gpu
def test_what_nvcc_did_not_compile_is_known(source, tmp_path):
    """With the message that made it necessary, from the cache, too; a file that compiles as it is has no such note."""
    compiler = CudaCompiler("sm_90", Nvcc(()), tmp_path / "cache")
    for cached in (False, True):
        binary = compiler.compile(source(HOST, "kernel"))
        assert binary.cached == cached
        assert re.fullmatch(
            r"compiled without its code for the host \(own\.cu\(4\): error: .*memalign.*\)", binary.omitted
        )
    assert compiler.compile(source(TORCH, "sums<float>")).omitted.startswith(
        "compiled without <c10/cuda/CUDAGuard.h>, <torch"
    )
    assert not compiler.compile(source(CIRCLE.replace("a()", "1").replace('#include "a.cuh"', ""), "kernel")).omitted


def test_a_missing_header_is_told_once(runner, tmp_path):
    """In one line for all variants, with its name; not on stderr, and not in quiet mode."""
    (tmp_path / "mine" / "kernel").mkdir(parents=True)
    text = "#include <no_such_header.h>\n__global__ void k(int* out, int n) { if (threadIdx.x < n) out[threadIdx.x] = B; }\n"
    (tmp_path / "mine" / "kernel" / "k.cu").write_text(text)
    (tmp_path / "mine" / "kernel" / "k.yaml").write_text(
        "parameters: {block: 64, size: 64}\nmacros: [{B: block}]\n"
        "arguments:\n  - {name: out, role: out, dtype: int32, shape: size}\n  - {name: n, scalar: int32, value: size}\n"
        "grid: 1\nconstraints: {size <= block: one block}\nreference: {out: 0 * arange(size) + block}\n"
    )
    words = ("--config-dir", tmp_path / "mine", "kernel=k", "block=64,128", "device=cpu")
    done = runner(*words)
    assert done.code == 0, done.err
    assert (done.out + done.err).count("k.cu: compiled without <no_such_header.h>, which is missing") == 1
    assert "compiled without" not in runner(*words, "--quiet").out


@pytest.mark.parametrize("name", ["c10::Half", "c10::BFloat16"])
def test_half_types_of_pytorch_round_each_result(bench, source, name):
    """A sum of halves is computed in float and rounded; with a float it stays one, with an integer it is a half."""
    import ml_dtypes  # noqa: PLC0415

    dtype = np.float16 if name == "c10::Half" else ml_dtypes.bfloat16
    text = f"""
#include <c10/util/Half.h>
__global__ void kernel({name}* sums, float* wide, const {name}* in, int n)
{{
    const int i = threadIdx.x;
    if (i >= n) return;
    sums[i] = in[i] * in[i] + 3;
    wide[i] = in[i] * 1.001f;
    wide[i] += in[i];
    if (i == 1) atomicAdd(sums + 64, in[1]);
    if (in[i] > 0.5 && in[i] != in[0]) sums[i] -= in[i] / 2;
}}
"""
    given = np.random.default_rng(3).uniform(-2, 2, 64).astype(dtype)
    sums, wide = bench.call(
        source(text, "kernel"), np.zeros(66, dtype), np.zeros(64, np.float32), constant(given), 64, block=64
    )
    squares = (given.astype(np.float32) ** 2).astype(dtype)
    expected = (squares.astype(np.float32) + 3).astype(dtype)
    halves = (given.astype(np.float32) / 2).astype(dtype).astype(np.float32)
    less = (expected.astype(np.float32) - halves).astype(dtype)
    assert sums[64] == given[1]
    assert (sums[:64] == np.where((given.astype(np.float32) > 0.5) & (given != given[0]), less, expected)).all()
    assert (wide == given.astype(np.float32) * np.float32(1.001) + given.astype(np.float32)).all()


def test_a_library_s_file_is_included_through_a_link(compiler, source, tmp_path):
    """A YAML's own file includes it by the link's name, and it includes its neighbours, without PyTorch."""
    library = tmp_path / "elsewhere" / "library"
    library.mkdir(parents=True)
    (library / "kernel.cu").write_text(
        '#include <torch/torch.h>\n#include "part.cuh"\n__global__ void kernel(int* out) { *out = part(); }\n'
    )
    (library / "part.cuh").write_text("__device__ inline int part() { return 1; }\nvoid host() { unknown(); }\n")
    (tmp_path / "clone").symlink_to(library, target_is_directory=True)
    compiled = compiler.compile(source('#include "clone/kernel.cu"\n', "kernel"))
    assert compiled.path.exists()


def test_the_symbol_of_an_overload_and_of_a_kernel_without_linkage_is_found(compiler, source, tmp_path):
    """Two overloads in a namespace, and a kernel in an anonymous one."""
    if isinstance(compiler, CpuCompiler):
        pytest.skip("the CPU device has no symbols to search")
    text = (
        "namespace a { __global__ void k(float* x, const unsigned n) { *x = n; } __global__ void k(int* x, int n) { *x = n; } }\n"
        "namespace { __global__ void hidden(int* x) { *x = 1; } }\n"
    )
    for function, begin, end in (
        ("a::k(float*, const unsigned)", "_ZN1a1kE", "Pfj"), ("a::k(int*, int)", "_ZN1a1kE", "Pii"), ("hidden", "_ZN", "6hiddenEPi"),
    ):  # fmt: skip
        symbol = elf.kernel_symbol(compiler.compile(source(text, function)).path.read_bytes(), function, 0)
        assert symbol.startswith(begin), function
        assert symbol.endswith(end), function


CAUSES = {
    "a header in another folder": (
        '#include "not_beside.cuh"\n__global__ void kernel(int* out) { out[0] = elsewhere(1); }\n',
        "(<not_beside.cuh> missing; name the folder that has it under 'include')",
    ),
    "an #if": (
        "#ifdef WITH_HALF\n__device__ int half() { return 1; }\n#endif\n__global__ void kernel(int* out) { *out = half(); }\n",
        "(an #if of own.cu leaves it out; define the macro that it tests, under 'macros')",
    ),
}


@pytest.mark.parametrize("what", CAUSES)
def test_an_undeclared_name_is_told_with_what_to_do(source, own_cache, what):
    """Not that the CPU device lacks a feature."""
    text, words = CAUSES[what]
    with pytest.raises(CompileError) as caught:
        CpuCompiler().compile(source(text, "kernel"))
    assert str(caught.value).endswith(words)
