"""What several tests use: kernels from YAML, cases, devices, finished commands."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from runner.compose.names import CONF
from runner.device import Binary, Compiler, Device, Launch, LaunchDiagnostics, Role, Source
from runner.device.checked.device import CheckedDevice
from runner.device.limits import Limits
from runner.display.terminal import SweepProgress
from runner.errors import CompileError
from runner.jobs.settings import Protocol, TimingConfig
from runner.kernel import from_yaml
from runner.kernel.case import Case
from runner.kernel.declaration import Kernel
from runner.kernel.resolve import make
from runner.stages.checked import builds
from runner.stages.lines.costs import LineCost
from runner.stages.lines.counting import LIMIT_S, count
from runner.sweep.compiling import reason_to_skip
from runner.sweep.run_case import run_case
from runner.sweep.trial import launch_once
from runner.sweep.worker import Outcome, Task

ROOT = Path(__file__).resolve().parents[1]
SHIPPED = sorted((CONF / "kernel").glob("*.yaml"))
CONTENDERS = [p.stem for p in SHIPPED if "contenders/" in p.read_text(encoding="utf-8")]  # functions of libraries
KERNELS = [p.stem for p in SHIPPED if p.stem not in CONTENDERS]


MINE_CU = """extern "C" __global__ void mine(const int* in, int* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] + 1;
}
"""

# A kernel without a mistake; the tables of tests put one in.
MINE = {
    "parameters": "{block: 64, size: 1000, dtype: int32}",
    "arguments": """
  - {name: in, role: in, dtype: int32, shape: size, fill: index}
  - {name: out, role: out, dtype: int32, shape: size}
  - {name: n, scalar: int32, value: size}""",
    "grid": "ceil_div(size, block)",
    "reference": "{out: in + 1}",
}


def mine_yaml(**lines: str) -> str:
    """The kernel's YAML with some keys written otherwise, or added; None takes one out."""
    return "".join(f"{key}: {text}\n" for key, text in {**MINE, **lines}.items() if text is not None)


def read_kernel(path: Path) -> Kernel:
    """A kernel from its YAML, without Hydra."""
    return from_yaml.read(path.stem, yaml.safe_load(path.read_text(encoding="utf-8")), path)


@functools.cache
def shipped(name: str) -> Kernel:
    """One of the kernels that come with the project."""
    return read_kernel(CONF / "kernel" / f"{name}.yaml")


def constant(array: Any) -> NDArray[Any]:
    """A read-only copy, which `Bench.call` takes for an input."""
    copy = np.array(array)
    copy.flags.writeable = False
    return copy


def few(samples: int, rounds: int = 1) -> Protocol:
    """A protocol of so many samples, whatever their times."""
    timing = dataclasses.asdict(TimingConfig(cpu_samples=3, cpu_rounds=rounds, warmup_ms=0.0).protocol("cpu"))
    return Protocol(**{**timing, "min_samples": samples, "max_samples": samples})


Extent = int | tuple[int, ...]


def _three(extent: Extent) -> tuple[int, int, int]:
    """The extent of a grid or block in three dimensions."""
    x, y, z, *_ = (*(extent if isinstance(extent, tuple) else (extent,)), 1, 1)
    return x, y, z


@dataclass(frozen=True)
class Bench:
    """A device and its compiler, to run single cases in this process."""

    device: Device
    compiler: Compiler

    def run(self, case: Case, samples: int = 3, time_limit: float = 20.0) -> Outcome:
        """Compile and run one case; one that cannot be run here or compiled is an outcome, too."""
        return self._run(case, few(samples), time_limit, self._compile)

    def run_all(self, cases: list[Case]) -> list[Outcome]:
        """Compile each variant once, on all cores, then run one case after the other, at its own size alone."""
        variants = list(dict.fromkeys(c.source() for c in cases if not reason_to_skip(c, self.device.info)))
        with ThreadPoolExecutor() as pool:
            compiled = dict(zip(variants, pool.map(self._compile, variants), strict=True))
        protocol = dataclasses.replace(few(1), check_sizes=False)
        return [self._run(c, protocol, 20.0, compiled.__getitem__) for c in cases]

    def outputs(self, case: Case) -> tuple[dict[str, NDArray[Any]], LaunchDiagnostics]:
        """What one launch leaves in the arrays that the kernel writes, and what the device noticed."""
        return launch_once(self.device, case, self.compiler.compile(case.source()))

    def call(
        self, source: Source, *arguments: Any, grid: Extent = 1, block: Extent = 32, shared: int = 0
    ) -> list[NDArray[Any]]:
        """Launch a kernel of its own; give back each array that it may write, in order.

        A read-only array is an input, and an integer an `int`.
        """
        passed: list[Any] = []
        for i, a in enumerate(arguments):
            if isinstance(a, np.ndarray):
                passed.append(self.device.place(f"array {i}", a, Role.INOUT if a.flags.writeable else Role.IN))
            else:
                passed.append(np.int32(a))
        program = self.device.load(source, self.compiler.compile(source))
        self.device.launch(Launch(program, _three(grid), _three(block), shared, tuple(passed)), 60.0)
        arrays = [a for a in passed if not isinstance(a, np.generic)]
        written = [a.read() for a in arrays if a.role is Role.INOUT]
        for array in arrays:
            array.free()
        return written

    def _run(
        self, case: Case, protocol: Protocol, time_limit: float, compiled: Callable[[Source], Binary | CompileError]
    ) -> Outcome:
        if reason := reason_to_skip(case, self.device.info):
            return Outcome("skipped", reason)
        source = case.source()
        binary = compiled(source)
        if isinstance(binary, CompileError):
            return Outcome(binary.status, str(binary))
        return run_case(self.device, Task(case, source, binary, protocol, time_limit), lambda _: None)

    def _compile(self, source: Source) -> Binary | CompileError:
        try:
            return self.compiler.compile(source)
        except CompileError as e:
            return e


def case_of(kernel: Kernel, seed: int = 0, **requested: object) -> Case:
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


class Told(SweepProgress):
    """A progress whose sentences are kept."""

    def __init__(self):
        super().__init__(quiet=True)
        self.said = []

    def say(self, text):
        """Keep a sentence."""
        self.said.append(text)

    warn = say


def line_costs(case: Case, limit_s: float = LIMIT_S) -> list[LineCost]:
    """What each line of a case costs, counted in this process: one thread, so that atomics run in a fixed order."""
    device = CheckedDevice(threads=1)
    try:
        binary = builds.compiler(Limits()).compile(case.source())
        return [LineCost(**line) for line in count(device, lambda _: None, case, binary, limit_s)]
    finally:
        device.close()
