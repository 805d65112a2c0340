"""Measures what the CPU device costs: a shuffle, a barrier, a plain thread, a launch, a reduction, a compilation.

    python benchmarks/cpu_device.py [--other CHECKOUT] [--rounds 9]

With another checkout of this project, both sides run in their own processes and take turns, measurement by
measurement, so that changing load hits both. The table has the medians and their ratio (above 1: this checkout is
faster).
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
KERNELS = HERE / "kernels" / "cpu_device.cu"
SIZE = 1 << 20
BLOCK = 256
REPEATS = 200
FEW_BLOCKS = 16


@dataclass(frozen=True)
class Measurement:
    """One line of the table.

    Attributes:
        title: What it is.
        kernel: What is launched.
        blocks: Of how many blocks.
        shared: Dynamic shared memory a block.
        arguments: Names of arrays (see `arrays`) and integers.
        per: Divides the launch's nanoseconds.
        unit: Of the quotient.
    """

    title: str
    kernel: str
    blocks: int
    shared: int
    arguments: tuple[str | int, ...]
    per: float
    unit: str


MEASUREMENTS = (
    Measurement("shuffle", "manyShuffles", FEW_BLOCKS, 0, ("out", REPEATS), FEW_BLOCKS * BLOCK * REPEATS, "ns a lane"),
    Measurement(
        "barrier", "manyBarriers", FEW_BLOCKS, 0, ("out", REPEATS), FEW_BLOCKS * BLOCK * REPEATS, "ns a thread"
    ),
    Measurement(
        "plain thread", "plainThreads", SIZE // BLOCK, 0, ("left", "right", "floats", SIZE), SIZE, "ns a thread"
    ),
    Measurement(
        "reduction by shuffles, 2^20", "reduceByShuffle", SIZE // BLOCK, 0, ("in", "out", SIZE), SIZE, "ns an element"
    ),
    Measurement(
        "reduction in shared memory, 2^20",
        "reduceByShared",
        SIZE // BLOCK,
        4 * BLOCK,
        ("in", "out", SIZE),
        SIZE,
        "ns an element",
    ),
    Measurement("launch of one block", "plainThreads", 1, 0, ("left", "right", "floats", SIZE), 1e3, "us"),
)


def arrays() -> dict[str, np.ndarray[Any, Any]]:
    """What the kernels work on."""
    return {
        "in": np.ones(SIZE, np.int32),
        "out": np.zeros(SIZE, np.int32),
        "left": np.ones(SIZE, np.float32),
        "right": np.ones(SIZE, np.float32),
        "floats": np.zeros(SIZE, np.float32),
    }


Measure = Callable[[Measurement], float]


def of_checkout(checkout: Path, cache: Path) -> tuple[Measure, Callable[[], float]]:
    """Measuring with a checkout of this project."""
    sys.path.insert(0, str(checkout))
    device_api = importlib.import_module("runner.device")
    device = importlib.import_module("runner.device.cpu.device").CpuDevice(threads=1)
    compiler = importlib.import_module("runner.device.cpu.build").CpuCompiler(cache)
    role = device_api.Role.SCRATCH
    placed = {name: device.place(name, value, role) for name, value in arrays().items()}
    text = KERNELS.read_text()

    def compile_as(kernel: str, macros: tuple[tuple[str, str], ...] = ()) -> tuple[Any, Any]:
        source = device_api.Source(KERNELS, text, kernel, macros)
        return source, compiler.compile(source)

    programs = {m.kernel: device.load(*compile_as(m.kernel)) for m in MEASUREMENTS}

    def measure(what: Measurement) -> float:
        arguments = tuple(placed[a] if isinstance(a, str) else np.int32(a) for a in what.arguments)
        launch = device_api.Launch(programs[what.kernel], (what.blocks, 1, 1), (BLOCK, 1, 1), what.shared, arguments)
        return float(device.sample([launch], 60.0, lambda _: None, lambda _: None).us[0]) * 1e3 / what.per

    def compilation() -> float:
        return float(compile_as("manyShuffles", (("NONCE", str(time.time_ns())),))[1].seconds * 1e3)

    return measure, compilation


def serve(path: Path) -> None:
    """Measure what the parent asks for, one number a line; an empty title means a compilation."""
    with tempfile.TemporaryDirectory() as scratch:
        measure, compilation = of_checkout(path, Path(scratch))
        print("ready", flush=True)
        for line in sys.stdin:
            index = json.loads(line)
            print(measure(MEASUREMENTS[index]) if index >= 0 else compilation(), flush=True)


class Side:
    """A process that measures one side."""

    def __init__(self, path: Path) -> None:
        command = [sys.executable, str(Path(__file__).resolve()), "--serve", str(path)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self._read() != "ready":
            raise SystemExit(f"{path}: cannot be measured")

    def _read(self) -> str:
        if self._process.stdout is None:
            return ""
        return self._process.stdout.readline().strip()

    def ask(self, index: int) -> float:
        """One measurement."""
        if self._process.stdin is None:
            raise SystemExit("the measuring process has no input")
        self._process.stdin.write(f"{index}\n")
        self._process.stdin.flush()
        return float(self._read())

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def compare(sides: list[Side], rounds: int) -> list[tuple[str, str, list[float]]]:
    """Take turns; give the medians of each side."""
    lines = [(m.title, m.unit, index) for index, m in enumerate(MEASUREMENTS)] + [("compilation", "ms", -1)]
    table = []
    for title, unit, index in lines:
        for side in sides:
            side.ask(index)  # warm up
        samples: list[list[float]] = [[] for _ in sides]
        for turn in range(rounds):
            order = range(len(sides)) if turn % 2 == 0 else reversed(range(len(sides)))
            for which in order:
                samples[which].append(sides[which].ask(index))
        table.append((title, unit, [statistics.median(values) for values in samples]))
    return table


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--other", type=Path, help="another checkout, to compare with")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return
    sides = [Side(HERE.parent)] + ([Side(options.other.resolve())] if options.other else [])
    print(
        f"{'one OS thread, block 256':<36}{'':<14}{'this':>10}"
        + (f"{'other':>10}{'ratio':>8}" if options.other else "")
    )
    for title, unit, medians in compare(sides, options.rounds):
        line = f"{title:<36}{unit:<14}" + "".join(f"{median:>10.2f}" for median in medians)
        print(line + (f"{medians[1] / medians[0]:>8.2f}" if len(medians) > 1 else ""))
    for side in sides:
        side.close()


if __name__ == "__main__":
    main()
