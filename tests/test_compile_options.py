"""`compile_options`: options of a GPU's compiler as a parameter of any kernel."""

import dataclasses
import importlib.util

import pytest
from outcomes import rows
from support import ROOT, case_of, read_kernel, shipped

from runner.device import Source, options
from runner.device.cuda.compiler import CudaCompiler, Nvcc, Nvrtc
from runner.errors import CompileError, UsageError

COMPILERS = [
    pytest.param("nvcc", marks=[pytest.mark.nvcc, pytest.mark.gpu]),  # PyCUDA cannot be loaded without a driver
    pytest.param("nvrtc", marks=pytest.mark.skipif(not importlib.util.find_spec("cuda"), reason="no cuda.core")),
]
OWN = ROOT / "tests" / "kernels" / "own"


def test_options_have_one_form_however_they_are_written():
    """A dash or two, a space or `=` before a value, a text or a list: the same case."""
    kernel = shipped("reduceShfl")
    written = [
        "-maxrregcount 32 -Xptxas -dlcm=cg,-O2",
        ["--maxrregcount=32", "--ptxas-options=-dlcm=cg", "-Xptxas=-O2"],
    ]
    cases = [case_of(kernel, compile_options=each) for each in written]
    assert cases[0].id == cases[1].id
    assert cases[0].options == cases[1].options == ("--maxrregcount=32", "-Xptxas=-dlcm=cg", "-Xptxas=-O2")
    for wrong in ("", "fast", "-", "-o /etc/passwd`", "--x " * (options.MAX_OPTIONS + 1), {"a": 1}):
        with pytest.raises(UsageError, match="compile_options="):
            case_of(kernel, compile_options=wrong)


@pytest.mark.parametrize("name", COMPILERS)
def test_options_reach_the_compiler(name, tmp_path):
    """Each option makes another binary, `none` makes the one without a parameter, and a wrong one is one sentence."""
    kernel = read_kernel(OWN / "kernel" / "exponential.yaml")
    compiler = CudaCompiler("sm_90", Nvcc(()) if name == "nvcc" else Nvrtc(), tmp_path / "cache")

    def digest(given: object) -> str:
        return compiler.compile(case_of(kernel, compile_options=given).source()).digest

    plain = compiler.compile(dataclasses.replace(case_of(kernel).source(), options=()))
    assert digest("none") == plain.digest
    each = [
        "--use_fast_math",
        "-ftz=true",
        "-Xptxas -dlcm=cv",
        "-Xptxas -O0",
        "-fmad=false -maxrregcount=16 --restrict",
    ]
    assert len({plain.digest, *map(digest, each)}) == 1 + len(each)
    wrong = {
        "--use_fast_maths": "did you mean --use_fast_math",
        "-maxrregcount": "takes a value",
        "-maxrregcount=many": "number|integer",
        "-Xptxas -dlcm=xx": "specified: xx",
        "-Xptxas -o=there": "an option of ptxas",
        "-DBLOCK=2": "macros are declared",
        "-arch=sm_50": "the GPU decides",
        "-ccbin=/bin/sh": "is not one of",
    }
    for given, words in wrong.items():
        with pytest.raises(CompileError, match=words) as found:
            digest(given)
        assert given.split("=")[0].split()[0] in str(found.value)
        assert "\n" not in str(found.value)


PYTORCH = (
    "--expt-relaxed-constexpr --expt-extended-lambda --use_fast_math -U__CUDA_NO_HALF_OPERATORS__ "
    "-U__CUDA_NO_HALF_CONVERSIONS__ -U__CUDA_NO_BFLOAT16_CONVERSIONS__"
)


@pytest.mark.parametrize("name", COMPILERS)
def test_the_options_of_pytorchs_builder_are_taken(name, tmp_path):
    """A kernel that calls a constexpr function of its file, and adds halves, compiles with them alone."""
    path = tmp_path / "k.cu"
    path.write_text(
        "#define __CUDA_NO_HALF_OPERATORS__\n#include <cuda_fp16.h>\nconstexpr int twice(int n) { return 2 * n; }\n"
        "__global__ void k(int* o, __half* h) { o[0] = twice(o[1]); }\n"
    )
    compiler = CudaCompiler("sm_90", Nvcc(()) if name == "nvcc" else Nvrtc(), tmp_path / "cache")
    source = Source(path, path.read_text(), "k", options=options.split(options.canonical(PYTORCH)))
    assert compiler.compile(source).digest
    with pytest.raises(CompileError, match=r"twice|host function"):
        compiler.compile(dataclasses.replace(source, options=()))
    wrong = dataclasses.replace(source, options=("-U__CUDA_ARCH__",))
    with pytest.raises(CompileError, match=r"'-U__CUDA_ARCH__' is not one of"):
        compiler.compile(wrong)


def test_the_cpu_device_takes_the_options_of_the_language(runner):
    """It says that it ignores the others, but not these."""
    done = runner("--config-dir", OWN, "kernel=exponential", "device=cpu", "compile_options=--expt-relaxed-constexpr")
    assert done.code == 0, done.err
    assert "ignores" not in done.out + done.err


def test_options_are_swept_like_any_parameter(runner):
    """Options need no quotes but the shell's, a list is one value, and the CPU device says once that it ignores them."""
    given = "compile_options=none,-maxrregcount=32,[--use_fast_math,-Xptxas -dlcm=cg]"
    done = runner("--config-dir", OWN, "kernel=exponential,exponentialToo", "device=cpu", given)
    assert done.code == 0, done.err
    expected = {"none", "--maxrregcount=32", "--use_fast_math -Xptxas=-dlcm=cg"}
    found = rows(done.folder)
    assert len(found) == 2 * len(expected)
    assert {(row["compile_options"], row["status"]) for row in found} == {(each, "ok") for each in expected}
    assert (done.out + done.err).count("ignores") == 1
    folder = done.folder
    assert runner("repeat", folder).code == 0
    (again,) = (other for other in done.directory.glob("outputs/*/*") if other != folder)
    assert {row["case"] for row in rows(again)} == {row["case"] for row in found}


@pytest.mark.gpu
@pytest.mark.parametrize("compiler", ["nvcc", "nvrtc"])
def test_the_check_knows_fast_math(compiler, runner):
    """`expf` as `__expf` is further off than `expf` may be; with --use_fast_math that is right, and only then."""
    given = "compile_options=none,--use_fast_math,-ftz=true,--use_fast_maths"
    done = runner("--config-dir", OWN, "kernel=exponential", "device=cuda", f"compiler={compiler}", given)
    found = {row["compile_options"]: row for row in rows(done.folder)}
    assert [row["status"] for row in found.values()].count("ok") == 3, done.out
    assert found["--use_fast_maths"]["status"] == "compile_error"
    errors = {name: float(row["max_error_ulp"] or 0) for name, row in found.items() if row["status"] == "ok"}
    assert errors["none"] < 3 < errors["--use_fast_math"]


@pytest.mark.gpu
def test_a_gpu_takes_a_carve_out_in_percent(runner):
    """`cache=0` and `cache=100` are hints that change no value."""
    done = runner("kernel=reduceSmem", "size=1Mi", "device=cuda", "cache=0,100,none", "timing=quick")
    assert {row["status"] for row in rows(done.folder)} == {"ok"}, done.out
