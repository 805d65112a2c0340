"""Kernels that others wrote: a right one is not refused, and a wrong one does not pass."""

import numpy as np
import pytest
from conformance_launches import KERNELS

from runner.device.cpu.host_only import MARK, mark_host_only
from runner.device.cpu.translate import blank_comments_and_literals, rewrite_dynamic_shared
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


@pytest.mark.parametrize("kernel", ["dynamicAsReferences", "dynamicAsReferencesAtFileScope", "dynamicInALambda"])
def test_a_cast_of_a_dynamic_shared_array_means_the_array(bench, out, kernel):
    """To a reference, in a template, too, and of its address: not the pointer that may stand for it here."""
    bench.launch(bench.load(bench.source(FILE, kernel)), out, block=N, shared=8 * N)
    assert (out.read() == 4).all()


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


HOST_ONLY = (KERNELS / "misuse" / "host_only.cu").read_text()


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


RELAXED = """
#include <algorithm>
#include <limits>
__global__ void kernel(float* o, int n)
{
    o[0] = std::numeric_limits<float>::infinity();
    o[1] = std::max(n, 4) + std::numeric_limits<int>::min();
}
"""


def test_constexpr_functions_of_the_host_need_the_option(bench, tmp_path):
    """As for nvcc; the message names the option. With it a kernel may call them, but no other function of the host."""
    with pytest.raises(CompileError, match="nvcc refuses it without compile_options=--expt-relaxed-constexpr"):
        bench.compiler.compile(bench.text(tmp_path, RELAXED))
    options = ("--expt-relaxed-constexpr",)
    out = bench.place(np.zeros(2, np.float32))
    bench.launch(bench.load(bench.text(tmp_path, RELAXED, options=options)), out, np.int32(3), block=1)
    assert out.read().tolist() == [np.inf, np.float32(4 - 2**31)]
    with pytest.raises(CompileError, match=r"'sort', a function of the host \(nvcc refuses it\)"):
        bench.compiler.compile(
            bench.text(tmp_path, RELAXED.replace("o[0] =", "std::sort(o, o + n); o[0] ="), options=options)
        )


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


def test_a_reset_brings_back_variables_and_leaves_the_shim_alone(bench):
    """Also those of a function; shared memory at file scope is there in the next launch, too."""
    program, out = bench.load(bench.source("misuse/counted.cu", "kernel")), bench.place(np.zeros(3, np.int32))
    for reset, expected in ((True, [8, 1, 63]), (False, [9, 2, 63]), (True, [8, 1, 63])):
        if reset:
            program.reset()
        bench.launch(program, out, block=N, shared=4 * N)
        assert list(out.read()) == expected


REWRITTEN = {
    "extern __shared__ int s[];": "int (&s)[] = ::simt::dynamic_array<int>();",
    "extern __shared__ float4 tile[];": "float4 (&tile)[] = ::simt::dynamic_array<float4>();",
    "extern __shared__ unsigned char raw[];": "unsigned char (&raw)[] = ::simt::dynamic_array<unsigned char>();",
    "extern  __shared__  T  s [ ] ;": "T (&s)[] = ::simt::dynamic_array<T>();",
    "extern __shared__ Pair<int, float> s[];": "Pair<int, float> (&s)[] = ::simt::dynamic_array<Pair<int, float>>();",
    "extern __shared__ volatile int s[];": "volatile int (&s)[] = ::simt::dynamic_array<volatile int>();",
    "extern volatile __shared__ int s[];": "volatile int (&s)[] = ::simt::dynamic_array<volatile int>();",
    "extern __shared__ __align__(16) char s[];": "char (&s)[] = ::simt::dynamic_array<char>();",
    "extern __align__(16) __shared__ char s[];": "char (&s)[] = ::simt::dynamic_array<char>();",
    "extern __shared__ char __align__(16) s[];": "char (&s)[] = ::simt::dynamic_array<char>();",
    "extern __shared__ alignas(16) char s[];": "char (&s)[] = ::simt::dynamic_array<char>();",
    "__shared__ extern int s[];": "int (&s)[] = ::simt::dynamic_array<int>();",
    "extern int __shared__ s[];": "int (&s)[] = ::simt::dynamic_array<int>();",
    "extern __shared__ __align__(sizeof(T)) T s[];": "T (&s)[] = ::simt::dynamic_array<T>();",
    "extern __shared__ __attribute__((aligned(16))) T s[];": "T (&s)[] = ::simt::dynamic_array<T>();",
    "extern __shared__ int s[] __attribute__((aligned(16)));": "int (&s)[] = ::simt::dynamic_array<int>();",
    "extern __shared__ int *s[];": "int* (&s)[] = ::simt::dynamic_array<int*>();",
    "extern __shared__ int s[][N + 1];": "int (&s)[][N+1] = ::simt::dynamic_array<int[N+1]>();",
    "extern __shared__ int s[4][N];": "int (&s)[4][N] = *::simt::dynamic_shared<int[4][N]>();",
    "extern __shared__ int s[], t[];": (
        "int (&s)[] = ::simt::dynamic_array<int>(); int (&t)[] = ::simt::dynamic_array<int>();"
    ),
}
LEFT_ALONE = (
    "__shared__ int s[32];",
    "extern int s[];",
    "// extern __shared__ int s[];",
    "/* extern __shared__ int s[]; */",
    'printf("extern __shared__ int s[];");',
)


@pytest.mark.parametrize("text", REWRITTEN, ids=range(len(REWRITTEN)))
def test_dynamic_shared_becomes_a_reference(text):
    """In each form that CUDA accepts."""
    assert rewrite_dynamic_shared(f"void f() {{ {text} // here\n}}") == f"void f() {{ {REWRITTEN[text]} // here\n}}"


@pytest.mark.parametrize("around", ["", "namespace a::b { ", 'extern "C" {\n', "void f() { g({1}); }\n"])
def test_at_file_scope_the_pointer_waits_for_a_block(around):
    """In no function there is no value yet; a macro is expanded in functions."""
    text = "extern __shared__ int s[];"
    assert "static thread_local int *s; " in rewrite_dynamic_shared(around + text)
    assert "thread_local" not in rewrite_dynamic_shared(f"{around}\n#define X \\\n {text}")


@pytest.mark.parametrize("text", LEFT_ALONE, ids=range(len(LEFT_ALONE)))
def test_other_text_stays_as_it_is(text):
    """Other declarations, comments and literals."""
    assert rewrite_dynamic_shared(text) == text


CHILD = "__global__ void child(int* o) { o[0] = 1; }\n"
GROUPS = "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"
LACKING = {
    "a launch": (f"{CHILD}__global__ void kernel(int* o) {{\n    child<<<1, 1>>>(o); }}", 3, "launches from a kernel"),
    "a launch on a stream": (
        f"{CHILD}__global__ void kernel(int* o) {{ cudaStream_t s;\n    cudaStreamCreateWithFlags(&s, 1); }}",
        3,
        "launches from a kernel",
    ),
    "a cluster by its type": (
        f"{GROUPS}__global__ void kernel(int* o) {{ cg::cluster_group c = cg::this_cluster(); }}",
        3,
        "clusters of blocks",
    ),
    "a cluster by auto": (
        f"{GROUPS}__global__ void kernel(int* o) {{ auto c = cg::this_cluster(); c.sync(); }}",
        3,
        "clusters of blocks",
    ),
}


@pytest.mark.parametrize("what", LACKING)
def test_what_the_cpu_device_lacks_is_named(bench, tmp_path, what):
    """Launches from a kernel and clusters give a sentence that points to `gpu_only`, at their line."""
    text, line, feature = LACKING[what]
    with pytest.raises(CompileError, match=rf"own\.cu:{line}: .*the CPU device lacks {feature}; set gpu_only"):
        bench.compiler.compile(bench.text(tmp_path, text))


def test_the_version_of_the_toolkit_is_known(bench, out, tmp_path):
    """A file may test it, as many do to choose an include or a function."""
    text = """
        #if !defined(CUDART_VERSION) || CUDA_VERSION < 11000 || __CUDACC_VER_MAJOR__ * 10 + __CUDACC_VER_MINOR__ < 110
        #error no version
        #endif
        __global__ void kernel(int* o) { o[threadIdx.x] = CUDART_VERSION == CUDA_VERSION; }"""
    bench.launch(bench.load(bench.text(tmp_path, text)), out, block=N)
    assert (out.read() == 1).all()
