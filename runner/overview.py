"""What a list tells of one run, from results.csv, plan.json and environment.json alone. Any of them may be torn."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd

from runner import lock, runs
from runner.errors import UsageError
from runner.folder import RunFolder, read_json
from runner.report.best import fastest, of_note, worth_telling
from runner.report.folder import section
from runner.report.table import PEERS, load, parameters, records, timed, varying
from runner.report.text import absent, described, one_line, rough, size_of
from runner.report.verdict import IDLE

CPU = "CPU device (emulated)"
NAMED = 2  # kernels that are named; of more, their number is told
NEEDED = (
    *(*PEERS, "size", "rows", "cols", "status"),
    *("median_us", "ci_low_us", "ci_high_us", "rounds", "round_spread_percent"),
)
"""Beside the parameters, what the fastest cases are told by; with all columns it takes twice as long."""


@dataclass(frozen=True)
class Overview:
    """What is known of a run; empty where nothing is.

    Attributes:
        path: Of its folder.
        started: When.
        what: Its experiment, or its kernels.
        device: The names of its devices.
        cases: How many there are to be.
        failed: How many failed.
        not_run: How many have no row yet, or were not reached.
        state: `running`, `interrupted`, `all skipped`, or what its table suffers from.
        best: The fastest case with its time, as the report tells it.
    """

    path: Path
    started: datetime | None
    what: str
    device: str
    cases: int
    failed: int
    not_run: int
    state: str
    best: str


def read(path: Path) -> Overview:
    """The overview of a run."""
    known = runs.environment(path)
    frame = _table(path)
    planned = _planned(path)
    kernels = dict.fromkeys(frame["kernel"] if frame is not None else planned)
    not_run = len(planned) if frame is None else int((frame["status"] == "not_run").sum())
    return Overview(
        path=path,
        started=_started(known),
        what=_what(str(known.get("command", "")), [str(name) for name in kernels]),
        device=_device(known, [] if frame is None else list(frame["device"].unique())),
        cases=len(planned) if frame is None else len(frame),
        failed=0 if frame is None else int((~frame["status"].isin(["ok", *IDLE])).sum()),
        not_run=not_run,
        state=_state(path, frame, not_run),
        best="" if frame is None else _best(frame),
    )


def _table(path: Path) -> pd.DataFrame | None:
    try:
        return load(path)
    except (UsageError, *runs.MALFORMED):
        return None


def _planned(path: Path) -> list[str]:
    """The kernels of the planned cases, one a case."""
    try:
        return [str(case["kernel"]) for case in read_json(RunFolder(path).plan)["cases"]]
    except runs.MALFORMED:
        return []


def _started(known: dict[str, Any]) -> datetime | None:
    try:
        return datetime.fromisoformat(str(known.get("started_utc"))).astimezone()
    except (ValueError, OverflowError):
        return None


def _what(command: str, kernels: Sequence[str]) -> str:
    try:
        words = [word.lstrip("+").partition("=") for word in shlex.split(command)]
    except ValueError:
        words = []
    chosen = [value for key, _, value in words if key == "experiment" and value not in ("", "null")]
    if chosen:
        return one_line(f"experiment {chosen[-1]}", 60)
    named = [one_line(name, 40) for name in kernels if name]
    return ", ".join(named) if len(named) <= NAMED else f"{len(named)} kernels"


def _device(known: dict[str, Any], kinds: Sequence[str]) -> str:
    """The GPUs' names, and the CPU device; of a run without a row, what was opened."""
    devices = [device for device in section(known, "devices").values() if isinstance(device, dict)]
    used = [kind for kind in kinds if kind] or [str(device.get("kind", "")) for device in devices]
    gpus = [str(device.get("name") or "a GPU") for device in devices if device.get("kind") != "cpu"]
    found = [*([CPU] if "cpu" in used else []), *((gpus or ["a GPU"]) if "cuda" in used else [])]
    return ", ".join(one_line(name, 40) for name in dict.fromkeys(found))


def _state(path: Path, frame: pd.DataFrame | None, not_run: int) -> str:
    if lock.held(path):
        return "running"
    if frame is None:
        return "results.csv cannot be read" if RunFolder(path).results.exists() else "no results.csv"
    if len(frame) and (frame["status"] == "skipped").all():
        return "all skipped"
    return "interrupted" if not_run else ""


def _best(frame: pd.DataFrame) -> str:
    """The case that the report calls the fastest first of all; empty where it calls none so."""
    try:
        right = timed(of_note(frame))[[*dict.fromkeys((*parameters(frame), *NEEDED))]]
        right.attrs = frame.attrs
        best = worth_telling(fastest(right))
        return _told(best[0].row, right) if best else ""
    except runs.MALFORMED:
        return ""


def _told(row: dict[str, Any], right: pd.DataFrame) -> str:
    rows = records(right)
    names = [n for n in varying(right) if n not in ("size", "device", "dtype", "seed") and _values(rows, n) > 1]
    size = size_of(row)
    emulated = " (emulated)" if row["device"] == "cpu" else ""
    return f"{described(row, names)}{f' at {size}' if size else ''}: {rough(row['median_us'])} µs{emulated}"


def _values(rows: Sequence[dict[str, Any]], name: str) -> int:
    """How many values a parameter has where a kernel reads it."""
    return len({row[name] for row in rows if not absent(row[name])})
