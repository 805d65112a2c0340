"""The runs of a comparison: reading their folders, pooling them, and joining their cases."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from runner.display.text import absent, listed, one_line, slug, value_of
from runner.errors import UsageError
from runner.kernel.metrics import Criterion
from runner.record import run as reader
from runner.record.folder import RunFolder
from runner.record.ranking import IDLE, TIME
from runner.record.runs import flat, section
from runner.report.figures.figure import group

Row = dict[str, Any]
Key = tuple[str, str, str]  # what joins the cases of two runs

LAST = ("seed", "device")
ALWAYS_THERE = frozenset(("dtype", *LAST))  # empty only in the row of a case that never ran
MAX_NAME = 40  # characters
LAUNCH = ("binary", "grid", "block", "shared_dynamic")  # equal in two rows if both launched the same
MAX_VALUES = 8

KINDS = ("kernel source", "parameters", "device", "driver", "toolkit", "method", "clocks", "runner", "command", "other")
"""Kinds of differences between runs, the likeliest cause of a changed time first."""

SURROUNDINGS = ("device", "driver", "toolkit", "method")  # kinds that change times even if the kernel is the same

# The kind of each entry of environment.json, by the first pattern that matches. None: never a cause.
RULES: tuple[tuple[str, str | None], ...] = (
    (r"(started_utc|resumed_utc|planned_at_once|host|directory|sources\..*)$", None),
    (r"devices\.[^.]*\.(noise|asked\.timing|asked\.profile)\b", None),
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
class Compared:
    """A side of a comparison: one run, or several runs of the same sweep, pooled."""

    name: str  # the shortest end of its path that is unique
    folder: RunFolder
    rows: list[Row]  # its cases, in the order of results.csv; `measured` of a row: pairs of folder and samples file
    parameters: list[str]  # the columns that distinguish its cases
    environment: dict[str, Any]  # environment.json; empty if it is missing
    criterion: Criterion = TIME  # what its cases are ranked by

    @property
    def short(self) -> str:
        """The name for a sentence. A long name is cut in the middle, since names often differ at their ends."""
        name, half = one_line(self.name, 1000), MAX_NAME // 2
        return name if len(name) <= MAX_NAME else f"{name[: half - 1]}…{name[-half:]}"

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of devices of its cases."""
        return frozenset(str(row["device"]) for row in self.rows) - {""}

    def device(self, kind: str) -> dict[str, Any]:
        """The entries of environment.json about a kind of device."""
        return section(section(self.environment, "devices"), kind)

    def surroundings(self, kind: str) -> dict[str, str]:
        """The entries on which times depend besides the kernel; empty if the device is unknown."""
        known = self.device(kind)
        entries = flat({**self.environment, "devices": {kind: known}}) if known else ()
        return {name: value for name, value in entries if kind_of(name) in SURROUNDINGS or name == "host"}


@dataclass(frozen=True)
class Pair:
    """The rows of a case in two runs; empty if a run lacks the case."""

    base: Row
    other: Row

    @property
    def same_code(self) -> bool:
        """Whether both runs launched the same machine code in the same way."""
        known = self.base and self.other and not absent(self.base["binary"])
        return bool(known) and all(str(self.base[n]) == str(self.other[n]) for n in LAUNCH)


@dataclass(frozen=True)
class Joined:
    """The cases of two runs, in the order of their tables."""

    common: list[Pair]
    doubtful: list[Pair]  # a run has several rows of the case: timed in several ways, or on several GPUs
    only_base: list[Row]
    only_other: list[Row]


def kind_of(entry: str) -> str | None:
    """Return the kind of an entry of environment.json, given its dotted name; `None` if it is never a cause."""
    return next((kind for pattern, kind in RULES if re.match(pattern, entry)), "other")


def read(paths: Sequence[Path]) -> Iterator[Compared]:
    """Read runs from their folders, one after the other. Raises `UsageError` if a table cannot be read."""
    yield from map(read_one, paths, names_of(paths))


def read_one(path: Path, name: str) -> Compared:
    """Read a run, which is called `name`, from its folder. Raises `UsageError` if its table cannot be read."""
    run, folder = reader.read(path), RunFolder(path)
    for row in run.rows:
        case = str(row["case"])
        is_safe = slug(case) == case  # as a file name
        row["measured"] = tuple((folder, folder.samples(case, job)) for job in row["jobs"] if is_safe)
    return Compared(name, folder, run.rows, run.parameters, run.environment, run.criterion)


def united(compared: Sequence[Compared]) -> list[Compared]:
    """Give all runs the parameters of all runs. A parameter that a run lacks is empty in its rows."""
    every = dict.fromkeys(name for run in compared for name in run.parameters)
    names = [*(name for name in every if name not in LAST), *LAST]
    empty = dict.fromkeys(names, "")
    return [replace(run, parameters=names, rows=[{**empty, **row} for row in run.rows]) for run in compared]


def varying(rows: Sequence[Row], names: Sequence[str]) -> list[str]:
    """`kernel`, and the parameters with more than one value, not counting the empty one of kernels that lack it."""
    return [name for name in names if name == "kernel" or len(set(values(rows, name)) - {""}) > 1]


def values(rows: Sequence[Row], name: str) -> list[str]:
    """List the values of a parameter as text, in the order of the rows; empty for a kernel that does not read it."""
    texts = list(dict.fromkeys(value_of(name, row) for row in rows))
    return [text for text in texts if text] or texts if name in ALWAYS_THERE else texts


def join_keys(base: Compared, other: Compared) -> tuple[dict[Key, list[Row]], dict[Key, list[Row]]]:
    """Group the rows of two runs by what joins them.

    The key of a case is its id, which covers kernel, parameters and seed; its kind of device, if the runs share a
    kind; and its model of GPU, if both runs used the same models.
    """
    by_kind = bool(base.kinds & other.kinds) or not (base.kinds and other.kinds)
    by_place = {row["place"] for row in base.rows} == {row["place"] for row in other.rows}

    def key(row: Row) -> Key:
        return str(row["case"]), str(row["device"]) if by_kind else "", str(row["place"]) if by_place else ""

    return group(base.rows, key), group(other.rows, key)


def join(base: Compared, other: Compared) -> Joined:
    """Join the cases of two runs. Raises `UsageError` if they have no case in common."""
    before, after = join_keys(base, other)
    common = [key for key in before if key in after]
    if not common:
        raise UsageError(nothing_in_common(base, other))
    clear = {key for key in common if len(before[key]) == len(after[key]) == 1}
    return Joined(
        common=[Pair(before[key][0], after[key][0]) for key in common if key in clear],
        doubtful=[Pair(before[key][0], after[key][0]) for key in common if key not in clear],
        only_base=[row for key, rows in before.items() if key not in after for row in rows],
        only_other=[row for key, rows in after.items() if key not in before for row in rows],
    )


def pooled(parts: Sequence[Compared]) -> Compared:
    """Combine several runs of the same sweep into one. A case that failed in one of them counts as failed.

    Comparing `A1,A2 B1,B2`, measured in the order A B B A, cancels a steady drift of the device.

    Raises:
        UsageError: The runs differ in code, launch or surroundings.
    """
    first, *others = parts
    rows = list(first.rows)
    for other in others:
        _require_same_surroundings(first, other)
        joined = join(replace(first, rows=rows), other)
        again = {id(pair.base): pair.other for pair in joined.common}
        rows = [_pooled_row(first, row, other, again[id(row)]) if id(row) in again else row for row in rows]
        rows += joined.only_other
    name = first.name if not others else f"{first.name} ({len(parts)} runs)"
    return replace(first, name=name, rows=rows)


def names_of(paths: Sequence[Path]) -> list[str]:
    """Name runs by the shortest ends of their paths that are unique."""
    parts = [path.resolve().parts for path in paths]
    ends = (["/".join(p[-length:]) for p in parts] for length in range(1, max(map(len, parts)) + 1))
    return next((names for names in ends if len(set(names)) == len(names)), [str(path) for path in paths])


def nothing_in_common(base: Compared, other: Compared) -> str:
    """Say that two runs with the same columns have no case in common, and how their parameters differ."""
    axes = {name: (values(base.rows, name), values(other.rows, name)) for name in base.parameters}
    apart = [name for name, (left, right) in axes.items() if not set(left) & set(right)]
    differing = apart or [name for name, (left, right) in axes.items() if set(left) != set(right)]
    why = "each parameter has common values, but no combination of values occurs in both"
    if apart:
        why = f"they share no {listed(apart)}"
    words = " ".join(f"{run.name} has {_axes(run, differing)}." for run in (base, other))
    return f"{other.name} and {base.name} have no case in common, so there is nothing to compare: {why}. {words}"


def _axes(run: Compared, names: Sequence[str]) -> str:
    axes = []
    for name in names:
        texts = [one_line(value, 40) or "none" for value in values(run.rows, name)]
        more = [f"and {len(texts) - MAX_VALUES} more"] if len(texts) > MAX_VALUES else []
        axes.append(f"{name} {', '.join([*texts[:MAX_VALUES], *more])}")
    return "; ".join(axes) if run.rows else "no cases at all"


def _require_same_surroundings(first: Compared, other: Compared) -> None:
    for kind in sorted(first.kinds & other.kinds):
        was, now = first.surroundings(kind), other.surroundings(kind)
        changed = next((name for name in (*was, *now) if was.get(name) != now.get(name)), None)
        if changed:
            was_now = f"{was.get(changed, 'unknown')} and {now.get(changed, 'unknown')}"
            raise _pooling_error(first, other, f"{changed.removeprefix('devices.')} is {was_now}")


def _pooled_row(first: Compared, row: Row, other: Compared, again: Row) -> Row:
    """Combine two rows of a case. A failed row wins over a correct one, which wins over one that was not run."""
    if row["status"] != "ok" or again["status"] != "ok":
        return max(row, again, key=lambda r: (r["status"] not in IDLE, r["status"] != "ok"))
    changed = [name for name in LAUNCH if not absent(row[name]) and str(row[name]) != str(again[name])]
    if changed:
        what = "machine code" if changed == ["binary"] else changed[0]
        raise _pooling_error(first, other, f"{row['kernel']} (case {row['case']}) has a different {what}")
    weights = [max(1, len(r["measured"])) for r in (row, again)]
    times = {
        name: statistics.fmean([row[name], again[name]], weights)
        for name in ("median_us", "q1_us", "q3_us")
        if not absent(row[name]) and not absent(again[name])
    }
    measured = (*row["measured"], *again["measured"])
    return {**row, **times, "min_us": min(row["min_us"], again["min_us"]), "measured": measured}


def _pooling_error(first: Compared, other: Compared, why: str) -> UsageError:
    return UsageError(f"{other.name} cannot be pooled with {first.name}, as it does not repeat the same sweep: {why}")
