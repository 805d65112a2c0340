"""`python -m runner.calibrate`: how much the times of this device differ though nothing is changed (an A/A test).

One kernel at several sizes, each four times over as cases of their own that differ in nothing but their names (the
seed, which the content of their input does not depend on), measured thoroughly: five rounds, each in a fresh process.
Sweeps on the device take the noise into account from then on, where they say which cases cannot be told apart.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from runner import noise
from runner.cli import run_command, run_sweep
from runner.console import Console
from runner.device.kinds import AUTO, CHOICES, is_emulated
from runner.device.opening import kind_of
from runner.folder import RunFolder, read_json
from runner.hydra import app
from runner.report import ties
from runner.report.table import load, records, timed
from runner.session import Session
from runner.settings import DeviceConfig
from runner.summary import by_round, kept

ALIKE = 4  # cases that differ in nothing
SIZES = ("64Ki", "1Mi", "16Mi", "64Mi")
EMULATED_SIZES = ("4Ki", "64Ki", "1Mi")
KERNEL = ("kernel=reduceShflUnroll", "block=256", "unroll=8", "fill=index", "dtype=int32")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, keep, and show the noise of a device."""
    parser = argparse.ArgumentParser(
        prog="python -m runner.calibrate", description=(__doc__ or "").partition("\n\n")[2]
    )
    parser.add_argument("--device", choices=CHOICES, default=AUTO, help="which device; default: auto")
    given = parser.parse_args(arguments)
    return run_command(lambda: _calibrate(given.device))


def _calibrate(device: str) -> int:
    noise.make_room()
    session = Session()
    sizes = EMULATED_SIZES if is_emulated(kind_of(DeviceConfig(kind=device))) else SIZES
    seeds = ",".join(map(str, range(ALIKE)))
    command = [*KERNEL, f"size={','.join(sizes)}", f"seed={seeds}", f"device={device}", "timing=thorough"]
    if status := run_sweep(session, lambda: app.run(command, session)):
        return status
    folder = session.folder
    assert folder is not None  # noqa: S101  (a sweep that succeeded has one)
    rows = records(timed(load(folder.path)))
    measured: dict[str, Any] = next(iter((read_json(folder.environment) or {})["devices"].values()))
    groups = [list(g) for _, g in itertools.groupby(sorted(rows, key=lambda r: int(r["size"])), lambda r: r["size"])]
    medians = [[_rounds(folder, row) for row in group] for group in groups]
    points = [
        {"median_us": float(np.median([row["median_us"] for row in group])), **noise.measured([rounds])}
        for group, rounds in zip(groups, medians, strict=True)
    ]
    found = {"points": points, "rounds": int(rows[0]["rounds"]), "alike": ALIKE}
    path = noise.keep(str(measured["name"]), found)
    _show(groups, points, {**measured, "noise": found}, path)
    return 0


def _rounds(folder: RunFolder, row: dict[str, Any]) -> noise.Times:
    """The medians of a case's rounds."""
    samples = kept(np.load(folder.samples(row["case"], int(row["job"]))))
    return np.array([s.median for s in by_round(samples)])


def _show(
    groups: list[list[dict[str, Any]]], points: list[dict[str, float]], device: dict[str, Any], path: Path
) -> None:
    console = Console()
    heads = ("size", "median us", "between alike cases, %", "between rounds, %", "wrongly called slower")
    table = Table(*heads, title=f"Noise of {device['name']}", title_justify="left")
    for group, point in zip(groups, points, strict=True):
        near = ties.ties(group, ties.noise(group, device))
        table.add_row(
            f"{group[0]['size']:,}",
            f"{point['median_us']:,.2f}",
            f"{point['alike_percent']:.3f}",
            f"{point['round_percent']:.3f}",
            f"{len(group) - 1 - len(near.level) - len(near.unsure)} of {len(group) - 1}",
        )
    console.print(table)
    console.print(f"Kept in {path}: sweeps on this device take it into account.", soft_wrap=True, highlight=False)


if __name__ == "__main__":
    sys.exit(main())
