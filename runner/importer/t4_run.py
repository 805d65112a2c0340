"""Convert a T4 file, the results of another tuner, to a run folder for `report`, `list`, `compare` and Python."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from dataclasses import astuple
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from runner import columns
from runner.device.kinds import RECORDING, is_gpu
from runner.errors import UsageError
from runner.importer import t4_format
from runner.kernel.declaration import VOCABULARY, Kind, canonical, pair, threads, value_text
from runner.record import runs, stored_rows
from runner.record.folder import RunFolder
from runner.record.samples import append_round
from runner.record.stored_rows import Row
from runner.statistics import SAMPLE, Samples, summarize_rounds

KERNEL = "kernel"  # the key that names the kernel in an exported run of several kernels
IMPORTED = "imported"  # the default folder below outputs/


def write_run(file: Path, kernel: str | None, into: Path | None) -> str:
    """Write the run folder of a T4 file, by default `outputs/imported/FILE`; returns the line to print.

    `kernel` names results that do not name their kernel; by default the file does. Raises UsageError if the file is
    not T4, the folder exists, or a parameter has the name of a column.
    """
    entries, metadata = t4_format.read(file)
    stem = re.sub(r"\W+", "_", file.name.partition(".")[0]).strip("_") or "recorded"
    names = [name for name in entries[0].configuration if name != KERNEL]
    if reserved := [name for name in names if name in columns.RESERVED or not name.isidentifier()]:
        why = "is reserved" if reserved[0].isidentifier() else "is not an identifier"
        raise UsageError(f"{file}: the parameter '{reserved[0]}' cannot be a column of results.csv: this name {why}")
    folder = RunFolder(into or runs.OUTPUTS / IMPORTED / stem)
    if folder.path.exists():
        raise UsageError(f"{folder.path}: already exists; nothing is written. --into FOLDER chooses another folder")
    on_gpu = is_gpu(str(metadata.get("device")))
    rows = [_row(number, entry, kernel or stem, file, on_gpu=on_gpu) for number, entry in enumerate(entries)]
    table = stored_rows.as_csv(rows)
    folder.path.mkdir(parents=True)
    command = shlex.join(["python", "-m", "runner", "import", str(file)])
    started = datetime.now(UTC).isoformat(timespec="seconds")
    environment = {"started_utc": started, "command": command, "imported": file.name, "devices": {}}
    folder.write_json(folder.environment, environment)
    for row, entry in zip(rows, entries, strict=True):
        if len(entry.times_us) and entry.status == "ok":
            append_round(folder, folder.samples(row["case"], row["job"]), _samples(entry), 1)
    folder.write(folder.results, table)
    report = f"python -m runner report {shlex.quote(str(folder.path))}"
    return f"{folder.path}: {len(rows):,} results of {file}. The report: {report}\n"


def _row(number: int, entry: t4_format.Result, kernel: str, file: Path, *, on_gpu: bool) -> Row:
    """Make the row of an entry. Times that were not measured on a GPU go to `emulated_us`."""
    values = {name: value for name, value in entry.configuration.items() if value != t4_format.NONE}
    kernel = str(values.pop(KERNEL, kernel))
    content = json.dumps([kernel, values], sort_keys=True).encode()  # equal for equal cases of two imports
    row: Row = {"case": hashlib.sha256(content).hexdigest()[:12], "kernel": kernel}
    for name, value in values.items():
        row |= _parameter(name, value, f"{file}: results[{number}]")
    row |= {"device": RECORDING, "status": entry.status, "job": number}
    if entry.status != "ok":
        return {**row, "reason": f"recorded as {entry.status} in {file.name}"}
    times: dict[str, Any] = {"median_us": entry.time_us}
    if len(entry.times_us):
        names = ("samples", "median_us", "ci_low_us", "ci_high_us", "min_us", "q1_us", "q3_us")
        times = {"rounds": 1, **dict(zip(names, astuple(summarize_rounds(_samples(entry))), strict=True))}
    return {**row, **(times if on_gpu else {"emulated_us": times["median_us"]})}


def _parameter(name: str, value: Any, where: str) -> Row:
    """The columns of a parameter; a `UsageError` if it has the name of a built-in one, and a value invalid for it."""
    kind = VOCABULARY.get(name)
    if kind is None or name not in columns.BY_NAME:
        return {name: value}
    try:
        canonical_value = canonical(name, kind, value)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None
    if kind is Kind.SIZE and isinstance(canonical_value, str):
        rows, cols = pair(canonical_value)
        return {name: rows * cols, "rows": rows, "cols": cols}
    if kind is Kind.BLOCK:
        block = threads(canonical_value)
        return {name: canonical_value, f"{name}_x": block[0], f"{name}_y": block[1]}
    return {name: value_text(kind, canonical_value) if kind is Kind.MASK else canonical_value}


def _samples(entry: t4_format.Result) -> Samples:
    samples = np.zeros(len(entry.times_us), SAMPLE)
    samples["us"], samples["round"] = entry.times_us, 1
    return samples
