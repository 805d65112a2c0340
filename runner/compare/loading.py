"""The runs that are compared: what each folder holds, and what each is called."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from runner import runs
from runner.folder import RunFolder
from runner.report.folder import section
from runner.report.table import load, parameters, records
from runner.report.text import slug, value_of

Row = dict[str, Any]

LAST = ("seed", "device")
ALWAYS_THERE = frozenset(("dtype", *LAST))
"""Every case has one, but a row that was never reached may not tell."""


@dataclass(frozen=True)
class Run:
    """One run, or one that was made several times (see `runner.compare.pooling`).

    Attributes:
        name: The shortest that tells it from the others.
        folder: Its files.
        rows: Its cases, in the order of results.csv; `measured` of each names the files of its samples.
        parameters: The columns that tell its cases apart.
        environment: Its environment.json; empty where that is missing.
    """

    name: str
    folder: RunFolder
    rows: list[Row]
    parameters: list[str]
    environment: dict[str, Any]

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of devices that it used."""
        return frozenset(str(row["device"]) for row in self.rows) - {""}

    def device(self, kind: str) -> dict[str, Any]:
        """What is known of one of its devices."""
        return section(section(self.environment, "devices"), kind)


def names(paths: Sequence[Path]) -> list[str]:
    """What the runs are called: as much of the end of each path as tells them apart."""
    parts = [path.resolve().parts for path in paths]
    for length in range(1, max(map(len, parts)) + 1):
        told = ["/".join(p[-length:]) for p in parts]
        if len(set(told)) == len(told):
            return told
    return [str(path) for path in paths]


def read(paths: Sequence[Path]) -> Iterator[Run]:
    """The runs, from their folders, one after the other.

    Raises:
        UsageError: if a table cannot be read.
    """
    for path, name in zip(paths, names(paths), strict=True):
        frame = load(path)
        for column in ("binary", "job"):
            if column not in frame.columns:
                frame[column] = ""
        folder = RunFolder(path)
        rows = [{**row, "measured": _samples(folder, row)} for row in records(frame)]
        yield Run(name, folder, rows, parameters(frame), runs.environment(path))


def _samples(folder: RunFolder, row: Row) -> tuple[Path, ...]:
    case, job = str(row["case"]), str(row["job"])
    return (folder.samples(case, int(job)),) if job.isdecimal() and slug(case) == case else ()


def united(compared: Sequence[Run]) -> list[Run]:
    """The runs, each with the parameters of all of them: one that a run does not have is empty in its rows."""
    told = dict.fromkeys(name for run in compared for name in run.parameters)
    every = [*(name for name in told if name not in LAST), *LAST]
    empty = dict.fromkeys(every, "")
    return [replace(run, parameters=every, rows=[{**empty, **row} for row in run.rows]) for run in compared]


def varying(rows: Sequence[Row], names_: Sequence[str]) -> list[str]:
    """Those of the parameters with more than one value among some rows; `kernel` is always told.

    That some kernels do not read it is no further value: their names tell.
    """
    return [name for name in names_ if name == "kernel" or len(set(values(rows, name)) - {""}) > 1]


def values(rows: Sequence[Row], name: str) -> list[str]:
    """The values of a parameter, as written, in the order of the rows; one empty where a kernel does not read it."""
    found = list(dict.fromkeys(value_of(name, row) for row in rows))
    told = [value for value in found if value]
    return told if name in ALWAYS_THERE and told else found
