"""The runs of a comparison: what their folders hold, and on which of it times depend."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from runner import runs
from runner.folder import RunFolder
from runner.report.folder import flat, section
from runner.report.table import load, parameters, records
from runner.report.text import one_line, slug, value_of

Row = dict[str, Any]

LAST = ("seed", "device")
ALWAYS_THERE = frozenset(("dtype", *LAST))  # of every case, although the row of a case that never ran may lack them
LONGEST_NAME = 40

KINDS = ("kernel source", "parameters", "device", "driver", "toolkit", "method", "clocks", "runner", "command", "other")
"""Kinds of differences between runs, the likeliest cause of another time first."""

SURROUNDINGS = ("device", "driver", "toolkit", "method")
"""The kinds that change times although the kernel is the same."""

# The kind of each entry of environment.json, by the first pattern that matches. None: never a cause.
RULES: tuple[tuple[str, str | None], ...] = (
    (r"(started_utc|resumed_utc|planned_at_once|host|directory)$", None),
    (r"devices\.[^.]*\.(noise|asked\.timing)\b", None),
    (r"devices\.[^.]*\.asked\.(kind|index|threads|compiler)$", None),
    (r"devices\.[^.]*\.(copy_gbps|empty_kernel_us|event_pair_us|event_tick_us|flush_us)$", "clocks"),
    (r"devices\.[^.]*\.(clock_mhz|memory_clock_mhz)$", "device"),
    (r"devices\.[^.]*\.versions\.(nvidia_driver|cuda_driver)$", "driver"),
    (r"devices\.[^.]*\.(versions|toolchain|asked\.nvcc_options)\b", "toolkit"),
    (r"devices\.[^.]*\.(timing|asked)\b", "method"),
    (r"devices\.", "device"),
    (r"(runner|git|python|packages)\b", "runner"),
    (r"command$", "command"),
    (r"(cpu|system)$", "device"),
)


@dataclass(frozen=True)
class Run:
    """One run, or one run that was made several times.

    Attributes:
        name: The shortest name that distinguishes it from the others.
        folder: Its files.
        rows: Its cases, in the order of results.csv. `measured` of a row names the files of its samples.
        parameters: The columns that distinguish its cases.
        environment: Its environment.json; empty if that is missing.
    """

    name: str
    folder: RunFolder
    rows: list[Row]
    parameters: list[str]
    environment: dict[str, Any]

    @property
    def short(self) -> str:
        """The name for a sentence. A long name is cut in the middle, because names often differ at their ends."""
        name = one_line(self.name, 1000)
        half = LONGEST_NAME // 2
        return name if len(name) <= LONGEST_NAME else f"{name[: half - 1]}…{name[-half:]}"

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of devices that it used."""
        return frozenset(str(row["device"]) for row in self.rows) - {""}

    def device(self, kind: str) -> dict[str, Any]:
        """What is known about one of its devices."""
        return section(section(self.environment, "devices"), kind)

    def surroundings(self, kind: str) -> dict[str, str]:
        """Everything known, beside the kernel, that times on one kind of device depend on.

        Empty if nothing is known about the device.
        """
        known = self.device(kind)
        without_others = {**self.environment, "devices": {kind: known}}
        entries = flat(without_others) if known else ()
        return {name: value for name, value in entries if kind_of(name) in SURROUNDINGS or name == "host"}


def kind_of(entry: str) -> str | None:
    """The kind of an entry of environment.json, by its dotted name; `None` if it is never a cause."""
    return next((kind for pattern, kind in RULES if re.match(pattern, entry)), "other")


def read(paths: Sequence[Path]) -> Iterator[Run]:
    """Read the runs from their folders, one after the other.

    Raises:
        UsageError: if a table cannot be read.
    """
    for path, name in zip(paths, _names(paths), strict=True):
        frame = load(path)
        for column in ("binary", "job"):
            if column not in frame.columns:
                frame[column] = ""
        folder = RunFolder(path)
        rows = [{**row, "measured": _samples(folder, row)} for row in records(frame)]
        yield Run(name, folder, rows, parameters(frame), runs.environment(path))


def united(compared: Sequence[Run]) -> list[Run]:
    """The runs, each with the parameters of all runs; a parameter that a run lacks is empty in its rows."""
    every = dict.fromkeys(name for run in compared for name in run.parameters)
    names = [*(name for name in every if name not in LAST), *LAST]
    empty = dict.fromkeys(names, "")
    return [replace(run, parameters=names, rows=[{**empty, **row} for row in run.rows]) for run in compared]


def varying(rows: Sequence[Row], names: Sequence[str]) -> list[str]:
    """The parameters with more than one value among some rows, and always `kernel`.

    That some kernels do not read a parameter is not another value: their names tell.
    """
    return [name for name in names if name == "kernel" or len(set(values(rows, name)) - {""}) > 1]


def values(rows: Sequence[Row], name: str) -> list[str]:
    """The values of a parameter as written, in the order of the rows; one is empty if a kernel does not read it."""
    found = list(dict.fromkeys(value_of(name, row) for row in rows))
    given = [value for value in found if value]
    return given if name in ALWAYS_THERE and given else found


def _names(paths: Sequence[Path]) -> list[str]:
    """As much of the end of each path as distinguishes the paths."""
    parts = [path.resolve().parts for path in paths]
    for length in range(1, max(map(len, parts)) + 1):
        found = ["/".join(p[-length:]) for p in parts]
        if len(set(found)) == len(found):
            return found
    return [str(path) for path in paths]


def _samples(folder: RunFolder, row: Row) -> tuple[Path, ...]:
    case, job = str(row["case"]), str(row["job"])
    return (folder.samples(case, int(job)),) if job.isdecimal() and slug(case) == case else ()
