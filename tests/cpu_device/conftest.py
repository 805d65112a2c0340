"""A compiler with a cache of its own, a device, and short ways to launch."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from conformance_launches import KERNELS, ConformanceLaunch, Out

from runner.device import Launch, LaunchDiagnostics, Role, Source
from runner.device.cpu.build import CpuCompiler
from runner.device.cpu.device import CpuDevice
from runner.device.cpu.program import CpuProgram


@dataclass
class Bench:
    """Compiles and launches kernels of `kernels/`, or of a text."""

    compiler: CpuCompiler
    device: CpuDevice
    time_limit: float = 20.0

    def source(self, file, function, **more) -> Source:
        """A kernel of a file in `kernels/`."""
        path = Path(file) if Path(file).is_absolute() else KERNELS / file
        return Source(path, path.read_text(), function, **more)

    def text(self, folder, text, function="kernel", **more) -> Source:
        """A kernel of its own, in a fresh file."""
        path = folder / "own.cu"
        path.write_text(text)
        return Source(path, text, function, **more)

    def load(self, source) -> CpuProgram:
        """Compile and load."""
        return self.device.load(source, self.compiler.compile(source))

    def place(self, value, role=Role.OUT, name="o", offset=0, lead=0):
        """Place an array."""
        return self.device.place(name, np.asarray(value), role, offset, lead)

    def launch(self, program, *arguments, grid=1, block=32, shared=0, time_limit=None) -> LaunchDiagnostics:
        """Launch once."""
        grid = grid if isinstance(grid, tuple) else (grid, 1, 1)
        block = block if isinstance(block, tuple) else (block, 1, 1)
        return self.device.launch(Launch(program, grid, block, shared, arguments), time_limit or self.time_limit)

    def conformance(self, launch: ConformanceLaunch):
        """Run a conformance launch; give its outputs and the findings."""
        passed = []
        for argument in launch.arguments:
            if isinstance(argument, Out):
                passed.append(self.place(argument.array(), Role.INOUT, f"output {len(passed)}"))
            elif isinstance(argument, np.generic):
                passed.append(argument)
            else:
                passed.append(self.place(argument, Role.IN, f"input {len(passed)}"))
        program = self.load(self.source(launch.file, launch.function))
        findings = self.launch(program, *passed, grid=launch.grid, block=launch.block)
        outputs = [array.read() for array in passed if not isinstance(array, np.generic) and array.role is Role.INOUT]
        for array in passed:
            if not isinstance(array, np.generic):
                array.free()
        return outputs, findings


@pytest.fixture(scope="session")
def cache(own_cache):
    """The session's cache of binaries: each kernel is compiled once, by whichever of pytest's processes needs it first."""
    return own_cache / "kernel-runner" / "cpu"


@pytest.fixture(scope="session")
def bench(cache) -> Bench:
    """A compiler and a device with two threads."""
    return Bench(CpuCompiler(cache), CpuDevice(threads=2))


@pytest.fixture(scope="session")
def lines():
    """Where the kernels' comments say that something happens: name to line, for each file."""

    def find(file, name):
        for number, line in enumerate((KERNELS / file).read_text().splitlines(), start=1):
            if re.search(rf"// {re.escape(name)}(:|$)", line):
                return number
        raise AssertionError(f"{file} has no line for {name}")

    return find
