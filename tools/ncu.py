"""Counts what launches do on a GPU: runs a command under Nsight Compute and reads its table."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from runner import lines
from runner.device.kinds import compiler_for, open_device
from runner.errors import RunnerError
from runner.kernel.case import Case
from runner.settings import DeviceConfig
from runner.sweep.trial import launch_once

GPU = DeviceConfig(kind="cuda")

# Counters of units and of a warp's requests, for loads and stores. The `sass` wavefronts depend on the addresses only.
# The counter of the data pipe also counts stalls by concurrent global accesses, and varies from run to run.
WAVEFRONTS = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{}.sum", "smsp__inst_executed_op_shared_{}.sum"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_{}.sum"
REQUESTS = {
    lines.column(memory, kind): (counted.format(short), requests.format(short))
    for memory, (counted, requests) in (("shared", WAVEFRONTS), ("global", SECTORS))
    for kind, short in (("load", "ld"), ("store", "st"))
}
"""By column of results.csv: the two metrics whose ratio it is."""

INSTRUCTIONS = "smsp__inst_executed.sum"
HIT = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum"
LATENCY = "smsp__average_warp_latency_per_inst_issued.ratio"
STALLED = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
WAITS = {
    "memory": ("long_scoreboard", "lg_throttle"),
    "shared memory": ("short_scoreboard", "mio_throttle"),
    "barrier": ("barrier",),
    "fence": ("membar",),
    "stores": ("drain",),
    "instructions": ("no_instruction", "branch_resolving", "imc_miss"),
    "arithmetic": ("math_pipe_throttle", "wait"),
}
"""What a warp waits for, by Nsight Compute's stall reasons."""

ACCESSES = tuple(metric for pair in REQUESTS.values() for metric in pair)
ALL = (INSTRUCTIONS, HIT, LATENCY, *ACCESSES, *(STALLED.format(reason) for those in WAITS.values() for reason in those))

Launched = dict[str, str]
"""A launch's row of ncu's table, by column: the kernel's name and each metric."""


def launch(cases: Sequence[Case]) -> None:
    """Launch each case once, in order; this runs under ncu."""
    device = open_device(GPU)
    compiler = compiler_for(GPU, device.info)
    for at, case in enumerate(cases, 1):
        launch_once(device, case, compiler.compile(case.source()))
        say(f"launched {at}/{len(cases)} {case.label}")
    device.close()


def prepare(cases: Sequence[Case]) -> None:
    """Fill the compiler's cache, so that ncu sees only launches.

    Raises:
        RunnerError: without ncu, a GPU or a compiler.
    """
    if not shutil.which("ncu"):
        raise RunnerError("ncu is not on the PATH. It belongs to Nsight Compute and comes with the CUDA toolkit.")
    device = open_device(GPU)
    compiler = compiler_for(GPU, device.info)
    device.close()
    sources = list(dict.fromkeys(case.source() for case in cases))
    say(f"compiling {len(sources)} variants for {device.info.name}")
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        list(pool.map(compiler.compile, sources))


def count(command: Sequence[str], cases: Sequence[Case], metrics: Iterable[str], caches: str = "all") -> list[Launched]:
    """Run a command under ncu that calls `launch` with these cases; returns each case's counters, in order.

    Clocks are not changed. `caches="all"` flushes the caches before each launch, "none" does not.

    Raises:
        RunnerError: if ncu failed, or counted other launches.
    """
    names = [case.source().plain_function for case in cases]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "ncu.csv"
        ncu = f"ncu --clock-control none --cache-control {caches} --csv --page raw --print-units base".split()
        ncu += ["--target-processes", "all", "--kernel-name", f"regex:^({'|'.join(sorted(set(names)))})$"]
        ncu += ["--metrics", ",".join(metrics), "--log-file", str(log)]
        say("starting ncu")
        done = subprocess.run([*ncu, *command], check=False, stdout=sys.stderr)
        text = log.read_text(encoding="utf-8") if log.exists() else ""
    lines = [line for line in text.splitlines() if line.startswith('"')]  # drop ncu's messages
    launches = [row for row in csv.DictReader(lines) if row["ID"]]  # drop the line of units
    counted = [launched["Kernel Name"].partition("(")[0] for launched in launches]
    if done.returncode or counted != names:
        said = "; ".join(line for line in text.splitlines() if line.startswith(("==ERROR==", "==WARNING==")))
        ended = f"ncu ended with {done.returncode} and counted {len(counted)} of {len(names)} launches"
        other = next((f": {c} instead of {n}" for c, n in zip(counted, names, strict=False) if c != n), "")
        raise RunnerError(f"{ended}{other}. It said: {said or 'nothing'}")
    return launches


def number(launched: Launched, metric: str) -> float:
    """The value of a metric.

    Raises:
        RunnerError: if ncu gave none.
    """
    try:
        return float(launched[metric].replace(",", ""))
    except (KeyError, ValueError) as e:
        raise RunnerError(f"ncu gave no {metric} for {launched['Kernel Name']}: {e}") from None


def ratio(launched: Launched, units: str, requests: str) -> float | None:
    """Units per request; `None` without a request."""
    made = number(launched, requests)
    return number(launched, units) / made if made else None


def say(text: str) -> None:
    """Show progress on the terminal."""
    print(text, file=sys.stderr, flush=True)
