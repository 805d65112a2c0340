"""A `.cu` as its author left it, with the program around its kernels: a YAML names a kernel, and it runs."""

import importlib.util
import shutil
from pathlib import Path

import pytest
from support import ROOT, case_of, read_kernel

from runner.device import Source, elf
from runner.device.cuda.compiler import CudaCompiler
from runner.device.cuda.nvrtc import Nvrtc
from runner.errors import CompileError, UsageError

PROGRAMS = ROOT / "tests" / "kernels" / "programs"
YAML = (PROGRAMS / "mine.yaml").read_text()
PROGRAM = (PROGRAMS / "program.cu").read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path):
    """The program's files."""
    shutil.copytree(PROGRAMS / "parts", tmp_path / "parts")
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


def test_macros_that_bind_functions_to_another_language_do_not_count(bench, kernel, folder):
    """They stand between the declarations without a semicolon, so that no parser divides the file; nor does PTX elsewhere."""
    shutil.copy(PROGRAMS / "bound.cu", folder / "program.cu")
    outcome = bench.run(kernel("twofold", "2 * arange(size)"), samples=1)
    assert (outcome.status, outcome.reason) == ("ok", "")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("hiden", "has no __global__ function 'hiden'; its kernels are shapes::scaled<typename T, int tile, bool twofold>, s"),
        ("scaled<int, 8, true>", "program.cu: has no __global__ function 'scaled<int, 8, true>'; its kernels are shapes::"),
        ("shapes::scaled", "'shapes::scaled' is a template; add its template arguments to 'function' in the YAML: shapes::scaled<typename T, int tile,"),
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
        assert "compiled without <algorithm>" in binary.omitted
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
    for name in ("nowhere", "a\\0b", "x" * 5000):
        (folder / "deep.yaml").write_text(f'include: [common, "{name}"]\n{one}')
        with pytest.raises(UsageError, match=r"deep\.yaml: include: there is no folder '(nowhere|a.*b|x+)'"):
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
