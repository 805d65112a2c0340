"""What a run found, in words. Pure: a frame in, sentences out; page and terminal show them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from runner.device.kinds import is_emulated
from runner.report import ranking
from runner.report.folder import section
from runner.report.ranking import Ranking
from runner.report.table import PEERS, measured, records, varying
from runner.report.text import absent, count, described, listed, one_line, rough, size_of

Row = dict[str, Any]
Level = Literal["good", "bad", "partial", "none"]

WORDS: dict[Level, str] = {"good": "Passed", "bad": "Failed", "partial": "Not finished", "none": "Nothing ran"}
"""The level for those who see no colours."""

IDLE = ("skipped", "not_run")
"""Statuses of cases that were never launched."""

EMULATION = (
    "Data races and speed are not checked on the CPU device. Its other results also hold on a GPU: values, undefined "
    "reads, hazards, lanes, wavefronts and sectors."
)
"""The caution of an emulated run."""

NAMED = 6
"""Tied cases that a sentence names."""


@dataclass(frozen=True)
class Problem:
    """Cases that share a status and a reason, by their row numbers; not `failed` if they were never launched."""

    status: str
    reason: str
    rows: tuple[int, ...]
    failed: bool


@dataclass(frozen=True)
class Verdict:
    """What a reader should know first."""

    level: Level
    headline: str
    """How many cases match, and the fastest."""
    further: tuple[str, ...]
    """The tied cases by name, and the fastest of each further group of comparable cases."""
    cautions: tuple[str, ...]
    """Why some of the times should not be trusted, and what an emulation leaves open."""
    problems: tuple[Problem, ...]
    """Failures first, then the cases that were not launched."""


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
    first, *others = _speeds(frame) or [[]]
    headline = " ".join([*_matches(frame, right), *first[:1]])
    return Verdict(level, headline, (*first[1:], *(group[0] for group in others)), _cautions(frame), problems)


def rank(frame: pd.DataFrame) -> Callable[[Sequence[Row]], Ranking]:
    """A function that ranks comparable, measured cases of a run, given the noise of their device."""
    devices = frame.attrs.get("devices", {})
    noise = {
        str(device): ranking.noise(records(rows), section(devices, str(device)))
        for device, rows in measured(frame).groupby("device")
    }
    return lambda rows: ranking.rank(rows, noise[str(rows[0]["device"])])


def fastest(frame: pd.DataFrame) -> list[Ranking]:
    """The ranking of every size within every group of peers, in the order of results.csv, sizes ascending."""
    ranked = rank(frame)
    return [
        ranked(records(same_size))
        for _, peers in measured(frame).groupby(PEERS, dropna=False, sort=False)
        for _, same_size in peers.groupby(["size", "rows", "cols"], dropna=False)
    ]


def headline_groups(frame: pd.DataFrame) -> list[Ranking]:
    """The fastest case at the largest size of each group of peers, the group with most cases first."""
    # A launch of a single block that only shuffles takes as long as any launch does.
    rankable = frame[(frame["shuffle"] == "") | (frame["grid"] != "1")]
    # Sizes ascend, so the ranking of the largest remains.
    largest = list({tuple(one.fastest[name] for name in PEERS): one for one in fastest(rankable)}.values())
    compared = [one for one in largest if one.among > 1]
    # A case that is compared with nothing is not the fastest. The table has its time.
    return sorted(compared or (largest if len(largest) == 1 else []), key=lambda one: -one.among)


def differing_peers(frame: pd.DataFrame) -> list[str]:
    """The columns that separate groups of peers in this run."""
    return [name for name in PEERS if len(measured(frame)[name].unique()) > 1]


def _speeds(frame: pd.DataFrame) -> list[list[str]]:
    """The fastest case of each group of peers and its ties, in words."""
    right = measured(frame)
    shown = [name for name in varying(right) if name not in ("size", "device", "dtype", "seed")]
    apart = [name for name in differing_peers(frame) if name != "device"]
    return [_sentences(one, shown, apart) for one in headline_groups(frame)]


def _sentences(one: Ranking, shown: list[str], apart: list[str]) -> list[str]:
    row, size = one.fastest, size_of(one.fastest)
    group = ", ".join(f"{name} {one_line(str(row[name]), 40)}" for name in apart if not absent(row[name]))
    where = (f" at {size}" if size else "") + (f" ({group})" if group else "")
    if one.among == 1:
        return [f"{described(row, shown)}{where} takes {_speed(row)}."]
    near = [
        f"{count(len(one.tied), 'more case')} {_is(one.tied)} tied within {100 * one.margin:.1f} %" if one.tied else "",
        f"{count(len(one.undecided), 'more case')} {_is(one.undecided)} undecided" if one.undecided else "",
    ]
    ties = "; ".join(words for words in near if words)
    first = f"Fastest{where}: {described(row, shown)} ({_speed(row)})."
    names = [described(tied, shown) for tied in one.tied[:NAMED]]
    more = [f"{len(one.tied) - NAMED} more"] if len(one.tied) > NAMED else []
    if not names or len(set(names)) < len(names):  # cases of different seeds have one name
        return [f"{first} {ties}." if ties else first]
    return [f"{first} {ties}.", f"Tied with it: {'; '.join(names + more)}."]


def _is(cases: Sequence[Row]) -> str:
    return "is" if len(cases) == 1 else "are"


def _speed(row: Row) -> str:
    """Time, bandwidth and share of the limits."""
    limits = [("percent_peak", "the peak"), ("percent_copy", "a copy")]
    shares = [f"{row[name]:.0f} % of {limit}" for name, limit in limits if not absent(row[name])]
    bandwidth = [] if absent(row["gbps"]) else [f"{rough(row['gbps'])} GB/s", *shares]
    return ", ".join([f"{rough(row['median_us'])} µs", *bandwidth])


def _matches(frame: pd.DataFrame, right: int) -> list[str]:
    statuses = frame["status"].value_counts(sort=False)
    others = [_counted(str(status), number) for status, number in statuses.items() if status != "ok"]
    if frame.empty:
        return ["The run has no cases."]
    if set(statuses.index) <= set(IDLE):
        return [f"{listed(others)}."]
    noun = "case matches" if len(frame) == 1 else "cases match"
    tail = f"; {', '.join(others)}" if others else ""
    undefined = int(((frame["status"] == "ok") & (frame["undefined_reads"].fillna(0) > 0)).sum())
    matching = count(undefined, "matching case")
    reads = [f"In {matching} lanes read undefined values, which are not compared."] if undefined else []
    return [f"{right:,} of {len(frame):,} {noun} the CPU reference{tail}.", *reads]


def _counted(status: str, number: int) -> str:
    """A number of cases with a status: `1 hazard`, `2 mismatches`, `3 skipped`."""
    word = status.replace("_", " ")
    ending = "es" if status == "mismatch" else "s" if word.endswith(("error", "hazard", "timeout")) else ""
    return f"{number:,} {word}{ending if number > 1 else ''}"


def _problems(frame: pd.DataFrame) -> tuple[Problem, ...]:
    groups = frame[frame["status"] != "ok"].groupby(["status", "reason"], sort=False)
    found = [
        Problem(str(status), str(reason), tuple(int(row) for row in rows.index), failed=status not in IDLE)
        for (status, reason), rows in groups
    ]
    return tuple(sorted(found, key=lambda problem: not problem.failed))


def _cautions(frame: pd.DataFrame) -> tuple[str, ...]:
    right, devices = measured(frame), frame.attrs.get("devices", {})
    floors = [section(devices, kind).get("empty_kernel_us") for kind in devices if not is_emulated(kind)]
    empty = [f": an empty kernel takes {rough(floor)} µs" for floor in floors if isinstance(floor, int | float)]
    flags = {
        "timer_limited": f"most of the time is launch overhead{''.join(empty[:1])}",
        "host_bound": "the host queued launches too slowly, which disturbs the time",
        "throttled": "the GPU was throttled despite pauses; clock_reasons says why",
    }
    numbers = {name: int((right[name] == "True").sum()) for name in flags}
    words = [f"In {count(n, 'case')} {flags[name]} ({name})." for name, n in numbers.items() if n]
    return (*words, *([EMULATION] if frame["emulated"].any() else ()))
