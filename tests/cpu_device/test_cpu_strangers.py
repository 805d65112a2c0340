"""Kernels that others wrote: a right one is not refused, and a wrong one does not pass."""

import numpy as np
import pytest

from runner.device.cpu.translate import MARK, blank_comments_and_literals, mark_host_only
from runner.errors import CompileError, Hazard

FILE = "strangers.cu"
N = 64


@pytest.fixture
def out(bench):
    """An output of 64 integers, all 0."""
    return bench.place(np.zeros(N, np.int32))


def test_a_static_shared_array_of_floats_can_be_read_by_float4(bench):
    """Whatever lies before it: shared arrays are aligned to 16 bytes, as on a GPU."""
    out = bench.place(np.zeros(N, np.float32))
    bench.launch(bench.load(bench.source(FILE, "floatsAsVectors")), out, block=N)
    assert (out.read() == np.arange(N)).all()


def test_dynamic_shared_memory_can_be_declared_at_file_scope(bench):
    """For every block, on every OS thread, of every size, in a namespace, too."""
    program = bench.load(bench.source(FILE, "dynamicAtFileScope"))
    assert program.resources.shared_bytes == 0
    out = bench.place(np.zeros(8 * N, np.int32))
    for shared in (4 * N, 4 * N + 4096):
        bench.launch(program, out, grid=8, block=N, shared=shared)
        assert (out.read() == np.tile(np.arange(N)[::-1] + 1, 8)).all()


def test_dynamic_shared_memory_in_rows_and_under_several_names(bench, out):
    """Each name is the same memory."""
    bench.launch(bench.load(bench.source(FILE, "dynamicWithRows")), out, block=N, shared=4 * N)
    assert (out.read() == np.arange(N).reshape(8, 8).T.ravel()).all()
    bench.launch(bench.load(bench.source(FILE, "dynamicTwice")), out, block=N, shared=4 * N)
    assert (out.read() == 2).all()


@pytest.mark.parametrize(
    ("kernel", "shift", "expected"),
    [
        (
            "overrunsShared",
            1,
            r"strangers\.cu:<line>: .* shared variable 'first': byte 256 of 256 \(found at this barr",
        ),
        ("overrunsShared", 60, r"strangers\.cu:<line>: .* shared variable '(first|second)': byte -?\d+ of 256 "),
        (
            "overrunsAtTheEnd",
            1,
            r"out-of-bounds write of the shared variable 'only': byte -4 of 256 \(found at the end",
        ),
        ("overrunsAtTheEnd", -1, r".* shared variable 'only': byte 256 of 256 .*; block \(0,0,0\)"),
    ],
)
def test_a_write_beside_a_shared_array_is_a_hazard(bench, lines, out, kernel, shift, expected):
    """The next barrier, or the end of the block, names the array and the byte. The right kernel passes.

    A pointer to dynamic shared memory that is declared at file scope lies there, too.
    """
    program = bench.load(bench.source(FILE, kernel))
    bench.launch(program, out, np.int32(0), block=N, shared=4 * N)
    with pytest.raises(Hazard, match="^" + expected.replace("<line>", str(lines(FILE, "overrunsShared")))):
        bench.launch(program, out, np.int32(shift), block=N, shared=4 * N)


HOST_ONLY = """
#include <algorithm>
#include <limits>
#include <type_traits>
constexpr int LIMIT = std::max(3, 4);  // on the host, before a kernel runs
int onTheHost(int a) { return std::min(a, rand()); }
template <class T>
__device__ T random(T x) { return x * T(0.5); }  // its own, not the host's
// std::min in a comment, "std::sort" in a literal
__global__ void kernel(float* o, int n) {
#ifdef NEVER
    std::sort(o, o + n);
#endif
    static_assert(std::is_same<std::remove_const<const int>::type, int>::value, "traits");
    const float x = std::sqrt(std::abs(o[0])) + std::move(o[1]) + random(o[2]) + LIMIT;
    o[0] = x; HERE
}
"""


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("o[1] = std::min(n, 3);", "min"),
        ("o[1] = std::numeric_limits<float>::max();", "max"),
        ("std::sort(o, o + n);", "sort"),
        ("std::vector<int> v(n);", "vector"),
        ("o[1] = rand();", "rand"),
        ('o[1] = ::strlen("abc");', "strlen"),
    ],
)
def test_what_only_the_host_has_is_marked(call, name):
    """As nvcc refuses it, even where it could be computed by the compiler; code of the host and other names stay."""
    text = HOST_ONLY.replace("HERE", call)
    place = text.rindex(name, 0, text.rindex(call) + len(call))
    unseen = "std::sort(o, o + n);\n#endif"  # the preprocessor drops it
    expected = f"{text[:place]}{MARK}{text[place:]}".replace(unseen, unseen.replace("sort", f"{MARK}sort"))
    assert mark_host_only(text, blank_comments_and_literals(text)) == expected


def test_a_function_of_the_host_is_refused_at_its_line(bench, tmp_path):
    """The message says why, and does not show the mark."""
    source = bench.text(tmp_path, HOST_ONLY.replace("HERE", "o[1] = std::min(n, 3);"))
    with pytest.raises(CompileError, match=r"own\.cu:16: a kernel cannot call 'min', a function of the host") as caught:
        bench.compiler.compile(source)
    assert MARK not in caught.value.log


def test_what_the_device_has_too_is_taken(bench, tmp_path):
    """Traits, std::move, mathematical functions, the heap, and names of its own; the host's own functions may stay."""
    taken = 'int* p = (int*)malloc(4 * n); p[0] = 4; o[1] = p[0] + printf(""); free(p); auto rand = [] { return 1; };'
    program = bench.load(bench.text(tmp_path, HOST_ONLY.replace("HERE", taken + " o[2] = rand();")))
    out = bench.place(np.array([-4, 1, 2], np.float32))
    bench.launch(program, out, np.int32(3), block=1)
    assert out.read().tolist() == [8, 4, 1]


@pytest.mark.parametrize("text", ["#define KERNEL __global__ void\nint f() { return std::min(1, 2); }",
                                  "__host__ __device__ int f() { return std::min(1, 2); }",
                                  "__device__ int g(); int f() { return std::min(1, 2); }",
                                  "__global__ void f(int* o) { *o = cuda::std::min(1, 2) + o->rand(); }"])  # fmt: skip
def test_code_of_the_host_is_left_alone(text):
    """Functions for both sides, too: nvcc only warns of those."""
    assert mark_host_only(text, blank_comments_and_literals(text)) == text


def test_a_reset_brings_back_variables_and_leaves_the_shim_alone(bench, tmp_path):
    """Also those of a function; shared memory at file scope is there in the next launch, too."""
    text = """extern __shared__ int all[];
    __device__ int counted = 7;
    __global__ void kernel(int* o) {
        static __device__ int own;
        all[threadIdx.x] = threadIdx.x;
        __syncthreads();
        if (threadIdx.x == 0) { o[0] = ++counted; o[1] = ++own; o[2] = all[63]; }
    }"""
    program, out = bench.load(bench.text(tmp_path, text)), bench.place(np.zeros(3, np.int32))
    for reset, expected in ((True, [8, 1, 63]), (False, [9, 2, 63]), (True, [8, 1, 63])):
        if reset:
            program.reset()
        bench.launch(program, out, block=N, shared=4 * N)
        assert list(out.read()) == expected
