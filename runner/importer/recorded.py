"""Turns a T4 file, the results of another tuner, into a run folder, which all commands and Python read like others."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import astuple
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from runner import columns, t4
from runner.device.kinds import KINDS, RECORDING
from runner.errors import UsageError
from runner.kernel.declaration import VOCABULARY, Kind, written
from runner.record import runs
from runner.record.folder import RunFolder
from runner.record.samples import append_round
from runner.statistics import SAMPLE, of_rounds
from runner.sweep import results
from runner.sweep.results import Row

KERNEL = "kernel"  # the parameter by which an exported run of several kernels tells them apart
IMPORTED = "imported"  # the folder below outputs/ of what is given no folder


def of_t4(file: Path, kernel: str | None, into: Path | None) -> str:
    """Write the run folder of a T4 file.

    Args:
        file: The T4 file; it may be compressed by gzip.
        kernel: The name of the kernel; without one, that in the file, and otherwise the file's own name.
        into: The folder, which must not be there; without one, `outputs/imported/FILE`.

    Returns:
        What to say.

    Raises:
        UsageError: The file is not T4, the folder is there, or a parameter has the name of a column.
    """
    entries, metadata = t4.read(file)
    stem = re.sub(r"\W+", "_", file.name.partition(".")[0]).strip("_") or "recorded"
    names = [name for name in entries[0].configuration if name != KERNEL]
    if taken := [name for name in names if name in columns.RESERVED or not name.isidentifier()]:
        raise UsageError(f"{file}: the parameter '{taken[0]}' cannot be a column of results.csv")
    folder = RunFolder(into or runs.OUTPUTS / IMPORTED / stem)
    if folder.path.exists():
        raise UsageError(f"{folder.path}: already exists; nothing is written. --into FOLDER chooses another folder")
    folder.path.mkdir(parents=True)
    device = str(metadata.get("device"))
    about = {
        "started_utc": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": shlex.join(["python", "-m", "runner", "import", str(file)]),
        "imported": file.name,
        "devices": {},
    }
    folder.write_json(folder.environment, about)
    rows = [
        _row(number, entry, kernel or stem, device if device in KINDS else RECORDING, file, folder)
        for number, entry in enumerate(entries)
    ]
    folder.write(folder.results, results.as_csv(rows))
    words = f"python -m runner report {shlex.quote(str(folder.path))}"
    return f"{folder.path}: {len(rows):,} results of {file}. The report: {words}\n"


def _row(number: int, entry: t4.Result, kernel: str, device: str, file: Path, folder: RunFolder) -> Row:
    """The row of an entry; its samples are written."""
    values = {name: value for name, value in entry.configuration.items() if value != t4.NONE}
    kernel = str(values.pop(KERNEL, kernel))
    case = _hash(kernel, values)
    given = {
        name: written(VOCABULARY[name], v) if VOCABULARY.get(name) is Kind.MASK else v for name, v in values.items()
    }
    row: Row = {"case": case, "kernel": kernel, **given, "device": device, "status": entry.status, "job": number}
    if entry.status != "ok":
        return {**row, "reason": f"{file.name} calls it {entry.status}"}
    times: dict[str, Any] = {"median_us": entry.time_us}
    if len(entry.times_us):
        samples = np.zeros(len(entry.times_us), SAMPLE)
        samples["us"] = entry.times_us
        found = of_rounds(append_round(folder, folder.samples(case, number), samples, 1))
        names = ("samples", "median_us", "ci_low_us", "ci_high_us", "min_us", "q1_us", "q3_us")
        times = {"rounds": 1, **dict(zip(names, astuple(found), strict=True))}
    return {**row, **(times if device not in KINDS or KINDS[device].is_gpu else {"emulated_us": times["median_us"]})}


def _hash(kernel: str, values: Mapping[str, Any]) -> str:
    """What joins the cases of two imports."""
    return hashlib.sha256(json.dumps([kernel, values], sort_keys=True).encode()).hexdigest()[:12]
