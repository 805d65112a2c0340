"""What several tests need: devices, kernels from YAML, and the program as a user starts it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from runner import declaration
from runner.attempt import Outcome, Task, attempt
from runner.case import Case, make
from runner.config import CONF
from runner.device import Compiler, Device
from runner.device.opening import compiler_for, open_device
from runner.errors import CompileError, DeviceUnavailable
from runner.settings import DeviceConfig

ROOT = Path(__file__).resolve().parents[1]
KERNELS = sorted(p.stem for p in (CONF / "kernel").glob("*.yaml"))


def no_gpu() -> str:
    """Why there is no GPU to test on; empty if there is one."""
    try:
        open_device(DeviceConfig(kind="cuda")).close()
    except DeviceUnavailable as e:
        return str(e)
    return ""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs hardware or tools that are not here, each with its reason."""
    reasons: dict[str, str] = {}
    if any(item.get_closest_marker("gpu") for item in items):
        reasons["gpu"] = no_gpu()
    reasons["nvcc"] = "" if shutil.which("nvcc") else "nvcc is not on the PATH"
    for item in items:
        for marker, reason in reasons.items():
            if reason and item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """Nothing that an earlier session compiled is trusted."""
    folder = tmp_path_factory.mktemp("cache")
    os.environ["XDG_CACHE_HOME"] = str(folder)
    return folder


def read_kernel(path: Path) -> declaration.Kernel:
    """A kernel from its YAML, without Hydra."""
    return declaration.read(path.stem, yaml.safe_load(path.read_text(encoding="utf-8")), path)


def shipped(name: str) -> declaration.Kernel:
    """One of the kernels that come with the project."""
    return read_kernel(CONF / "kernel" / f"{name}.yaml")


@dataclass(frozen=True)
class Bench:
    """A device and its compiler, to run single cases in this process."""

    device: Device
    compiler: Compiler

    def run(self, case: Case, samples: int = 3, time_limit: float = 20.0) -> Outcome:
        """Compile and run one case; an excluded or uncompilable one is an outcome, too."""
        if case.excluded:
            return Outcome("skipped", case.excluded)
        source = case.source()
        try:
            binary = self.compiler.compile(source)
        except CompileError as e:
            return Outcome(e.status, str(e))
        return attempt(self.device, Task(case, source, binary, samples, 0.0, time_limit), lambda _: None)

    def run_all(self, cases: list[Case]) -> list[Outcome]:
        """Compile on all cores, then run one after the other."""
        with ThreadPoolExecutor() as pool:
            list(pool.map(self._compile, cases))
        return [self.run(c, samples=1) for c in cases]

    def _compile(self, case: Case) -> None:
        if not case.excluded:
            self.compiler.compile(case.source())


@pytest.fixture(scope="session", params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def bench(request, own_cache):
    """Both devices, one after the other; the GPU where there is one."""
    config = DeviceConfig(kind=request.param, threads=2)
    device = open_device(config)
    yield Bench(device, compiler_for(config, device.info))
    device.close()


def case_of(kernel: declaration.Kernel, seed: int = 0, **requested: object) -> Case:
    """A case of a kernel."""
    return make(kernel, requested, seed)


@dataclass(frozen=True)
class Finished:
    """What a command left."""

    code: int
    out: str
    err: str
    directory: Path

    @property
    def folder(self) -> Path:
        """The only sweep in `outputs/`."""
        (found,) = self.directory.glob("outputs/*/*")
        return found


@pytest.fixture
def runner(tmp_path):
    """`python -m runner ...` in an empty folder."""

    def call(*arguments: str, timeout: float = 120, **environment: str) -> Finished:
        env = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
        command = [sys.executable, "-m", "runner", *arguments]
        done = subprocess.run(
            command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=timeout, check=False
        )
        return Finished(done.returncode, done.stdout, done.stderr, tmp_path)

    return call
