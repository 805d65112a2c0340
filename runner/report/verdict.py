"""What a run found, in words. Pure: a frame in, sentences out; page and terminal only place them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from runner.report.folder import section
from runner.report.table import PEERS, records, timed, varying
from runner.report.text import absent, count, described, listed, one_line, rough, size_of
from runner.report.ties import Ties, noise, ties

IDLE = ("skipped", "not_run")
"""Statuses of cases that were never launched: neither right nor wrong."""

Level = Literal["good", "bad", "partial", "none"]


@dataclass(frozen=True)
class Problem:
    """Cases that share a status and a reason: a reason is told once, however many cases it holds for.

    Attributes:
        status: the status, as in results.csv.
        reason: the reason, as in results.csv.
        rows: the numbers of the cases in results.csv.
        failed: False where the cases were not launched at all.
    """

    status: str
    reason: str
    rows: tuple[int, ...]
    failed: bool


@dataclass(frozen=True)
class Best:
    """The fastest case of one size among its peers.

    Attributes:
        ties: the case, and those that cannot be told from it.
        among: how many cases were compared.
    """

    ties: Ties
    among: int

    @property
    def row(self) -> dict[str, Any]:
        """The case."""
        return self.ties.fastest


@dataclass(frozen=True)
class Verdict:
    """What a reader should know first.

    Attributes:
        level: one word for the whole run.
        headline: how many cases are right.
        fastest: one sentence for each group of comparable cases.
        cautions: what keeps some of the times from being believed as they stand.
        problems: failures first, then what was not launched.
    """

    level: Level
    headline: str
    fastest: tuple[str, ...]
    cautions: tuple[str, ...]
    problems: tuple[Problem, ...]


def judge(frame: pd.DataFrame) -> Verdict:
    """The verdict on a run."""
    problems = _problems(frame)
    right = int((frame["status"] == "ok").sum())
    if any(problem.failed for problem in problems):
        level: Level = "bad"
    elif right == 0:
        level = "none"
    else:
        level = "partial" if (frame["status"] == "not_run").any() else "good"
    return Verdict(level, _headline(frame, right), _fastest(frame), _cautions(frame), problems)


def fastest(frame: pd.DataFrame) -> list[Best]:
    """The fastest case of every size within every group of peers, in the order of results.csv, sizes ascending."""
    right = timed(frame)
    known = frame.attrs.get("devices", {})
    of_device = {
        str(device): noise(records(rows), section(known, str(device))) for device, rows in right.groupby("device")
    }
    found = []
    for _, peers in right.groupby(PEERS, dropna=False, sort=False):
        for _, same_size in peers.groupby(["size", "rows", "cols"], dropna=False):
            rows = records(same_size)
            found.append(Best(ties(rows, of_device[str(rows[0]["device"])]), len(rows)))
    return found


def speed(row: dict[str, Any]) -> str:
    """Time, bandwidth and share of the peak of a case, in words."""
    words = f"{rough(row['median_us'])} µs"
    if row["device"] == "cpu":
        return f"{words} of emulated time on the CPU device, which says nothing about a GPU"
    if not absent(row["gbps"]):
        words += f", {rough(row['gbps'])} GB/s"
        if not absent(row["percent_peak"]):
            words += f" ({row['percent_peak']:.0f} % of the peak)"
    return words


def differing_peers(frame: pd.DataFrame) -> list[str]:
    """Those of the words that separate groups of peers that have more than one value among the timed cases."""
    right = timed(frame)
    return [name for name in PEERS if len(right[name].unique()) > 1]


def _headline(frame: pd.DataFrame, right: int) -> str:
    statuses = frame["status"].value_counts(sort=False)
    others = [f"{number:,} {str(status).replace('_', ' ')}" for status, number in statuses.items() if status != "ok"]
    if frame.empty:
        return "The run has no cases."
    if set(statuses.index) <= set(IDLE):
        return f"No case was launched: {listed(others)}."
    noun = "case matches" if len(frame) == 1 else "cases match"
    tail = f"; {', '.join(others)}" if others else ""
    unsure = int(((frame["status"] == "ok") & (pd.to_numeric(frame["undefined_reads"], errors="coerce") > 0)).sum())
    more = f" In {unsure:,} of them lanes read undefined values, which are not compared." if unsure else ""
    return f"{right:,} of {len(frame):,} {noun} the CPU reference{tail}.{more}"


def _problems(frame: pd.DataFrame) -> tuple[Problem, ...]:
    bad = frame[frame["status"] != "ok"]
    groups = bad.groupby(["status", "reason"], sort=False)
    found = [
        Problem(str(status), str(reason), tuple(int(row) for row in rows.index), failed=status not in IDLE)
        for (status, reason), rows in groups
    ]
    return tuple(sorted(found, key=lambda problem: not problem.failed))


def _fastest(frame: pd.DataFrame) -> tuple[str, ...]:
    # One block that only shuffles takes as long as any launch does: no news.
    telling = frame[(frame["shuffle"] == "") | (frame["grid"] != "1")]
    telling.attrs = frame.attrs
    frame, right = telling, timed(telling)
    if right.empty:
        return ()
    right.attrs = frame.attrs
    names = varying(right)
    shown = [name for name in names if name not in ("size", "device", "dtype", "seed")]
    largest: dict[tuple[Any, ...], Best] = {}
    for best in fastest(frame):
        largest[tuple(best.row[name] for name in PEERS)] = best  # ascending, so the largest size stays
    apart = differing_peers(frame)
    compared = [best for best in largest.values() if best.among > 1]
    # Of several groups with one case each, none is the fastest of anything: the table has their times.
    told = compared or (list(largest.values()) if len(largest) == 1 else [])
    return tuple(_sentence(best, shown, apart) for best in told)


def _sentence(best: Best, shown: list[str], apart: list[str]) -> str:
    row = best.row
    size = size_of(row)
    group = ", ".join(f"{n} {one_line(str(row[n]), 40)}" for n in apart if n != "device" and not absent(row[n]))
    where = (f" at {size}" if size else "") + (f" ({group})" if group else "")
    if best.among == 1:
        return f"{described(row, shown)}{where}: {speed(row)}."
    first = "Shortest emulated time" if row["device"] == "cpu" else "Fastest"
    return f"{first}{where}: {described(row, shown)}: {speed(row)}.{_level(best, shown)}"


NAMED = 6  # cases that a sentence names


def _level(best: Best, shown: list[str]) -> str:
    level, unsure = best.ties.level, best.ties.unsure
    told = ""
    if level:
        names = [described(row, shown) for row in level[:NAMED]]
        told = f" {count(len(level), 'further case')} cannot be told from it, within {100 * best.ties.margin:.1f} %"
        if len(set(names)) == len(names):  # a seed is not told: it is no reason for a time
            names += [f"{len(level) - NAMED} more"] if len(level) > NAMED else []
            told += f": {'; '.join(names)}"
        told += "."
    if unsure:
        told += f" {count(len(unsure), 'further case')} may be slower, but by too little to be certain."
    return told


def _cautions(frame: pd.DataFrame) -> tuple[str, ...]:
    right = timed(frame)
    floor = section(frame.attrs.get("devices", {}), "cuda").get("empty_kernel_us")
    empty = f", which takes {rough(floor)} µs" if isinstance(floor, int | float) else ""
    told = {
        "timer_limited": f"short against an empty kernel{empty}: most of it is the launch",
        "host_bound": "disturbed, as the host queued launches too slowly",
        "throttled": "of a throttled GPU, though it was given pauses: clock_reasons says why",
    }
    numbers = {name: int((right[name] == "True").sum()) for name in told}
    return tuple(f"In {count(n, 'case')} the time is {told[name]} ({name})." for name, n in numbers.items() if n)
