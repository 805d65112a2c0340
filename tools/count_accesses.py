"""Compares what `runner.kernel.access` calculates of accesses with what a GPU counts, by Nsight Compute's counters.

    python tools/count_accesses.py OUT.csv

Needs a GPU, PyCUDA, nvcc and ncu. One process launches every case once, in order, under one ncu. Sizes divide evenly,
so that every block does what the first does, which is the one that the model looks at. Exit status: 0 all agree to
1 %, 1 some do not, 2 nothing could be counted.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import yaml

from runner.config import CONF
from runner.device.opening import compiler_for, open_device
from runner.errors import RunnerError
from runner.kernel import access, from_yaml
from runner.kernel.case import Case
from runner.kernel.resolve import make
from runner.settings import DeviceConfig
from runner.sweep.placing import launch_once

GPU = DeviceConfig(kind="cuda")
TOLERANCE = 0.01

TILES = "setRowReadRow setColReadCol setRowReadCol setColReadRow setRowReadColDyn setRowReadColPad setRowReadColDynPad"
TRANSPOSES = (
    "copyGmem transposeGmem transposeSmem transposeSmemPad transposeSmemDyn transposeSmemUnroll transposeSmemUnrollPad"
)
VECTORS = "copyVector transposeTile transposeSwizzle transposeVector"  # not transposeShifted: its first block is unlike

# By column: what is counted, and in how many requests.
# The wavefronts are those that the addresses ask for (`sass`); the counter of the data pipe itself also has passes that
# shared memory lost to global loads and stores at the same time, some per cent more, and never the same number twice.
WAVEFRONTS = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{}.sum", "smsp__inst_executed_op_shared_{}.sum"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_{}.sum"
COUNTERS = {
    access.column(memory, kind): tuple(metric.format(short) for metric in metrics)
    for memory, metrics in (("shared", WAVEFRONTS), ("global", SECTORS))
    for kind, short in (("load", "ld"), ("store", "st"))
}


def cases() -> Iterator[Case]:
    """What is launched, in this order. Beside 4-byte elements some of 8 and 2: their rules are others."""
    for name in TILES.split():
        for block in ("32x32", "32x16", "16x32"):
            yield _case(name, block=block, blocks=64)
        yield _case(name, block="32x32", blocks=64, dtype="int64")
    for stride in (0, 1, 2, 4, 8, 16, 32, 33):
        yield _case("bankAccess", stride=stride, block=256, blocks=64)
    for stride in (0, 1, 2, 16):
        yield _case("bankAccess", stride=stride, block=256, blocks=64, dtype="int64")
    for name in TRANSPOSES.split():
        for block in ("32x32", "32x8"):
            yield _case(name, block=block, size="1024x2048")
        for dtype in ("float64", "float16"):
            yield _case(name, block="32x32", size="1024x2048", dtype=dtype)
    for name in VECTORS.split():
        for dtype in ("float32", "float64"):
            yield _case(name, block=256, size="1024x2048", dtype=dtype)


def _case(name: str, **requested: object) -> Case:
    path = CONF / "kernel" / f"{name}.yaml"
    kernel = from_yaml.read(name, yaml.safe_load(path.read_text(encoding="utf-8")), path)
    case = make(kernel, requested, 0)
    if case.excluded:
        raise SystemExit(f"{case.label}: {case.excluded}")
    return case


def launch_all() -> None:
    """Launch every case once. This is the process that ncu looks into."""
    device = open_device(GPU)
    compiler = compiler_for(GPU, device.info)
    for case in cases():
        launch_once(device, case, compiler.compile(case.source()))
        _say(f"launched {case.label}")
    device.close()


def compile_all() -> None:
    """Fill the compiler's cache, so that nothing but launches is left for ncu to look into."""
    device = open_device(GPU)
    compiler = compiler_for(GPU, device.info)
    device.close()
    sources = list(dict.fromkeys(case.source() for case in cases()))
    _say(f"compiling {len(sources)} variants for {device.info.name}")
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        list(pool.map(compiler.compile, sources))


def count() -> list[dict[str, str]]:
    """Run all launches under ncu.

    Returns:
        The counters of each launch, by name, in the order of the launches.
    """
    names = "|".join(sorted({case.kernel.name for case in cases()}))
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "ncu.csv"
        command = ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base"]
        command += ["--target-processes", "all", "--kernel-name", f"regex:^({names})$"]
        command += ["--metrics", ",".join(m for pair in COUNTERS.values() for m in pair), "--log-file", str(log)]
        _say("starting ncu")
        done = subprocess.run([*command, sys.executable, __file__, "--launch"], check=False, stdout=sys.stderr)
        text = log.read_text(encoding="utf-8") if log.exists() else ""
    if done.returncode:
        raise RunnerError(f"ncu ended with {done.returncode}; it said: {text}")
    return parsed(text)


def parsed(text: str) -> list[dict[str, str]]:
    """Ncu's table, without its own messages: one row a launch, or one row a launch and metric (`--page details`)."""
    lines = text.splitlines()
    first = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), len(lines))
    rows: dict[str, dict[str, str]] = {}
    for row in csv.DictReader(lines[first:]):
        if not row["ID"]:  # the line of units
            continue
        launch = rows.setdefault(row["ID"], {})
        launch.update({row["Metric Name"]: row["Metric Value"]} if "Metric Name" in row else row)
        launch["Kernel Name"] = row["Kernel Name"]
    return list(rows.values())


def measured(launch: dict[str, str]) -> dict[str, float | None]:
    """Wavefronts or sectors a request, by column; `None` where there was no request."""
    found: dict[str, float | None] = {}
    for column, metrics in COUNTERS.items():
        try:
            units, requests = (float(launch[metric].replace(",", "")) for metric in metrics)
        except (KeyError, ValueError) as e:
            raise RunnerError(f"ncu gave no {' or no '.join(metrics)} for {launch['Kernel Name']}: {e}") from None
        found[column] = units / requests if requests else None
    return found


def agree(computed: float | None, counted: float | None) -> bool:
    """Whether both say the same, to 1 %; or both say that there is no such access."""
    if computed is None or counted is None:
        return computed is counted
    return abs(computed - counted) <= TOLERANCE * max(computed, counted)


def table(launches: list[dict[str, str]]) -> list[dict[str, Any]]:
    """Calculated beside measured, a row a case."""
    names = [case.kernel.name for case in cases()]
    if [launch["Kernel Name"].partition("(")[0] for launch in launches] != names:
        raise RunnerError(f"ncu counted {len(launches)} launches, not these {len(names)}: {' '.join(names)}")
    rows = []
    for case, launch in zip(cases(), launches, strict=True):
        computed, counted = access.costs(case), measured(launch)
        row: dict[str, Any] = {"kernel": case.kernel.name, "block": dict(case.parameters)["block"]}
        row["parameters"] = " ".join(f"{n}={v}" for n, v in case.chosen.items() if n != "block")
        for column in COUNTERS:
            row[f"{column}_computed"], row[f"{column}_measured"] = computed[column], counted[column]
        row["differ"] = " ".join(c for c in COUNTERS if not agree(computed[c], counted[c]))
        rows.append(row)
    return rows


def main() -> int:
    """Compile, count, compare, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", type=Path, help="the table to write")
    parser.add_argument("--launch", action="store_true", help="only launch all cases: what runs under ncu")
    arguments = parser.parse_args()
    try:
        if arguments.launch:
            launch_all()
            return 0
        if arguments.out is None:
            parser.error("a file to write the table to is expected")
        compile_all()
        rows = table(count())
    except (RunnerError, OSError) as e:
        return _gave_up(str(e))
    with arguments.out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    wrong = [f"{row['kernel']} {row['block']} {row['parameters']}: {row['differ']}" for row in rows if row["differ"]]
    compared = sum(row[f"{c}_computed"] is not None for row in rows for c in COUNTERS)
    differing = sum(len(row["differ"].split()) for row in rows)
    print("".join(f"differ: {line}\n" for line in wrong), end="")
    print(f"{compared - differing} of {compared} quantities of {len(rows)} cases agree to 1 %")
    return 1 if wrong else 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _gave_up(reason: str) -> int:
    _say(f"nothing could be counted: {reason}")
    return 2


if __name__ == "__main__":
    sys.exit(main())
