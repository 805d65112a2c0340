"""A `.cu` as its author left it, with the program around its kernels: a YAML names a kernel, and it runs."""

import importlib.util
from pathlib import Path

import pytest
from support import case_of, read_kernel

from runner.device import Source, elf
from runner.device.cuda.compiler import CudaCompiler
from runner.device.cuda.nvrtc import Nvrtc
from runner.errors import CompileError, UsageError

PROGRAM = """\
﻿#include <algorithm>
#include <cstdio>
#include <iostream>
#include <type_traits>
#include <vector>

#include <cublas_v2.h>  // which includes the half types, and need not be here
#include <cuda_runtime.h>
#include <device_launch_parameters.h>
#include <library_of_the_author.h>  // not here
#include "parts/own.cuh"

using namespace std;
using namespace library_of_the_author;

#define HOST_AND_DEVICE __host__ __device__
#define DEFINE_SHIFT(name, by) \\
    __global__ void name(int* out, int n) { const int i = index_of(); if (i < n) out[i] = i + by; }

static int launches = 0;  // of the host
constexpr int SPARE = std::max(0, 1);
HOST_AND_DEVICE int once(int x) { return x; }
int index_of_host() { return ++launches; }

namespace shapes {
namespace {
template <typename T, int tile, bool twofold>
__global__ void __launch_bounds__(tile) scaled(T* out, int n)
{
    __shared__ T values[tile];
    static_assert(std::is_arithmetic<T>::value, "a number");
    const int i = index_of();
    values[threadIdx.x] = T(i);
    __syncthreads();
    if (i < n) out[i] = values[threadIdx.x] * T(twofold ? 2 * shift : shift) + T(once(SPARE) - 1);
}
}
template <typename T, int by> __global__ void offset(T* out, int n) { out[index_of()] = by; }
struct Host {
    vector<int> kept;
    void run() { hidden<<<1, 32>>>(nullptr, 0); check(cudaGetLastError()); }
};
}

static __global__ void hidden(int* out, int n) { const int i = index_of(); if (i < n) out[i] = 2 * i; }
static __global__ void atomics_only(int* out, int n) { asm("// PTX"); }
DEFINE_SHIFT(shifted, 7)
__global__ void halved(int* out, int n)
{
    const int i = index_of();
    const __half half_of_it = __float2half(float(i % 100) / 2);
    if (i < n) out[i] = int(2 * __half2float(half_of_it));
}
struct Managed {  // a class of both sides
    int by = 3;
    void* operator new(size_t bytes)
    {
        void* made;
        if (cudaMallocManaged(&made, bytes) != cudaSuccess) exit(1);
        cudaDeviceSynchronize();
        return made;
    }
};
__global__ void by_class(int* out, int n)
{
    const int i = index_of();
    if (i < n) new (out + i) int(Managed().by);
}
__global__ void allocates(int* out, int n) { cudaMalloc(&out, n); }
__global__ void twice(int* out, int n) { const int i = index_of(); if (i < n) out[i] = 2 * i; }
__global__ void twice(float* out, int n) { const int i = index_of(); if (i < n) out[i] = 2 * i + 1; }
__global__ void wrong(int* out, int n) { out[0] = index_of_host(); }
__global__ void unknown(int* out, int n) { out[0] = library_function(n); }
__global__ void broken(int* out, int n) { out[0] = nonesuch; }

template __global__ void shapes::scaled<double, 8, true>(double*, int);

#define BIND(name, kind, type, count) \\
    library::Tensor bind_##name(library::Tensor a) { name<<<1, count>>>(a.data<type>(), 1); return a; }

BIND(hidden, library::kInt32, int, 1)
BIND(halved, library::kInt32, int,
     4)
BIND(shifted, library::kInt32, int32_t, 4)  // a macro's call that no semicolon ends

LIBRARY_MODULE(LIBRARY_NAME, m) {
    // functions
    LIBRARY_FUNCTION(hidden)
    LIBRARY_FUNCTION(halved)
    LIBRARY_FUNCTION(shifted)
}

int main(int argc, char** argv)
{
    vector<float> host(100);
    sort(host.begin(), host.end());
    dim3 grid(4), block(32);
    float* device;
    check(cudaMalloc(&device, 400));
    shapes::scaled<float, 32, true><<<grid, block>>>(device, host.size());
    hidden<<<grid, block, 0, 0>>>(nullptr, 0);
    cout << "done " << argc << endl;
    return library_main(argv);
}
"""
OWN = """\
#pragma once
#include <string>
#include <library_of_the_author.h>
static library_handle handle;
inline void check(cudaError_t error) { if (error) throw std::string("failed"); }
__device__ __forceinline__ int index_of() { return blockIdx.x * blockDim.x + threadIdx.x; }
"""
YAML = """
source: program.cu
parameters: {size: 1000, block: 64, shift: 3, dtype: float32}
macros: [shift, {n0: 4, swap: 5, x0: block}]
arguments:
  - {name: out, role: out, dtype: DTYPE, shape: size}
  - {name: n, scalar: int32, value: size}
grid: ceil_div(size, block)
"""


@pytest.fixture
def folder(tmp_path):
    """The program's files."""
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "own.cuh").write_text(OWN)
    content = PROGRAM.encode().replace(b"// PTX", "// é".encode("latin-1"))  # of an old encoding
    (tmp_path / "program.cu").write_bytes(content)
    return tmp_path


@pytest.fixture
def kernel(folder):
    """A case of the program, by its function and its reference."""

    def make(function, reference="arange(size)", dtype="int32", **requested):
        text = YAML.replace("DTYPE", dtype) + f"function: '{function}'\nreference: {{out: {reference}}}\n"
        (folder / "mine.yaml").write_text(text)
        return case_of(read_kernel(folder / "mine.yaml"), **requested)

    return make


@pytest.mark.parametrize(
    ("function", "reference", "dtype"),
    [
        ("shapes::scaled<dtype, block, true>", "arange(size) * (2 * shift)", "dtype"),
        ("shapes::scaled<int, (x0 > 64 ? 32 : 64), false>", "arange(size) * shift", "int32"),
        ("hidden", "2 * arange(size)", "int32"),
        ("shifted", "arange(size) + 7", "int32"),
        ("halved", "arange(size) % 100", "int32"),
        ("twice(int*, int)", "2 * arange(size)", "int32"),
        ("twice(dtype*, int)", "2 * arange(size) + 1", "dtype"),
        ("by_class", "0 * arange(size) + 3", "int32"),
    ],
)
def test_a_function_of_a_whole_program_runs(bench, kernel, function, reference, dtype):
    """A template in a namespace, by parameters and macros; a static function; one that a macro makes.

    The program has a `main`, launches, a class and headers of the host, one of which is not there. The macros of the
    YAML are short or in lower case.
    """
    outcome = bench.run(kernel(function, reference, dtype), samples=1)
    assert (outcome.status, outcome.reason) == ("ok", "")


BOUND = """\
#include <author/extension.h>  // not here
#define COPY(to, from) asm volatile("cp.async [%0], [%1];" ::"r"(to), "l"(from))
#define BIND(name, kind, type, n)                 \\
    author::Tensor bound_##name(author::Tensor x) \\
    {                                             \\
        return x.as<type>(kind, n);               \\
    }
struct Pair { int a, b; };
__global__ void twofold(int* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const Pair pair = {i, i};
    if (i < n) out[i] = pair.a + pair.b;
}
__global__ void copies(int* out, int n) { COPY(out, out); }
BIND(f32, author::kFloat32, float, 1)
BIND(f16, author::kHalf, __half, 2)
BIND(i8, author::kInt8, int8_t, 16)

BIND_MODULE(EXTENSION_NAME, m) {
  m.def("bound_f32", &bound_f32);
}
"""


def test_macros_that_bind_functions_to_another_language_do_not_count(bench, kernel, folder):
    """They stand between the declarations without a semicolon, so that no parser divides the file; nor does PTX elsewhere."""
    (folder / "program.cu").write_text(BOUND)
    outcome = bench.run(kernel("twofold", "2 * arange(size)"), samples=1)
    assert (outcome.status, outcome.reason) == ("ok", "")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("hiden", "has no __global__ function 'hiden'; its kernels are shapes::scaled<typename T, int tile, bool twofold>, s"),
        ("scaled<int, 8, true>", "program.cu: has no __global__ function 'scaled<int, 8, true>'; its kernels are shapes::"),
        ("shapes::scaled", "'shapes::scaled' is a template; name its arguments, too: shapes::scaled<typename T, int tile,"),
        ("shapes::scaled<int>", "'shapes::scaled<int>' cannot be launched: "),
        ("twice", "which 'twice'? Name one by its parameters, too: twice(int*, int), twice(float*, int)"),
        ("twice(char*, int)", "which 'twice'? Name one by its parameters, too: "),
    ],
)  # fmt: skip
def test_a_function_that_is_not_there_lists_those_that_are(bench, kernel, function, message):
    """And says what a template or an overload lacks."""
    outcome = bench.run(kernel(function), samples=1)
    assert outcome.status in ("compile_error", "launch_error", "error")
    assert message in outcome.reason


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("wrong", "program.cu:LINE: a kernel cannot use 'index_of_host', which only the host has (nvcc refuses it)"),
        ("unknown", "'library_function' was not declared in this scope (the CPU device lacks <cublas_v2.h>, <library_of_the_author.h>; set gpu_only"),
        ("broken", "program.cu:LINE: "),
        ("allocates", "a kernel cannot call 'cudaMalloc', a function of the host (nvcc refuses it)"),
    ],
)  # fmt: skip
def test_an_error_names_the_authors_line_and_what_is_missing(bench, kernel, function, message):
    """The lines before it are not counted again, whatever was left out of them."""
    if bench.device.info.is_gpu:
        pytest.skip("these are the CPU device's words")
    case = kernel(function)
    line = next(n for n, text in enumerate(PROGRAM.splitlines(), 1) if f" {function}(" in text)
    with pytest.raises(CompileError) as caught:
        bench.compiler.compile(case.source())
    assert message.replace("LINE", str(line)) in str(caught.value)


@pytest.mark.skipif(importlib.util.find_spec("cuda") is None, reason="cuda.core is not installed (extra 'nvrtc')")
def test_nvrtc_gets_the_kernel_and_what_it_needs(kernel, folder):
    """It knows neither the host's headers nor its code. The symbol is that of the instance, whatever else is there."""
    compiler = CudaCompiler("sm_90", Nvrtc(), folder / "cache")
    made = {}
    for function in ("shapes::offset<double, block>", "hidden", "shifted"):
        source = kernel(function).source()
        binary = compiler.compile(source)
        made[function] = elf.kernel_symbol(binary.path.read_bytes(), source.function, 0)
        assert "there is no <algorithm>" in binary.log
    assert [name[:40] for name in made.values()][1:] == ["_Z6hiddenPii", "_Z7shiftedPii"]
    assert made["shapes::offset<double, block>"].endswith("6offsetIdLi64EEEvPT_i")
    with pytest.raises(
        CompileError, match=r"program\.cu: has no __global__ function 'hiden'; its kernels are shapes::"
    ):
        compiler.compile(kernel("hiden").source())


@pytest.mark.parametrize("function", ["a b", "a; b", "a<1", "a<(>", "a>", "<int>", "a::", "1a"])
def test_what_is_no_name_of_a_function_is_refused(kernel, function):
    """When the YAML is read."""
    with pytest.raises(UsageError, match=r"mine\.yaml: function: '.*' is not the name of a function such as reduce"):
        kernel(function)


def test_further_folders_have_what_a_source_includes(bench, folder):
    """In quotes or not, and a header there may include its neighbour. What is not needed of it is left out."""
    (folder / "common").mkdir()
    (folder / "common" / "shift.h").write_text("#include <host_library.h>\nint of_the_host();\n#define SHIFT 5\n")
    (folder / "common" / "index.h").write_text(
        '#include "shift.h"\n__device__ int at() { return threadIdx.x + SHIFT; }\n'
    )
    (folder / "deep.cu").write_text("#include <index.h>\n__global__ void deep(int* out, int n) { out[0] = at(); }\n")
    one = (
        YAML.replace("DTYPE", "int32")
        .replace("program.cu", "deep.cu")
        .replace("size: 1000, block: 64", "size: 1, block: 1")
    )
    one += "constraints: {size == 1: one thread}\nreference: {out: 5 + arange(size)}\n"
    (folder / "deep.yaml").write_text(f"include: common\n{one}")
    outcome = bench.run(case_of(read_kernel(folder / "deep.yaml")), samples=1)
    assert (outcome.status, outcome.reason) == ("ok", "")
    (folder / "deep.yaml").write_text(f"include: [common, nowhere]\n{one}")
    with pytest.raises(UsageError, match=r"deep\.yaml: include: there is no folder 'nowhere'"):
        read_kernel(folder / "deep.yaml")


def test_a_kernel_without_function_has_the_yamls_name(folder):
    """As before; a macro with a long capital name comes before the headers, any other one after them."""
    text = YAML.replace("DTYPE", "int32") + "reference: {out: 2 * arange(size)}\n"
    (folder / "hidden.yaml").write_text(text.replace("[shift,", "[{LONG: 1}, shift,"))
    source = case_of(read_kernel(folder / "hidden.yaml")).source()
    assert isinstance(source, Source)
    assert source.function == "hidden"
    defined = source.defines(["vector"]).splitlines()
    assert defined.index("#define LONG 1") < defined.index("#include <vector>") < defined.index("#define n0 4")
    assert Path(source.path).name == "program.cu"
