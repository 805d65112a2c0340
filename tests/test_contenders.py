"""Contenders: functions of the host, of Python and of binaries, measured and checked in place of a kernel."""

import builtins
import re
import shutil
import subprocess
import weakref

import numpy as np
import pandas as pd
import pytest
import yaml
from support import CONTENDERS, MINE_CU, ROOT, Bench, case_of, mine_yaml, shipped

from runner.device import Form
from runner.device.config import DeviceConfig
from runner.device.cuda import dlpack
from runner.device.cuda.compiler import CudaCompiler, Nvcc, find_nvcc
from runner.device.kinds import compiler_for, open_device
from runner.errors import CompileError, MissingLibrary, UsageError
from runner.kernel import from_yaml


@pytest.fixture(scope="module")
def cpu(own_cache):
    """The CPU device, to run single cases in this process."""
    config = DeviceConfig(kind="cpu", threads=2)
    device = open_device(config)
    yield Bench(device, compiler_for(config, device.info))
    device.close()


CALLED = ROOT / "tests" / "kernels" / "called" / "functions.py"
COUNT = {"name": "n", "scalar": "int64", "value": "size"}
DOUBLED = {
    "parameters": {"size": 1000},
    "arguments": [
        {"name": "in", "role": "in", "dtype": "float32", "shape": "size", "fill": "random"},
        {"name": "out", "role": "out", "dtype": "float32", "shape": "size"},
        {"name": "factor", "scalar": "float32", "value": 2},
    ],
    "reference": {"out": "2 * in"},
}


def called(function, **keys):
    """The kernel that is a function of tests/kernels/called."""
    return from_yaml.read("mine", {**DOUBLED, "source": str(CALLED), "function": function, **keys}, CALLED)


def test_a_python_function_is_checked_as_a_kernel_is(cpu):
    """It gets arrays, numbers and no stream on the CPU device; its result is compared with the reference."""
    outcome = cpu.run(case_of(called("doubled")))
    assert (outcome.status, outcome.reason) == ("ok", "")
    assert cpu.run(case_of(called("doubled", reference={"out": "3 * in"}))).status == "mismatch"


def test_what_a_class_prepares_is_prepared_once(cpu, monkeypatch):
    """Its constructor runs once for the same arrays; each launch calls the instance."""
    monkeypatch.setattr(builtins, "CALLS_OF_A_TEST", [], raising=False)
    outcome = cpu.run(case_of(called("Prepared")), samples=5)
    assert (outcome.status, outcome.reason) == ("ok", "")
    calls = builtins.CALLS_OF_A_TEST
    assert calls.count("called") > 5
    assert calls.count("prepared") < calls.count("called")


@pytest.mark.parametrize(
    ("function", "status", "words"),
    [
        ("forgets", "mismatch", "out[999]"),
        ("raises", "launch_error", "functions.py:37: raises raised ValueError: no such shape"),
        ("writes_input", "launch_error", "assignment destination is read-only"),
        ("alone", "launch_error", "it was given (float32[1000], float32[1000], 2.0, stream=...)"),
        ("absent", "launch_error", "functions.py: there is no function 'absent'"),
    ],
)
def test_a_mistake_in_python_is_the_case_s_own(cpu, function, status, words):
    """What the function leaves undone, raises or overwrites fails its case with a sentence."""
    outcome = cpu.run(case_of(called(function)))
    assert outcome.status == status
    assert words in outcome.reason


def test_types_that_numpy_lacks_are_bits(cpu):
    """An array of bfloat16 arrives as unsigned integers."""
    arguments = [{**a, "dtype": "bfloat16"} for a in DOUBLED["arguments"][:2]] + DOUBLED["arguments"][2:]
    outcome = cpu.run(case_of(called("half", arguments=arguments, reference={"out": "in"})))
    assert (outcome.status, outcome.reason) == ("ok", "")


def test_a_sweep_has_a_contender_beside_a_kernel(runner, tmp_path):
    """Both have a row; the contender has no grid and no block; one whose module is missing is skipped with its name."""
    folder = tmp_path / "mine" / "kernel"
    folder.mkdir(parents=True)
    (folder / "functions.py").write_text("import beside  # noqa: F401\n" + CALLED.read_text())
    (folder / "beside.py").write_text("KEPT = True\n")
    (folder / "needs.py").write_text("import surely_not_installed\n")
    own = {**DOUBLED, "source": "functions.py", "function": "doubled", "family": "twice"}
    kernel = """extern "C" __global__ void twice(const float* in, float* out, float factor, long long n)
{ const long long i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = factor * in[i]; }
"""
    (folder / "twice.cu").write_text(kernel)
    launched = {"parameters": {"size": 1000, "block": 64}, "arguments": [*DOUBLED["arguments"], COUNT]}
    twice = {**DOUBLED, **launched, "grid": "ceil_div(size, block)", "family": "twice"}
    for name, content in (("twice", twice), ("numpyTwice", own), ("lacks", {**own, "source": "needs.py"})):
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(content))
    done = runner("--config-dir", "mine", "kernel=twice,numpyTwice,lacks", "device=cpu", "hydra.sweep.dir=out")
    assert done.code == 0, done.err
    rows = pd.read_csv(tmp_path / "out" / "results.csv").set_index("kernel")
    assert rows["status"].to_dict() == {"twice": "ok", "numpyTwice": "ok", "lacks": "skipped"}
    assert rows["reason"]["lacks"] == "needs.py needs the module 'surely_not_installed', which is not installed"
    assert pd.isna(rows["grid"]["numpyTwice"])
    assert rows["grid"]["twice"] == 16
    assert "numpyTwice :" in done.out
    assert "numpyTwice : ok <<<" not in done.out
    shutil.rmtree(folder)  # the run folder has what the function imports, too
    again = runner("out", module="runner.repeat")
    assert again.code == 0, again.err


def test_what_was_checked_of_python_is_its_values(runner, tmp_path):
    """No device looks into a Python function for bounds or barriers, so neither terminal nor report say so."""
    folder = tmp_path / "mine" / "kernel"
    folder.mkdir(parents=True)
    own = {**DOUBLED, "source": str(CALLED), "function": "doubled"}
    (folder / "numpyTwice.yaml").write_text(yaml.safe_dump(own))
    done = runner("--config-dir", "mine", "kernel=numpyTwice", "device=cpu", "hydra.sweep.dir=out")
    sentence = "values, other sizes; not what the Python functions do inside, speed."
    assert f"Checked: {sentence}" in done.out, done.out
    assert "bounds, barriers" not in done.out
    assert "array bounds, barriers" not in (tmp_path / "out" / "report.html").read_text()


def test_the_checked_device_cannot_look_into_python(runner, tmp_path):
    """It says so instead of passing what it did not check."""
    done = runner("kernel=torchSoftmax", "device=checked", "hydra.sweep.dir=out")
    assert "a Python function, into which this device cannot look; use device=cpu" in done.out


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"host": True, "source": "functions.py"}, "host: functions.py is no CUDA source; remove the key"),
        ({"grid": 1, "source": "functions.py"}, "grid: a Python function (functions.py) has no grid; remove the key"),
        ({"macros": ["N"], "source": "k.ptx"}, "macros: a binary (k.ptx) has no macros; remove the key"),
        ({"libraries": ["cublas"]}, "libraries: only a host function ('host: true') is linked with libraries"),
        (
            {"host": True, "libraries": ["-lcublas"], "grid": None},
            "libraries: '-lcublas': expected the name of a library",
        ),
        ({"host": True}, "grid: a host function (mine.cu) has no grid; remove the key"),
    ],
)
def test_a_form_without_a_key_refuses_it(tmp_path, keys, words):
    """A Python function has no grid, a binary no macros; only a host function is linked with libraries."""
    for name in ("functions.py", "k.ptx", "mine.cu"):
        (tmp_path / name).write_text("// nothing\n")
    content = yaml.safe_load(mine_yaml()) | keys
    content = {key: value for key, value in content.items() if value is not None}
    if "grid" not in keys and keys.get("source"):
        del content["grid"]
    with pytest.raises(UsageError) as error:
        from_yaml.read("mine", content, tmp_path / "mine.yaml")
    assert words in str(error.value)


def test_a_family_s_parameter_can_be_left_out():
    """`block: null` says that a contender does not read the block that its family's kernels share."""
    assert shipped("cubSum").parameter("block") is None
    assert shipped("reduceFlagged").parameter("block") is not None


def compiler(tmp_path):
    """CUDA's compiler for sm_90, with a cache of its own."""
    if find_nvcc() is None:
        pytest.skip("nvcc is not installed")
    return CudaCompiler("sm_90", Nvcc(()), tmp_path)


HOST = {**DOUBLED, "host": True, "source": "host.cu", "function": "mine", "arguments": [*DOUBLED["arguments"], COUNT]}
LAUNCHES = """
__global__ void twice(const float* in, float* out, float factor, long long n)
{
    const long long i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = factor * in[i];
}
extern "C" int mine(const float* in, float* out, float factor, long long n, cudaStream_t stream)
{
    twice<<<(n + 255) / 256, 256, 0, stream>>>(in, out, factor, n);
    return cudaGetLastError();
}
"""


@pytest.mark.nvcc
@pytest.mark.parametrize(
    ("text", "libraries", "error", "words"),
    [
        (LAUNCHES, [], None, ""),
        (
            f"#include <surely/none.h>\n{LAUNCHES}",
            [],
            MissingLibrary,
            "host.cu needs surely/none.h, which is not installed",
        ),
        (LAUNCHES, ["surely_none"], MissingLibrary, "host.cu needs libsurely_none, which is not installed"),
        (LAUNCHES.replace("return", "retrun"), [], CompileError, "host.cu(10): error"),
    ],
)
def test_nvcc_makes_a_library_of_a_host_function(tmp_path, text, libraries, error, words):
    """A missing library or header skips the case, a mistake in the source is the compiler's, with its line."""
    (tmp_path / "host.cu").write_text(text)
    kernel = from_yaml.read("mine", {**HOST, "libraries": libraries}, tmp_path / "mine.yaml")
    assert kernel.form is Form.HOST
    made = compiler(tmp_path / "cache")
    if error is None:
        binary = made.compile(case_of(kernel).source())
        names = subprocess.run(["nm", "-D", binary.path], capture_output=True, text=True, check=True).stdout
        assert " T mine" in names
        assert made.compile(case_of(kernel).source()).cached
    else:
        with pytest.raises(error) as raised:
            made.compile(case_of(kernel).source())
        assert type(raised.value) is error
        assert words in str(raised.value)


@pytest.mark.nvcc
@pytest.mark.parametrize("name", [name for name in CONTENDERS if shipped(name).form is Form.HOST])
def test_nvcc_compiles_the_shipped_host_functions(tmp_path, name):
    """Each compiles, unless its library is not installed here."""
    try:
        binary = compiler(tmp_path).compile(case_of(shipped(name)).source())
    except MissingLibrary as missing:
        pytest.skip(str(missing))
    assert binary.path.stat().st_size


@pytest.fixture(scope="module")
def gpu(own_cache):
    """The GPU, to run single cases in this process."""
    config = DeviceConfig(kind="cuda")
    device = open_device(config)
    yield Bench(device, compiler_for(config, device.info))
    device.close()


@pytest.mark.gpu
@pytest.mark.filterwarnings("default")  # libraries warn of what they will change
@pytest.mark.parametrize("name", CONTENDERS)
def test_a_shipped_contender_is_right(name, gpu):
    """On a GPU each passes all checks, or is skipped with the library that it lacks."""
    outcome = gpu.run(case_of(shipped(name)))
    if outcome.status == "skipped":
        pytest.skip(outcome.reason)
    assert (outcome.status, outcome.reason) == ("ok", "")


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.float32, np.complex64, np.bool_])
def test_an_array_in_the_form_of_dlpack_is_taken_without_a_copy(dtype):
    """A library reads and writes the very array, which lives until it and all capsules are gone."""
    host = np.arange(6).reshape(2, 3).astype(dtype)

    class Owner:
        pass

    class Given:
        def __init__(self, owner):
            self.owner = owner

        def __dlpack_device__(self):
            return 1, 0  # memory of the host, which NumPy takes

        def __dlpack__(self, **wanted):
            return dlpack.capsule(host.ctypes.data, host.shape, host.dtype, (1, 0), self.owner)

    owner = Owner()
    alive, given = weakref.ref(owner), Given(owner)
    del owner
    taken = np.from_dlpack(given)
    given.__dlpack__()  # nobody takes this one
    del given
    assert (taken.shape, taken.dtype) == (host.shape, host.dtype)
    assert taken.ctypes.data == host.ctypes.data
    assert (taken == host).all()
    assert alive() is not None
    del taken
    assert alive() is None


DLPACK = """import {library}

def doubled(values, out, factor, stream):
    assert values.__dlpack_device__() == (2, 0)
    {queue}:
        values, out = {library}.from_dlpack(values), {library}.from_dlpack(out)
        assert str(out.dtype).endswith("{dtype}"), out.dtype
        {library}.multiply(values, factor, out=out)
"""
QUEUES = {
    "torch": "with torch.cuda.stream(torch.cuda.ExternalStream(stream))",
    "cupy": "with cupy.cuda.ExternalStream(stream)",
}


@pytest.mark.gpu
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(("library", "dtype"), [("torch", "float32"), ("torch", "bfloat16"), ("cupy", "float32")])
def test_a_library_takes_arrays_of_a_gpu_as_dlpack(tmp_path, gpu, library, dtype):
    """On the runner's stream, in place; bfloat16 keeps its type."""
    pytest.importorskip(library)
    (tmp_path / "mine.py").write_text(DLPACK.format(library=library, dtype=dtype, queue=QUEUES[library]))
    arguments = [{**a, "dtype": dtype} for a in DOUBLED["arguments"][:2]] + DOUBLED["arguments"][2:]
    content = {**DOUBLED, "arguments": arguments, "source": "mine.py", "function": "doubled"}
    outcome = gpu.run(case_of(from_yaml.read("mine", content, tmp_path / "mine.yaml")))
    assert (outcome.status, outcome.reason) == ("ok", "")


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_the_examples_of_the_page_run(runner, tmp_path, device):
    """The files of docs/contenders.md and docs/how-to/cublas.md run by their commands, unless a library is missing."""
    pages = [(ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("contenders.md", "how-to/cublas.md")]
    page = "\n".join(pages)
    for head, block in re.findall(r"^```\w+([^\n]*)\n(.*?)^```", page, re.DOTALL | re.MULTILINE):
        if named := re.search(r"my_kernels/\S+", head or block.partition("\n")[0]):
            path = tmp_path / named[0]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block)
    every = re.findall(r"^    python -m runner (--config-dir .*)$", page, re.MULTILINE)
    commands = [command for command in every if ("device=cpu" in command) == (device == "cpu")]
    assert len(commands) == {"cpu": 1, "cuda": 3}[device]
    for number, command in enumerate(commands):
        done = runner(*command.split(), f"device={device}", f"hydra.sweep.dir={number}")
        assert done.code == 0, done.out
        rows = pd.read_csv(tmp_path / str(number) / "results.csv")
        assert all(r.status == "ok" or "not installed" in r.reason for r in rows.itertuples()), done.out


@pytest.mark.gpu
@pytest.mark.parametrize("ending", ["ptx", "cubin", "fatbin"])
def test_a_binary_is_launched_as_it_is(tmp_path, ending, gpu):
    """PTX, machine code and a fatbin of the same kernel give the right sum, without its source."""
    (tmp_path / "mine.cu").write_text(MINE_CU)
    arch = [] if ending == "ptx" else [f"-arch={gpu.device.info.arch}"]
    subprocess.run(["nvcc", f"-{ending}", *arch, "mine.cu", "-o", f"mine.{ending}"], cwd=tmp_path, check=True)
    content = yaml.safe_load(mine_yaml()) | {"source": f"mine.{ending}"}
    kernel = from_yaml.read("mine", content, tmp_path / "mine.yaml")
    outcome = gpu.run(case_of(kernel))
    assert (outcome.status, outcome.reason) == ("ok", "")
    wrong = from_yaml.read("mine", content | {"function": "other"}, tmp_path / "mine.yaml")
    assert f"mine.{ending} has no __global__ function 'other'" in gpu.run(case_of(wrong)).reason


@pytest.mark.gpu
def test_a_symbol_of_a_library_that_is_not_named_is_told(tmp_path, gpu):
    """The sentence has the symbol, and the key to add."""
    text = """extern "C" int cublasCreate_v2(void**);
extern "C" int mine(const float*, float*, float, cudaStream_t) { void* handle; return cublasCreate_v2(&handle); }
"""
    (tmp_path / "host.cu").write_text(text)
    outcome = gpu.run(case_of(from_yaml.read("mine", HOST, tmp_path / "mine.yaml")))
    assert outcome.status == "launch_error"
    assert "name the library that has cublasCreate_v2 under 'libraries', as in [cublas]" in outcome.reason


@pytest.mark.gpu
def test_a_host_function_that_fails_says_its_code(tmp_path, gpu):
    """What it returns, other than 0, fails the case."""
    (tmp_path / "host.cu").write_text(LAUNCHES.replace("return cudaGetLastError();", "return 7;"))
    kernel = from_yaml.read("mine", HOST, tmp_path / "mine.yaml")
    outcome = gpu.run(case_of(kernel))
    assert (outcome.status, outcome.reason) == (
        "launch_error", "host.cu: mine returned 7; a host function returns 0 if all is well",
    )  # fmt: skip


@pytest.mark.gpu
def test_a_host_function_is_measured_as_a_kernel_is(tmp_path, gpu):
    """It passes all checks, at other sizes too, and every sample is taken."""
    (tmp_path / "host.cu").write_text(LAUNCHES)
    outcome = gpu.run(case_of(from_yaml.read("mine", HOST, tmp_path / "mine.yaml")), samples=9)
    assert (outcome.status, outcome.reason) == ("ok", "")
    assert len(outcome.measured.samples) == 9
