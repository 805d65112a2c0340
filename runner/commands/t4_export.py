"""Write a run's results as a T4 file: the work of `runner export`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from runner.display.text import plain
from runner.errors import UsageError
from runner.importer import t4_format
from runner.importer.t4_format import NONE, Result
from runner.kernel import metrics
from runner.record import runs, samples, stored_rows
from runner.record.folder import RunFolder
from runner.statistics import unthrottled


def export(name: str, path: Path | None) -> None:
    """Export the run `name` to a new file, or to stdout.

    Raises UsageError if the run or the file is unusable, no case is finished, or the run does not fit into a T4 file.
    """
    folder = RunFolder(runs.find_one(name))
    with runs.reading(name):
        environment = runs.environment(folder.path)
        rows = _rows(folder, environment)
        devices = [d.get("name") for d in runs.section(environment, "devices").values() if isinstance(d, dict)]
        version = environment.get("runner")
        metadata = {"timeunit": "ms", "device": rows[0]["device"], "names": devices, "runner": version}
        text = t4_format.as_text(_results(folder, rows), metadata)
    if path is None:
        sys.stdout.write(text)
    else:
        t4_format.write(path, text)
        sys.stderr.write(plain(f"Written: {path}") + "\n")


def _rows(folder: RunFolder, environment: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows of the finished cases, all on one device."""
    rows = [row for row in stored_rows.collect(folder) if row["status"] != "not_run"]
    if not rows and (origin := environment.get("imported")):
        raise UsageError(f"{folder.path}: this run was imported from {origin}; use that file instead")
    if not rows:
        raise UsageError(f"{folder.path}: no case of this run is finished")
    if len(devices := dict.fromkeys(row["device"] for row in rows)) > 1:
        raise UsageError(
            f"{folder.path}: the run has results of {', '.join(devices)}; a T4 file holds one time per configuration, "
            "so export a run on one device"
        )
    return rows


def _results(folder: RunFolder, rows: Sequence[Mapping[str, Any]]) -> Iterator[Result]:
    """Convert rows to T4 results. With several kernels, add the key `kernel`, and `NONE` for missing keys."""
    parameters = {row["job"]: (folder.record(row["job"]) or {})["parameters"] for row in rows}
    names = dict.fromkeys(name for own in parameters.values() for name in own)
    several = len({row["kernel"] for row in rows}) > 1
    written = set()
    for row in rows:
        own = parameters[row["job"]]
        stored = samples.read(folder, folder.samples(str(row["case"]), int(row["job"])))
        times = np.zeros(0) if stored is None or row["status"] != "ok" else unthrottled(stored)["us"]
        configuration = ({"kernel": row["kernel"]} if several else {}) | {name: own.get(name, NONE) for name in names}
        if (key := tuple(configuration.values())) in written:
            raise UsageError(
                f"{folder.path}: job {row['job']} of {row['kernel']} has the same parameters as an earlier one (with "
                "another seed or compiler, perhaps); a T4 file holds one time per configuration"
            )
        written.add(key)
        yield Result(configuration, row["status"], times, metrics.median_us(row))
