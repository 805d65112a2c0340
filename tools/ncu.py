"""Counting what launches do on a GPU, by Nsight Compute: run a command under ncu, and read the table that it writes."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from runner.device import Device
from runner.device.opening import compiler_for, open_device
from runner.errors import RunnerError
from runner.kernel import access
from runner.kernel.case import Case
from runner.settings import DeviceConfig
from runner.sweep.upload import launch_once

GPU = DeviceConfig(kind="cuda")

# What is counted, and in how many requests of a warp, for loads and stores.
# The wavefronts are those that the addresses ask for (`sass`); the counter of the data pipe itself also has passes that
# shared memory lost to global loads and stores at the same time, some per cent more, and never the same number twice.
WAVEFRONTS = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{}.sum", "smsp__inst_executed_op_shared_{}.sum"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_{}.sum"
REQUESTS = {
    access.column(memory, kind): (counted.format(short), requests.format(short))
    for memory, (counted, requests) in (("shared", WAVEFRONTS), ("global", SECTORS))
    for kind, short in (("load", "ld"), ("store", "st"))
}
"""By column of results.csv: the metrics of which it is the ratio."""

Launched = dict[str, str]
"""What ncu says of a launch: the kernel's name, and each metric by its own."""


def launch(cases: Sequence[Case]) -> None:
    """Launch each case once, in order. For the process that ncu looks into."""
    device = open_device(GPU)
    compiler = compiler_for(GPU, device.info)
    for at, case in enumerate(cases, 1):
        launch_once(device, case, compiler.compile(case.source()))
        say(f"launched {at}/{len(cases)} {case.label}")
    device.close()


@dataclass(frozen=True)
class Prepared:
    """What is to be counted: the GPU's name, and of each case the name of its machine code, as in results.csv."""

    gpu: str
    binaries: Sequence[str]


def prepare(cases: Sequence[Case]) -> Prepared:
    """Fill the compiler's cache, so that nothing but launches is left for ncu to look into.

    Raises:
        RunnerError: without ncu, a GPU or a compiler.
    """
    if not shutil.which("ncu"):
        raise RunnerError("ncu, of Nsight Compute, is not on the PATH; it comes with the CUDA toolkit")
    device: Device = open_device(GPU)
    compiler = compiler_for(GPU, device.info)
    device.close()
    sources = list(dict.fromkeys(case.source() for case in cases))
    say(f"compiling {len(sources)} variants for {device.info.name}")
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        binaries = dict(zip(sources, pool.map(compiler.compile, sources), strict=True))
    return Prepared(device.info.name, [binaries[case.source()].name for case in cases])


def count(command: Sequence[str], cases: Sequence[Case], metrics: Iterable[str]) -> list[Launched]:
    """Run a command that launches cases, under ncu. Clocks stay as they are; each launch finds the caches empty.

    Args:
        command: Which calls `launch` with these cases.
        cases: In order.
        metrics: Of ncu, by its names.

    Returns:
        The counters of each launch, in order.

    Raises:
        RunnerError: if ncu failed, or counted other launches.
    """
    names = [case.kernel.name for case in cases]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "ncu.csv"
        ncu = ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base"]
        ncu += ["--target-processes", "all", "--kernel-name", f"regex:^({'|'.join(sorted(set(names)))})$"]
        ncu += ["--metrics", ",".join(metrics), "--log-file", str(log)]
        say("starting ncu")
        done = subprocess.run([*ncu, *command], check=False, stdout=sys.stderr)
        text = log.read_text(encoding="utf-8") if log.exists() else ""
    launches = parsed(text)
    counted = [launched["Kernel Name"].partition("(")[0] for launched in launches]
    if done.returncode or counted != names:
        said = "; ".join(line for line in text.splitlines() if line.startswith(("==ERROR==", "==WARNING==")))
        ended = f"ncu ended with {done.returncode} and counted {len(counted)} of {len(names)} launches"
        ended += next(
            (f": {other} in place of {n}" for other, n in zip(counted, names, strict=False) if other != n), ""
        )
        raise RunnerError(f"{ended}; it said: {said or 'nothing'}")
    return launches


def parsed(text: str) -> list[Launched]:
    """Ncu's table, without its own messages: a row a launch."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    return [row for row in csv.DictReader(lines) if row["ID"]]  # without the line of units


def number(launched: Launched, metric: str) -> float:
    """The value of a metric.

    Raises:
        RunnerError: if ncu gave none.
    """
    try:
        return float(launched[metric].replace(",", ""))
    except (KeyError, ValueError) as e:
        raise RunnerError(f"ncu gave no {metric} for {launched['Kernel Name']}: {e}") from None


def ratio(units: float, requests: float) -> float | None:
    """Units a request; `None` where there was no request."""
    return units / requests if requests else None


def say(text: str) -> None:
    """Progress, to the terminal."""
    print(text, file=sys.stderr, flush=True)
