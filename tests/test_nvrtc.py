"""NVRTC in place of nvcc. It needs no GPU, and no PyCUDA."""

import dataclasses
import importlib.util
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from processes import wait_until
from support import KERNELS, ROOT, case_of, shipped
from test_limits import BOMB, TEMPLATE_BOMB

from runner.device import Source
from runner.device.config import DeviceConfig
from runner.device.cuda import nvrtc
from runner.device.cuda.compiler import CudaCompiler
from runner.device.cuda.nvrtc import Nvrtc
from runner.device.kinds import compiler_for
from runner.device.limits import Limits
from runner.errors import CompileError, CompileLimit

KERNEL = 'extern "C" __global__ void k(int *out) {{ *out = {}; }}'

installed = pytest.mark.skipif(
    importlib.util.find_spec("cuda") is None or importlib.util.find_spec("cuda.core") is None,
    reason="cuda.core is not installed (extra 'nvrtc')",
)


@pytest.fixture(scope="module")
def running():
    """NVRTC, whose process takes a second to start."""
    return Nvrtc()


@pytest.fixture
def compiler(running, tmp_path):
    """NVRTC for sm_90, with a cache of its own."""
    return CudaCompiler("sm_90", running, tmp_path)


@installed
def test_nvrtc_compiles_every_kernel(running, tmp_path):
    """All kernels give a cubin without a warning for a new architecture; nvcc compiles them for old ones, too."""
    for kernel in map(shipped, KERNELS):
        own = CudaCompiler(f"sm_{max(100, kernel.min_arch)}", running, tmp_path)
        binary = own.compile(case_of(kernel).source())
        assert binary.path.read_bytes()[:4] == b"\x7fELF", kernel.name
        assert binary.log == "", kernel.name


@installed
@pytest.mark.parametrize("what", ["float16", "bfloat16x2", "libraries"])
def test_headers_of_the_toolkit_are_found(what, compiler):
    """Those of half types, of cooperative groups and cuda/barrier, which CUDA 13 has in a folder of its own."""
    if not nvrtc.toolkit_headers():
        pytest.skip("there are no CUDA headers")
    path = ROOT / "tests" / "kernels" / "cuda" / "libraries.cu"
    libraries = Source(path, path.read_text(), "k")
    assert compiler.compile(
        libraries if what == "libraries" else case_of(shipped("shflUp"), dtype=what).source()
    ).digest


@installed
def test_an_error_names_the_kernels_own_line(compiler):
    """The error names the file and the line of the kernel; the log has the rest."""
    source = case_of(shipped("reduceShfl")).source()
    with pytest.raises(CompileError, match=r"^reduceShfl\.cu: reduceShfl\.cu\(\d+\): ") as found:
        compiler.compile(dataclasses.replace(source, macros=()))
    assert "this kernel needs the macros" in found.value.log


@installed
@pytest.mark.parametrize(
    ("text", "limits", "reason"),
    [
        (BOMB, Limits(60, 0.3), "more than 0.3 GB of memory (device.compile_limit_gb)"),
        (TEMPLATE_BOMB, Limits(2, 4), "after 2 s (device.compile_limit_s)"),
    ],
)
def test_a_bomb_does_not_hold_up_the_next_source(text, limits, reason, tmp_path):
    """NVRTC is ended at a limit of time or memory, in a sentence; what is compiled meanwhile is not held up."""
    compiler = CudaCompiler("sm_90", Nvrtc(limits), tmp_path)
    path = tmp_path / "k.cu"
    path.write_text(text)
    with ThreadPoolExecutor() as pool:
        bomb = pool.submit(compiler.compile, Source(path, text, "k"))
        assert pool.submit(compiler.compile, case_of(shipped("reduceShfl")).source()).result().digest
        with pytest.raises(CompileLimit) as raised:
            bomb.result()
    assert str(raised.value).startswith("k.cu: NVRTC ")
    assert reason in str(raised.value)


@installed
def test_nvrtc_ends_with_the_program():
    """Its process ends when the one that started it does, also by kill -9 and in the middle of a source."""
    program = (
        "import os, signal, threading, sys\n"
        "from pathlib import Path\nfrom runner.device.cuda.nvrtc import Nvrtc\n"
        "nvrtc = Nvrtc(); print(nvrtc._server._process.pid, flush=True)\n"
        "threading.Thread(target=nvrtc.cubin, args=('k.cu', sys.argv[1], [Path('.')], 'sm_90', ())).start()\n"
        "threading.Event().wait(0.5); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", program, BOMB], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == -9, done.stderr
    group = int(done.stdout)  # of the server and the compiling process

    def has_ended():
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        return False

    wait_until(has_ended)


@installed
def test_after_being_idle_nvrtc_compiles_again(tmp_path, monkeypatch):
    """A compiling process that has ended because it was idle is replaced, and the source is not lost."""
    real = subprocess.Popen

    def soon_idle(command, **options):
        """The server, whose processes end after a second."""
        code = f"from runner.device.cuda import nvrtc; nvrtc.IDLE_S = 1.0; {command[-1]}"
        return real([*command[:-1], code], **options)

    with monkeypatch.context() as patched:
        patched.setattr(subprocess, "Popen", soon_idle)
        own = Nvrtc()
    compiler = CudaCompiler("sm_90", own, tmp_path)
    source = case_of(shipped("reduceShfl")).source()
    first = compiler.compile(source)
    (process,) = own._processes
    wait_until(lambda: process._connection.poll(0))
    assert not compiler.compile(case_of(shipped("reduceShfl"), block=64).source()).cached
    assert own._processes not in ([], [process])
    assert compiler.compile(source).digest == first.digest


@installed
def test_several_sources_may_be_the_first(tmp_path):
    """The server tells its version once, and each source asks for it.

    Before the lock this failed with Python 3.12, whose `cached_property` has none.
    """
    fresh = CudaCompiler("sm_90", Nvrtc(), tmp_path)
    with ThreadPoolExecutor(4) as pool:
        binaries = list(pool.map(lambda n: fresh.compile(Source(tmp_path / "k.cu", KERNEL.format(n), "k")), range(4)))
    assert len({binary.digest for binary in binaries}) == 4


@installed
def test_the_server_started_ahead_is_used(tmp_path):
    """A sweep that names NVRTC starts it before its configuration is read; it is used once."""
    nvrtc.start_ahead()
    nvrtc.start_ahead()
    (ahead,) = nvrtc._ahead
    own = Nvrtc()
    assert own._server is ahead
    assert Nvrtc()._server is not ahead
    assert CudaCompiler("sm_90", own, tmp_path).compile(case_of(shipped("reduceShfl")).source()).digest


@installed
def test_a_compiled_variant_is_found_again(compiler, running, tmp_path):
    """The second time nothing is compiled; another architecture is another binary."""
    source = case_of(shipped("reduceShfl")).source()
    first, again = compiler.compile(source), compiler.compile(source)
    assert (first.cached, again.cached, again.digest) == (False, True, first.digest)
    assert not CudaCompiler("sm_75", running, tmp_path).compile(source).cached


def test_nvrtc_that_is_not_installed_is_one_sentence():
    """Where cuda.core is missing, its compiler is unavailable, with the extra that brings it."""
    program = (
        "import sys; sys.modules['cuda'] = None\n"
        "from runner.device.cuda.nvrtc import Nvrtc\nfrom runner.errors import DeviceUnavailable\n"
        "try: Nvrtc()\nexcept DeviceUnavailable as e: print(e)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("compiler=nvrtc: cuda.core "), done.stderr
    assert done.stdout.count("\n") == 1


@installed
@pytest.mark.gpu
@pytest.mark.parametrize("name", KERNELS)
def test_both_compilers_give_the_same_results(name, bench):
    """On a GPU a kernel compiled by NVRTC gives what it gives compiled by nvcc."""
    case = case_of(shipped(name))
    if case.hazard or bench.device.info.kind != "cuda":
        pytest.skip("a counterexample is not run on a GPU, and the CPU device compiles neither way")
    by_nvcc = bench.run(case)
    other = dataclasses.replace(bench, compiler=compiler_for(DeviceConfig(kind="cuda"), bench.device.info, "nvrtc"))
    by_nvrtc = other.run(case)
    assert (by_nvrtc.status, by_nvrtc.value) == (by_nvcc.status, by_nvcc.value)
    assert by_nvrtc.status == "ok"
