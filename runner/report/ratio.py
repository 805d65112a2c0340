"""How many times faster than its baseline each case is, and which kernels are the steps of a ladder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from runner.report.table import measured, parameters, records, size_key
from runner.report.text import absent, size_of

Row = dict[str, Any]

LOOSE = frozenset(("width", "mask", "unroll"))
"""Parameters that a baseline may not read, besides those that kernels declare. All others must be equal."""

LADDER = 3
"""So many kernels, each the baseline of the next, are a ladder."""


@dataclass(frozen=True)
class Ratio:
    """The time of the baseline divided by the time of the case; above 1 the case is faster.

    Attributes:
        row: Number of the case in results.csv.
        baseline_row: Number of the baseline's case.
        times: Ratio of the medians.
        low: Ratio of the interval ends that are least favourable to the case.
        high: Ratio of those that are most favourable.
    """

    row: int
    baseline_row: int
    times: float
    low: float
    high: float


@dataclass(frozen=True)
class Step:
    """A kernel of a ladder among its peers.

    Attributes:
        kernel: Its name.
        before: The step before it; empty for the first.
        fastest: Its fastest case by size.
        against: The fastest case of the step before, by size.
    """

    kernel: str
    before: str
    fastest: dict[str, Row]
    against: dict[str, Row]


def ratios(frame: pd.DataFrame) -> dict[int, Ratio]:
    """The ratio of every measured case that has one, by its row: against the baseline with the same parameters."""
    rows = records(measured(frame))
    further = frame.attrs.get("further", [])
    loose = [name for name in parameters(frame) if name in LOOSE or name in further]
    firm = [name for name in (*parameters(frame), "rows", "cols") if name not in loose and name != "kernel"]
    candidates: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        candidates.setdefault(_key(row, "kernel", firm), []).append(row)
    found: dict[int, Ratio] = {}
    for row in rows:
        near = candidates.get(_key(row, "baseline", firm), [])
        same = [base for base in near if all(absent(base[n]) or _equal(base[n], row[n]) for n in loose)]
        if len(same) == 1 and same[0]["row"] != row["row"]:  # with several it is open which one is meant
            found[row["row"]] = ratio(same[0], row)
    return found


def ratio(base: Row, row: Row) -> Ratio:
    """The ratio of two timed cases."""
    (base_low, base_high), (low, high) = interval(base), interval(row)
    return Ratio(row["row"], base["row"], base["median_us"] / row["median_us"], base_low / high, base_high / low)


def interval(row: Row) -> tuple[float, float]:
    """The interval of a median; the median itself if it has none."""
    low, high = row["ci_low_us"], row["ci_high_us"]
    if absent(low) or absent(high) or low <= 0:
        return row["median_us"], row["median_us"]
    return low, high


def ladder(frame: pd.DataFrame) -> list[str]:
    """The kernels of a run in the order of their steps, each behind its baseline; empty if they form no ladder."""
    kernels = dict.fromkeys(str(kernel) for kernel in frame["kernel"])
    before = {
        str(k): str(b) for k, b in zip(frame["kernel"], frame["baseline"], strict=True) if b in kernels and b != k
    }
    next_steps: dict[str, list[str]] = {kernel: [] for kernel in kernels}
    for kernel, baseline in before.items():
        next_steps[baseline].append(kernel)
    lines = [
        _line(kernel, next_steps) for kernel in kernels if kernel not in before
    ]  # what goes in circles has no first
    return [kernel for line, height in lines if height >= LADDER for kernel in line]


def steps(frame: pd.DataFrame) -> list[Step]:
    """The ladder of a run: every step's fastest case, at each size anew, against that of the step before."""
    kernels = ladder(frame)
    before = dict(zip(frame["kernel"], frame["baseline"], strict=True))
    found = []
    for _, peers in measured(frame[frame["kernel"].isin(kernels)]).groupby(["device", "dtype"], sort=False):
        fastest: dict[str, dict[str, Row]] = {}
        for row in sorted(records(peers), key=lambda row: (*size_key(row), row["median_us"], row["row"])):
            fastest.setdefault(row["kernel"], {}).setdefault(size_of(row), row)
        for kernel in kernels:
            if kernel in fastest:
                baseline = str(before[kernel]) if before[kernel] in kernels and before[kernel] != kernel else ""
                found.append(Step(kernel, baseline, fastest[kernel], fastest.get(baseline, {})))
    return found


def _line(kernel: str, next_steps: dict[str, list[str]]) -> tuple[list[str], int]:
    """A kernel with all steps behind it, short branches first, and how many steps the longest has."""
    branches = sorted((_line(step, next_steps) for step in next_steps[kernel]), key=lambda branch: branch[1])
    return [kernel, *(step for line, _ in branches for step in line)], 1 + max(
        (height for _, height in branches), default=0
    )


def _key(row: Row, kernel: str, names: list[str]) -> tuple[Any, ...]:
    return (str(row[kernel]), *(None if absent(row[name]) else row[name] for name in names))


def _equal(one: Any, other: Any) -> bool:
    return not absent(other) and bool(one == other)
