"""Compiling: the cache, and messages at the kernel's own lines."""

import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from conformance_launches import KERNELS

from runner.device import Value
from runner.device.cache import seal
from runner.device.cpu.build import CpuCompiler
from runner.errors import CompileError, Hazard, LaunchError

GOOD = 'extern "C" __global__ void kernel(int *o) { o[threadIdx.x] = 1; }\n'


def error_of(bench, source):
    """The error with which a source does not compile."""
    with pytest.raises(CompileError) as caught:
        bench.compiler.compile(source)
    return caught.value


LACKS = {
    "layered, cubemap and mipmapped textures": ("", "tex2DLayered<float>(cudaTextureObject_t(0), 1.0f, 2.0f, 1);"),
    "layered and cubemap surfaces": ("", "surf2DLayeredwrite(1.0f, cudaSurfaceObject_t(0), 4, 2, 1);"),
    "clusters of blocks": ("", "__cluster_barrier_arrive();"),
    "this part of cuRAND": ("#include <curand_kernel.h>", "curandState s; curand_poisson(&s, 3.0);"),
    "cub::BlockMergeSort": ("#include <cub/cub.cuh>", "using Sort = cub::BlockMergeSort<int, 32, 4, int>;"),
    "cub::DeviceReduce": ("#include <cub/cub.cuh>", "cub::DeviceReduce::Sum(out);"),
    "wmma's int4 and single bits": ("#include <mma.h>", "using S = nvcuda::wmma::experimental::precision::s4;"),
}
# The fourth line of a kernel of integers or of what else is named, and what stands in the message or its log.
REFUSED = {
    "an unknown name": ("int", "o[0] = undefined_name;", ["own.cu:4: ", "undefined_name"]),
    "one in an included file": ("int", "f();", ["part.cuh:3: "]),
    "a shuffle that was removed": ("int", "o[0] = __shfl_down(o[1], 1);", ["own.cu:4: (use of|call to) deleted function"]),
    "a shuffle of too large a type": ("float4", "o[0] = __shfl_down_sync(~0u, o[1], 1);", ["a warp shuffle takes types of up to 8 bytes", "own.cu:4:"]),
    "an atomic of a short": ("short", "atomicAdd(o, 1);", ["atomicAdd takes int, unsigned, unsigned long long, float or double"]),
    "an atomic of 64 bits": ("unsigned long long", "atomicSub(o, 1);", ["atomicSub takes int or unsigned"]),
    "an atomic of a signed number": ("int", "atomicInc(o, 1);", ["atomicInc takes unsigned"]),
    "inline PTX": ("int", 'asm volatile("trap;");', ["own.cu:4: ", "inline PTX 'trap;' cannot run on the CPU device"]),
    "a function without a body": ("int", "*o = elsewhere(1);", [r"'elsewhere\(int\)' is declared, but defined nowhere"]),
    **{
        f"no {what}": ("int", statement, ["own.cu:4: ", re.escape(f"(the CPU device lacks {what}; set gpu_only: REASON in the kernel's YAML")])
        for what, (_, statement) in LACKS.items()
    },
}  # fmt: skip
PART = "__device__ int elsewhere(int);\n__device__ inline void f() {\nFAULT }\n"


@pytest.mark.parametrize("what", REFUSED)
def test_what_does_not_compile_is_told_at_its_own_line(bench, tmp_path, what):
    """What nvcc refuses is refused here, and what the CPU device lacks has its name and what to do."""
    kind, statement, expected = REFUSED[what]
    header, _ = LACKS.get(what.removeprefix("no "), ("", ""))
    part = PART.replace("FAULT", "extern __shared__ int s[]; s[0] = nope;" if "included" in what else "")
    (tmp_path / "part.cuh").write_text(part)
    text = f'#include "part.cuh"\n{header}\nextern "C" __global__ void kernel({kind} *o) {{\n  int *out = (int *)o; (void)out; {statement}\n}}\n'
    error = error_of(bench, bench.text(tmp_path, text, macros=(("BLOCK", "1"), ("WIDTH", "2"))))
    for words in expected:
        assert re.search(words, f"{error}\n{error.log}"), error.log
    assert str(tmp_path) in str(error)


def test_inline_ptx_that_is_not_compiled_does_no_harm(bench, tmp_path):
    """Under an #ifdef of another device."""
    skipped = '#ifndef __CUDA_SIMT_HOST__\n__device__ void f() { asm(""); }\n#endif\n' + GOOD
    bench.compiler.compile(bench.text(tmp_path, skipped))


def test_missing_function_and_constant(bench, tmp_path):
    """A kernel that lacks what the experiment names."""
    error = error_of(bench, bench.text(tmp_path, GOOD, "nonesuch"))
    assert str(error) == (f"{tmp_path}/own.cu: has no __global__ function 'nonesuch'; its kernels are kernel")
    error = error_of(bench, bench.text(tmp_path, GOOD, constants=("table",)))
    assert str(error) == f"{tmp_path}/own.cu: has no __constant__ or __device__ variable 'table'"


def test_warnings_are_kept(bench, tmp_path):
    """A warning is in the log of the binary, also when it comes from the cache."""
    text = '#warning "look at this"\n' + GOOD
    first, second = (bench.compiler.compile(bench.text(tmp_path, text)) for _ in range(2))
    assert "look at this" in first.log
    assert (second.cached, second.log) == (True, first.log)


def test_cache(bench, tmp_path):
    """The same source is compiled once; another macro, text or included file makes another binary."""
    (tmp_path / "outer.cuh").write_text('#include "inner.cuh"\n')
    (tmp_path / "inner.cuh").write_text("#define INNER 1\n")
    text = '#include "outer.cuh"\nextern "C" __global__ void kernel(int *o) { *o = INNER + BLOCK; }\n'

    def build(block="1", extra=""):
        return bench.compiler.compile(bench.text(tmp_path, text + extra, macros=(("BLOCK", block),)))

    first, again = build(), build()
    assert (first.cached, again.cached) == (False, True)
    assert first.path == again.path
    assert first.digest == again.digest
    assert not build(block="2").cached
    assert not build(extra="// more\n").cached
    (tmp_path / "inner.cuh").write_text("#define INNER 2\n")
    changed = build()
    assert not changed.cached
    assert changed.path != first.path


def test_included_file_that_hides_another(bench, tmp_path):
    """A file beside the including file hides one beside the kernel, and makes another binary."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "outer.cuh").write_text('#include "value.cuh"\n')
    (tmp_path / "value.cuh").write_text("#define VALUE 2\n")
    text = '#include "a/outer.cuh"\nextern "C" __global__ void kernel(int *o) { *o = VALUE; }\n'
    source = bench.text(tmp_path, text)
    bench.compiler.compile(source)
    (tmp_path / "a" / "value.cuh").write_text("#define VALUE 1\n")
    out = bench.place(np.zeros(1, np.int32))
    bench.launch(bench.load(source), out, block=1)
    assert out.read()[0] == 1


def test_a_kernel_that_was_moved_is_the_same_machine_code(bench, tmp_path):
    """The same source in another folder, with a longer name, gives the same bytes, though it asserts where it is."""
    text = "#include <cassert>\n" + GOOD.replace("o[threadIdx.x] = 1;", "assert(o); __syncthreads();")
    digests = set()
    for name in ("one", "another-folder"):
        (tmp_path / name).mkdir()
        digests.add(bench.compiler.compile(bench.text(tmp_path / name, text)).digest)
    assert len(digests) == 1


def fake_compiler(path, version):
    """A compiler that is quick: its output, which is named last, is its version."""
    path.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && echo "{version}" && exit\nfor out; do :; done\necho {version} >"$out"\n'
    )
    path.chmod(0o755)
    return str(path)


def test_another_compiler_makes_another_binary(bench, tmp_path):
    """The compiler's path and its version are in the key."""
    source = bench.text(tmp_path, GOOD)
    one, other = (CpuCompiler(tmp_path, fake_compiler(tmp_path / name, "1.0")).compile(source) for name in ("a", "b"))
    newer = CpuCompiler(tmp_path, fake_compiler(tmp_path / "a", "1.1, rather newer")).compile(source)
    assert [one.cached, other.cached, newer.cached] == [False] * 3
    assert len({one.path, other.path, newer.path}) == 3


def test_two_processes_at_once(tmp_path):
    """Writers that start with an empty cache at the same moment both get a whole binary, though it is written bit by bit."""
    (tmp_path / "own.cu").write_text(GOOD)
    compiler = tmp_path / "slow"
    lines = ('[ "$1" = --version ] && echo slow && exit', "for out; do :; done")
    writing = ('printf half >"$out"', "sleep 0.1", 'printf " and half" >>"$out"')
    compiler.write_text("\n".join(("#!/bin/sh", *lines, *writing, "")))
    compiler.chmod(0o755)
    program = (
        "import sys, pathlib, hashlib\n"
        "from runner.device import Source\n"
        "from runner.device.cpu.build import CpuCompiler\n"
        "path, cxx = pathlib.Path(sys.argv[1]), sys.argv[2]\n"
        "made = CpuCompiler(path.parent / 'cache', cxx).compile(Source(path, path.read_text(), 'kernel'))\n"
        "content = made.path.read_bytes()\n"
        "print(content == b'half and half', hashlib.sha256(content).hexdigest() == made.digest)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "own.cu"), str(compiler)]
    environment = {**os.environ, "PYTHONPATH": str(KERNELS.parents[2])}
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(2)]
    assert [process.communicate()[0].strip() for process in running] == ["True True"] * 2
    left = [path.name for path in (tmp_path / "cache").iterdir() if path.name.startswith(".")]
    assert left == []


@pytest.mark.nvcc
@pytest.mark.parametrize("arch", [75, 80])
def test_the_kernels_of_these_tests_are_cuda(arch, tmp_path):
    """NVIDIA's compiler accepts the same files: nothing here runs that a GPU would not. half*.cu has its own test."""
    files = [*KERNELS.glob("[!h]*.cu"), KERNELS / "hazards.cu"]
    of_arch = [f for f in files if (f.name == "reductions.cu") == (arch == 80)]  # __reduce_*_sync came with sm_80
    (tmp_path / "all.cu").write_text("".join(f'#include "{path}"\n' for path in of_arch))
    command = ["nvcc", "-ptx", f"-arch=sm_{arch}", "-o", str(tmp_path / "out.ptx"), str(tmp_path / "all.cu")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("flags", [("-DSIMT_PORTABLE_SWITCH", "-O0"), ("-O3", "-march=native")], ids=" ".join)
def test_other_ways_to_build(bench, flags):
    """The portable switch of stacks without optimisation, and all of this machine's registers give the same results."""
    compiler = CpuCompiler(host_flags=flags)
    for kernel, file, expected in (
        ("splitSites", "conformance.cu", [(lane ^ 1) * 10 for lane in range(32)]),
        ("barrierCounts", "conformance.cu", [86 * 10000 + 1010] * 256),
        ("fine", "hazards.cu", [lane ^ 1 for lane in range(1024)]),
    ):
        source = bench.source(file, kernel)
        program = bench.device.load(source, compiler.compile(source))
        out = bench.place(np.zeros(len(expected), np.int32))
        for _ in range(2):
            bench.launch(program, out, block=len(expected), grid=20)
        assert list(out.read()) == expected


needs_clang = pytest.mark.skipif(shutil.which("clang++") is None, reason="clang++ is not installed")


@needs_clang
def test_clang(cache, bench, tmp_path):
    """The other usual compiler: same results, and the host's functions refused at the kernel's line."""
    source = bench.source("conformance.cu", "splitSites")
    clang = CpuCompiler(cache, cxx="clang++")
    program = bench.device.load(source, clang.compile(source))
    out = bench.place(np.zeros(32, np.int32))
    bench.launch(program, out)
    assert list(out.read()) == [(lane ^ 1) * 10 for lane in range(32)]
    with pytest.raises(CompileError, match=r"own\.cu:1: a function of the host, which a kernel cannot call"):
        clang.compile(bench.text(tmp_path, GOOD.replace("o[threadIdx.x] = 1", "abort()")))


@pytest.mark.parametrize("cxx", ["c++", pytest.param("clang++", marks=needs_clang)])
def test_a_precompiled_header_that_does_not_fit_does_no_harm(cxx, cache, bench, tmp_path):
    """A compiler that refuses it gets the headers as text."""
    compiler = CpuCompiler(cache, cxx=cxx)
    compiler.compile(bench.text(tmp_path, GOOD))
    (tmp_path / "cache").mkdir()
    for path in cache.glob("*"):
        if path.name.startswith(("libsimt-", "shim-")):
            shutil.copy(path, tmp_path / "cache")
    for header in (tmp_path / "cache").glob("*.gch"):
        header.write_bytes(b"of another compiler")
        seal(header)
    binary = CpuCompiler(tmp_path / "cache", cxx=cxx).compile(bench.text(tmp_path, GOOD + "// again\n"))
    assert not binary.cached


def test_a_kernel_may_need_the_standard_library(bench, tmp_path):
    """Most kernels are linked without it, which is quicker."""
    kinds = "struct Kind { __device__ virtual int five() { return 5; } };\n"
    text = kinds + GOOD.replace("o[threadIdx.x] = 1;", "Kind* volatile kind = new Kind; o[threadIdx.x] = kind->five();")
    out = bench.place(np.zeros(32, np.int32))
    bench.launch(bench.load(bench.text(tmp_path, text)), out)
    assert list(out.read()) == [5] * 32


LARGE = {
    "static shared memory": (
        "__shared__ int s[%d]; s[threadIdx.x] = 1; __syncthreads(); o[threadIdx.x] = s[threadIdx.x ^ 1];", "",
        12288, r"own\.cu: its static __shared__ variables have 49,156 bytes; nvcc allows 49,152",
    ),
    "two arrays of constants": (
        "o[threadIdx.x] = c[o[0]] + d[o[0]];", "__constant__ int c[16] = {1};\n__constant__ int d[%d] = {1};\n",
        16368, r"own\.cu: its __constant__ variables have 65,540 bytes; nvcc allows 65,536",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", LARGE)
def test_variables_larger_than_nvcc_allows_are_a_compile_error(what, bench, tmp_path):
    """One element less is allowed. Dynamic shared memory has no such limit."""
    body, head, most, message = LARGE[what]

    def source(count):
        filled = [text % count if "%" in text else text for text in (head, body)]
        return bench.text(tmp_path, f'{filled[0]}extern "C" __global__ void kernel(int *o) {{ {filled[1]} }}\n')

    bench.load(source(most))
    with pytest.raises(CompileError, match=message):
        bench.load(source(most + 1))


TOLD = {
    "a name of the C library": (
        "__global__ void index(const float* x, int n) {}", "index",
        "'index' is the name of a host function, too; write function: \"index(const float*, int)\" in the YAML",
    ),
    "a kernel with a result": ("__global__ int kernel(int* o) { return 1; }", "kernel", "'kernel' must return void"),
}  # fmt: skip


@pytest.mark.parametrize("what", TOLD)
def test_a_kernel_that_cannot_be_named_is_told_how(what, bench, tmp_path):
    """In the words of CUDA, not of the compiler."""
    text, function, words = TOLD[what]
    with pytest.raises(CompileError, match=re.escape(words)):
        bench.load(bench.text(tmp_path, f"{text}\n", function))


def test_a_grid_is_a_multiple_of_its_clusters(bench, tmp_path):
    """As for a GPU's launch; 4 blocks are two clusters."""
    text = "__global__ void __cluster_dims__(2, 1, 1) kernel(int* o) { o[blockIdx.x] = 1; }\n"
    program = bench.load(bench.text(tmp_path, text))
    out = bench.place(np.zeros(4, np.int32))
    bench.launch(program, out, grid=4)
    assert out.read().sum() == 4
    with pytest.raises(LaunchError, match=r"grid \(3, 1, 1\) is not a multiple of the clusters \(2, 1, 1\)"):
        bench.launch(program, out, grid=3)


BOUNDED = {
    "a number and the blocks": ("", "__launch_bounds__(64, 2) ", "kernel"),
    "two lines of a comment": ("", "__launch_bounds__(32 // a warp\n * 2) ", "kernel"),
    "a template's parameter": ("template <int B>\n", "__launch_bounds__(B > 32 ? B : 32) ", "kernel<64>"),
    "a constant": ("constexpr int most = 64;\n", "__launch_bounds__(most) ", "kernel"),
}  # fmt: skip


@pytest.mark.parametrize("what", BOUNDED)
def test_a_block_larger_than_launch_bounds_allow_is_refused(what, bench, tmp_path):
    """As by a GPU; with the line of the bounds."""
    before, bounds, function = BOUNDED[what]
    text = f"{before}__global__ void {bounds}kernel(int* o) {{ o[threadIdx.x] = 1; }}\n"
    program = bench.load(bench.text(tmp_path, text, function))
    out = bench.place(np.zeros(96, np.int32))
    bench.launch(program, out, block=(8, 8, 1))
    line = 1 + before.count("\n")
    words = rf"own\.cu:{line}: a block of 96 threads, but the kernel's blocks have at most 64: its __launch_bounds__"
    with pytest.raises(LaunchError, match=words) as caught:
        bench.launch(program, out, block=96)
    assert not isinstance(caught.value, Hazard)


def test_launch_bounds_that_an_if_chooses_are_left_to_the_gpu(bench, tmp_path):
    """Which of them count is known to the compiler alone."""
    text = "#if 1\n__launch_bounds__(64)\n#else\n__launch_bounds__(32)\n#endif\n"
    program = bench.load(bench.text(tmp_path, f"__global__ void\n{text}kernel(int* o) {{ o[threadIdx.x] = 1; }}\n"))
    out = bench.place(np.zeros(64, np.int32))
    bench.launch(program, out, block=64)
    assert out.read().sum() == 64


def test_arguments_larger_than_a_gpu_takes_are_an_error(bench, tmp_path):
    """A structure by value counts with all its bytes."""
    text = "struct Many { char bytes[%d]; };\n__global__ void kernel(Many many, int* o) { o[0] = many.bytes[0]; }\n"
    for count in (32756, 32760):
        program = bench.load(bench.text(tmp_path, text % count))
        out = bench.place(np.zeros(1, np.int32))
        many = Value(np.ones(count, np.int8).tobytes(), 1, "Many")
        if count == 32756:
            bench.launch(program, many, out)
            assert out.read()[0] == 1
            continue
        with pytest.raises(LaunchError, match="the arguments have 32,768 bytes, 32,764 are allowed"):
            bench.launch(program, many, out)
