"""`python -m runner calibrate`: measure the noise of a GPU's times with identical cases (an A/A test).

Measure how much the times of identical cases differ on this GPU. Later sweeps use this noise to decide which cases are
tied. One kernel runs at several sizes; at each size four cases differ only in their seed, on which their input does not
depend. Each case takes five rounds, each in its own process.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from runner.cli import Parser, run_command
from runner.commands.run_sweep import run_sweep
from runner.compose import app
from runner.device.config import DeviceConfig
from runner.device.kinds import AUTO, CHOICES, is_gpu, kind_of, label
from runner.display.console import say, say_table
from runner.display.table import Table
from runner.display.terminal import Console
from runner.errors import UsageError
from runner.record import noise, ranking, samples
from runner.record.folder import RunFolder
from runner.record.run import read
from runner.statistics import round_medians, unthrottled
from runner.sweep.session import Session

ALIKE = 4  # identical cases of each size
SIZES = ("64Ki", "1Mi", "16Mi", "64Mi")
KERNEL = ("kernel=reduceShflUnroll", "block=256", "unroll=8", "fill=index", "dtype=int32")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, store and show the noise of a GPU; returns the exit status."""
    parser = Parser("calibrate", (__doc__ or "").partition("\n\n")[2])
    parser.add_argument("--device", choices=CHOICES, default=AUTO, help=f"the device; default: {AUTO}")
    device = parser.parse_args(arguments).device
    return run_command(lambda: _calibrate(device))


def _calibrate(device: str) -> int:
    kind = kind_of(DeviceConfig(kind=device))
    if not is_gpu(kind):
        raise UsageError(f"the times of {label(kind)} are never ranked: calibrating needs a GPU")
    noise.make_folder()
    session = Session()
    sizes, seeds = ",".join(SIZES), ",".join(map(str, range(ALIKE)))
    command = [*KERNEL, f"size={sizes}", f"seed={seeds}", f"device={device}", "timing=thorough"]
    status = run_sweep(session, lambda: app.run(command, session))
    if status == 0 and session.folder:
        store_noise(session.folder, Console())
    return status


def store_noise(folder: RunFolder, console: Console) -> None:
    """Compute the noise from a finished sweep of identical cases, store it and print a table by size."""
    rows = sorted(read(folder.path).measured.rows, key=lambda row: int(row["size"]))
    device: dict[str, Any] = next(iter((folder.json(folder.environment) or {})["devices"].values()))
    groups = [list(group) for _, group in itertools.groupby(rows, lambda row: row["size"])]
    points = []
    for group in groups:
        stored = [samples.read(folder, folder.samples(row["case"], int(row["job"]))) for row in group]
        medians = [round_medians(unthrottled(times)) for times in stored if times is not None]
        measured = noise.deviations_percent(medians)
        points.append({"median_us": float(np.median([row["median_us"] for row in group])), **measured})
    content = {"points": points, "rounds": int(rows[0]["rounds"]), "alike": ALIKE}
    path = noise.store(str(device["name"]), content)
    heads = ("size", "median us", "between identical cases, %", "between rounds, %", "wrongly called slower")
    lines = []
    for group, point in zip(groups, points, strict=True):
        ranked = ranking.rank(group, ranking.noise(group, {**device, "noise": content}))
        others = len(group) - 1
        wrong = f"{others - len(ranked.tied) - len(ranked.undecided)} of {others}"
        percents = [f"{point[f'{name}_percent']:.3f}" for name in ("alike", "round")]
        lines.append((f"{group[0]['size']:,}", f"{point['median_us']:,.2f}", *percents, wrong))
    say(console, f"Noise of {device['name']}:", "bold")
    say_table(console, Table.of(heads, lines))
    console.print(f"Stored in {path}. Later sweeps on this GPU use it.", soft_wrap=True, highlight=False)


if __name__ == "__main__":
    sys.exit(main())
