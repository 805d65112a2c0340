"""Whether the CPU device and a GPU agree: 300 random cases of all kernels that run on both, launched once on each.

    python tools/agreement.py OUT.csv [--cases 300] [--seed 1]

Integers must agree bit for bit. Floats must lie within the stated bound of the reference on both devices. Elements that
CUDA leaves undefined are not compared. Needs a GPU, PyCUDA, nvcc and g++. Exit status: 0 all agree, 1 a case does not,
2 a device is missing.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import shipped

from runner.bounds.rounding import is_float
from runner.device import Binary, Device
from runner.device.config import DeviceConfig
from runner.device.kinds import CPU, CUDA, compiler_for, open_device
from runner.errors import RunnerError
from runner.kernel.case import Case
from runner.kernel.check import check
from runner.kernel.declaration import NEUTRAL, Kernel
from runner.kernel.reference import Expected, expect
from runner.kernel.resolve import make
from runner.sweep.trial import contents, launch_once

Outputs = dict[str, np.ndarray[Any, Any]]

FLAT = [1, 16, 32, 35, 64, 96, 100, 128, 256, 1000, 1024]
SQUARE = ["32x32", "32x16", "16x32", "32x8", "8x8", "7x5", "64x4", "1x32", "33x3"]
MATRICES = ["1x1", "1x100", "100x1", "32x32", "33x31", "64x128", "100x300", "257x129"]
POOLS: dict[str, list[Any]] = {
    "size": [1, 31, 32, 33, 100, 1000, 1025, 4096, 65537, 100_000],
    "width": [1, 2, 4, 8, 16, 32],
    "mask": [0xFFFFFFFF, 0xFFFFFFFF, 0x0000FFFF, 0x00FF00FF, 0xFFFF0000, 0xF0F0F0F0],
    "unroll": [1, 2, 3, 4, 8, 16],
    "src_lane": [0, 2, 3, 15, 31, 40],
    "delta": [0, 1, 2, 5, 16, 31, 33],
    "offset": [-33, -2, -1, 0, 1, 2, 31],
    "lane_mask": [1, 2, 3, 8, 16, 31, 63],
    "per_thread": [1, 2, 4, 7],
    "first": [0, 1],
    "second": [0, 3],
    "pad": [0, 1, 2, 3],
    "blocks": [1, 2, 7, 100],
    "stride": [0, 1, 2, 3, 16, 32, 33],
    "loads": [1, 2, 100],
    "arg": [0, 1234, -5, 2**31 - 1],
    "repaired": [1],
    "cache": ["none"],
    "tile_rows": [32, 64, 128],
    "tile_cols": [32, 64, 128],
    "inner": [1, 5, 16, 100],
    "per_x": [1, 2, 4],
    "per_y": [1, 2, 4],
    "depth": [1, 4, 8, 16],
    "unroll_k": [1, 2, 4],
    "group": [1, 2, 3],
}
TRIES = 10_000  # draws for one valid case; one in ten is valid for transposeVector


def main() -> int:
    """Draw cases, run them on both devices, compare, write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("table", type=Path, help="the CSV to write")
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.cases < 1:
        parser.error(f"--cases {arguments.cases}: must be at least 1")
    cases = list(drawn(arguments.cases, random.Random(arguments.seed)))  # noqa: S311  (nothing is secret here)
    try:
        first, other = (open_device(DeviceConfig(kind=kind)) for kind in (CPU, CUDA))
        arguments.table.parent.mkdir(parents=True, exist_ok=True)
    except (RunnerError, OSError) as e:
        print(f"agreement: {e}", file=sys.stderr)
        return 2
    results = [launched(device, cases) for device in (first, other)]
    table = pd.DataFrame([compared(case, *pair) for case, *pair in zip(cases, *results, strict=True)])
    table.to_csv(arguments.table, index=False, lineterminator="\n")
    print(f"{other.info.name} against the CPU device, {len(table)} cases over {table.kernel.nunique()} kernels:")
    for kind, part in table.groupby("elements"):
        print(f"{kind}: {int(part.agree.sum())} of {len(part)} agree, {int(part['identical'].sum())} bit for bit")
    print(f"{int(table.compared.sum())} elements compared, {int(table.undefined.sum())} undefined ones not compared")
    for device in (first, other):
        device.close()
    return 0 if table.agree.all() else 1


def drawn(count: int, draw: random.Random) -> Iterator[Case]:
    """Distinct valid cases, evenly distributed over the kernels."""
    shared = [kernel for kernel in shipped.kernels().values() if not kernel.gpu_only]
    seen: set[str] = set()
    for kernel in islice(cycle(shared), count):
        case = _another(kernel, seen, draw)
        seen.add(case.id)
        yield case


def _another(kernel: Kernel, seen: set[str], draw: random.Random) -> Case:
    for _ in range(TRIES):
        case = make(kernel, {p.name: _value(kernel, p.name, draw) for p in kernel.parameters}, draw.randrange(1000))
        if not case.excluded and case.id not in seen:
            return case
    raise SystemExit(f"{kernel.name}: {TRIES} draws gave no new valid case")


def _value(kernel: Kernel, name: str, draw: random.Random) -> Any:
    declared = kernel.parameter(name)
    if name == "block":
        return draw.choice(SQUARE if any("block_y" in e.text for _, e in kernel.macros) else FLAT)
    if name == "size" and declared is not None and "x" in str(declared.default):
        return draw.choice(MATRICES)
    if name in POOLS:
        return draw.choice(POOLS[name])
    if name in NEUTRAL:
        return NEUTRAL[name]
    if declared is not None and declared.allowed:
        return draw.choice(declared.allowed)
    raise SystemExit(f"{kernel.name}: tools/agreement.py has no values for its parameter '{name}'")


def launched(device: Device, cases: list[Case]) -> list[Outputs | str]:
    """Each case's outputs, or its error."""
    compiler = compiler_for(DeviceConfig(kind=device.info.kind), device.info)
    print(f"compiling for {device.info.name}", file=sys.stderr)
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        compiled = [pool.submit(compiler.compile, case.source()) for case in cases]
    print(f"running on {device.info.name}", file=sys.stderr)
    return [_launched(device, case, binary) for case, binary in zip(cases, compiled, strict=True)]


def _launched(device: Device, case: Case, compiled: Future[Binary]) -> Outputs | str:
    try:
        return launch_once(device, case, compiled.result())[0]
    except RunnerError as e:
        return str(e)


def compared(case: Case, first: Outputs | str, other: Outputs | str) -> dict[str, Any]:
    """One row: how many elements were compared, and whether the devices agree."""
    row: dict[str, Any] = {"case": case.id, "kernel": case.kernel.name, "parameters": case.label.partition(" ")[2]}
    row |= {"seed": case.seed, "elements": "none", "compared": 0, "undefined": 0, "identical": False, "agree": False}
    if isinstance(first, str) or isinstance(other, str):
        failed = ((CPU, first), (CUDA, other))
        return row | {"why": "; ".join(f"{kind}: {outcome}" for kind, outcome in failed if isinstance(outcome, str))}
    expected = expect(case, contents(case))
    verdicts = [
        check(outputs, expected.outputs, case.count("depth"), case.kernel.tolerance) for outputs in (first, other)
    ]
    identical = all(_identical(first[name], other[name], expected, name) for name in expected.outputs)
    floats = any(is_float(first[name].dtype) for name in expected.outputs)
    return row | {
        "elements": "floats" if floats else "integers",
        "compared": verdicts[0].compared,
        "undefined": sum(first[name].size for name in expected.outputs) - verdicts[0].compared,
        "identical": identical,
        "agree": all(v.ok for v in verdicts) and (floats or identical),
        "why": "; ".join(v.reason for v in verdicts if not v.ok),
    }


def _identical(first: Any, other: Any, expected: Expected, name: str) -> bool:
    """Whether all defined elements have the same bits."""
    defined = expected.outputs[name].defined
    kept = np.ones(first.shape, bool) if defined is None else np.broadcast_to(defined, first.shape)
    return bool(first[kept].tobytes() == other[kept].tobytes())


if __name__ == "__main__":
    raise SystemExit(main())
