"""What the history keeps of a run: who measured what and when, and the columns that are drawn and compared."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from runner.compare import runs as compared
from runner.compare.runs import Compared, Row
from runner.device.kinds import is_gpu
from runner.display.terminal import SweepProgress
from runner.display.text import one_line, slug
from runner.errors import UsageError
from runner.history.index import Index
from runner.record import runs
from runner.record.folder import RunFolder
from runner.record.ranking import IDLE
from runner.record.runs import section
from runner.record.shards import running

COUNTS = {
    "global_load_sectors": "global load sectors", "global_store_sectors": "global store sectors",
    "shared_load_wavefronts": "shared load wavefronts", "shared_store_wavefronts": "shared store wavefronts",
}  # fmt: skip
"""The columns of counted memory work, per request of a warp, and their names for readers."""

COLUMNS = (
    *("case", "kernel", "rows", "cols", "device", "place", "status", "reason", "emulated", "jobs"),
    *("median_us", "ci_low_us", "ci_high_us", "min_us", "q1_us", "q3_us", "throttled"),
    *("binary", "grid", "block", "shared_dynamic", "value", "undefined_reads"),
    *("compiler", "launcher", "registers", "local_bytes", "sm_mhz", "temperature_c"),
    *COUNTS,
)
"""The columns that are kept beside the parameters: what is drawn, and what `runner.compare` asks for."""

MAX_TEXT = 200  # characters of a cell
WITHOUT_WORD = ("started_utc", "resumed_utc")  # entries of environment.json that differ in every run


@dataclass(frozen=True)
class Summary:
    """What the history keeps of a run."""

    name: str  # its path below the root
    started: str  # as `2026-11-03 12:00`, in UTC
    rows: list[Row]
    parameters: list[str]
    environment: dict[str, Any]
    experiment: str  # that its command names; empty if it names none
    stamp: str  # of the files that it was read from

    @cached_property
    def commit(self) -> str:
        """The commit of the runner's checkout; empty if it is unknown."""
        return one_line(str(section(self.environment, "git").get("commit") or ""), 40)

    @property
    def is_dirty(self) -> bool:
        """Whether files of the checkout had uncommitted changes."""
        return section(self.environment, "git").get("dirty") is True

    @cached_property
    def models(self) -> dict[str, str]:
        """The models of its devices by kind."""
        devices = section(self.environment, "devices")
        return {kind: one_line(str(section(devices, kind).get("name") or ""), 60) for kind in devices}

    def model(self, row: Row) -> str:
        """The GPU of a case: its model, or the GPU itself if those of one model differ; empty on the CPU device."""
        return str(row["place"] or self.models.get(row["device"], "")) if is_gpu(row["device"]) else ""

    def compared(self, root: Path, rows: Iterable[Row]) -> Compared:
        """The run with some of its rows, as `runner.compare` takes it. Times are compared, whatever it ranks by."""
        folder = RunFolder(root / self.name)
        given = []
        for row in rows:
            case, jobs = str(row["case"]), row["jobs"] if slug(str(row["case"])) == row["case"] else ()
            given.append({**row, "measured": tuple((folder, folder.samples(case, job)) for job in jobs)})
        return Compared(self.name, folder, given, self.parameters, self.environment)


def read(root: Path, paths: Sequence[Path], index: Index, progress: SweepProgress) -> tuple[list[Summary], list[str]]:
    """Read runs, as far as the index does not have them.

    Args:
        root: The folder that all runs are in.
        paths: The run folders.
        index: Of the root.
        progress: Told about each run.

    Returns:
        The runs, the oldest first; and a sentence on each that runs now or cannot be read.
    """
    progress.stage("reading runs", len(paths))
    found, left_out = list[Summary](), list[str]()
    for path in paths:
        progress.show_step(path.name)
        try:
            with runs.reading(path):
                found.append(_read(root, path, index))
        except UsageError as e:
            left_out.append(str(e))
        progress.step()
    return sorted(found, key=lambda run: (run.started, run.name)), left_out


def is_failed(row: Row) -> bool:
    """Whether a case ran and was not correct."""
    return row["status"] != "ok" and row["status"] not in IDLE


def _read(root: Path, path: Path, index: Index) -> Summary:
    name, folder = str(path.relative_to(root)), RunFolder(path)
    stamp = " ".join(map(_stamp, (folder.results, folder.environment)))
    if kept := _restored(index.get(stamp, name), name, stamp):
        return kept
    if running(folder):
        raise UsageError(f"{path}: is running; its cases will be there when it has ended")
    (run,) = compared.read([path])
    names = list(dict.fromkeys([*run.parameters, *COLUMNS]))
    cells = [[_plain(row[name]) for name in names] for row in run.rows]
    content = {
        "started": _started(run.environment, folder), "names": names, "cells": cells, "parameters": run.parameters,
        "experiment": runs.experiment(str(run.environment.get("command", ""))),
        "environment": {name: value for name, value in run.environment.items() if name not in WITHOUT_WORD},
    }  # fmt: skip
    if folder.results.exists():  # otherwise the rows of the jobs may change, and no stamp tells
        index.put(content, stamp, name)
    made = _restored(content, name, stamp)
    assert made is not None  # noqa: S101  (it was just made)
    return made


def _restored(content: Any, name: str, stamp: str) -> Summary | None:
    """The summary of the index; `None` if it is missing, or is not what this version writes."""
    try:
        rows = [dict(zip(content["names"], cells, strict=True)) for cells in content["cells"]]
        if not all(row.keys() >= {*COLUMNS, *content["parameters"]} for row in rows):
            return None
        parameters, environment = list(content["parameters"]), dict(content["environment"])
        started, experiment = str(content["started"]), str(content["experiment"])
        return Summary(name, started, rows, parameters, environment, experiment, stamp)
    except runs.MALFORMED:
        return None


def _plain(value: Any) -> Any:
    """A cell for JSON. NaN stays, as comparisons of times expect it."""
    if isinstance(value, str):
        return value if len(value) <= MAX_TEXT else f"{value[:MAX_TEXT]}…"
    if isinstance(value, tuple):  # jobs
        return list(map(int, value))
    return value if isinstance(value, bool | int | float) else None


def _stamp(path: Path) -> str:
    """What changes with a file: its time and its size."""
    try:
        status = os.stat(path, follow_symlinks=False)  # noqa: PTH116
    except OSError:
        return "-"
    return f"{status.st_mtime_ns}:{status.st_size}"


def _started(environment: dict[str, Any], folder: RunFolder) -> str:
    """When a run started; if its environment.json does not say, when its table was written."""
    try:
        started = datetime.fromisoformat(str(environment.get("started_utc"))).astimezone(UTC)
    except (ValueError, OverflowError):
        try:
            started = datetime.fromtimestamp(folder.results.stat().st_mtime, UTC)
        except (OSError, ValueError, OverflowError):
            return ""
    return started.strftime("%Y-%m-%d %H:%M:%S")
