"""How the cases of one sweep compare: the fastest, its ties, the speed-ups over baselines, and the steps of a ladder.

The rule is that of `runner.statistics`: the fastest is compared with each other case. All cases of a device took turns
in one sweep, so they share its processes, and together they show the spread between rounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from runner.noise import DeviceNoise, of_device
from runner.report.table import measured, parameters, records, size_key
from runner.report.text import absent, size_of
from runner.statistics import ASSUMED, THRESHOLD, WIDEST_TIE, Side, Spread, decide, pooled

Row = dict[str, Any]

NORMAL = 1.96  # standard errors on either side of a median's interval

LOOSE = frozenset(("width", "mask", "unroll"))
"""Parameters that a baseline may not read, besides those that kernels declare. All others must be equal."""

LADDER = 3
"""So many kernels, each the baseline of the next, are a ladder."""


@dataclass(frozen=True)
class Ranking:
    """A ranking of `among` comparable cases. The tied ones are slower than the fastest by at most the margin.

    Undecided cases may be tied or slower. Both are sorted by time; the margin is a fraction.
    """

    fastest: Row
    tied: tuple[Row, ...]
    undecided: tuple[Row, ...]
    margin: float
    among: int


def noise(rows: Iterable[Row], device: Mapping[str, Any]) -> DeviceNoise:
    """The noise of a sweep on one device: from all its timed cases, and its section of environment.json."""
    spread = pooled(
        Spread(row["round_spread_percent"] / 100.0, _rounds(row) - 1)
        for row in rows
        if not absent(row["round_spread_percent"])
    )
    return replace(of_device(device), spread=spread or Spread(ASSUMED, float("inf")))


def rank(rows: Iterable[Row], known: DeviceNoise) -> Ranking:
    """Rank comparable cases, at least one, all of them timed on one GPU in a sweep of this noise."""
    best, *others = sorted(rows, key=lambda row: (row["median_us"], row["row"]))
    pairs = [(_side(best), _side(row)) for row in others]
    # The fastest is the least of all cases, so every pair of them counts as compared.
    comparisons = len(others) * (len(others) + 1) // 2
    found = decide(pairs, [known.at(best["median_us"])] * len(pairs), side_by_side=True, comparisons=comparisons)
    tied = [(row, min(d.threshold, WIDEST_TIE)) for row, d in zip(others, found, strict=True) if d.word == "tied"]
    undecided = tuple(row for row, d in zip(others, found, strict=True) if d.word == "undecided")
    margin = max((m for _, m in tied), default=THRESHOLD)
    return Ranking(best, tuple(row for row, _ in tied), undecided, margin, len(others) + 1)


def _side(row: Row) -> Side:
    median, low, high = (float(row["median_us"]), row["ci_low_us"], row["ci_high_us"])
    error = 0.0 if absent(low) or absent(high) else (high - low) / (2.0 * NORMAL * median)
    return Side(median, _rounds(row), None, median, median, median, fresh=True, error=error)


def _rounds(row: Row) -> int:
    return 1 if absent(row["rounds"]) else max(1, int(row["rounds"]))


@dataclass(frozen=True)
class Ratio:
    """The median of the baseline divided by that of the case: above 1 the case is faster.

    `row` and `baseline_row` are numbers of cases in results.csv. `low` and `high` are the ratios of the interval ends
    that are least and most favourable to the case.
    """

    row: int
    baseline_row: int
    times: float
    low: float
    high: float


@dataclass(frozen=True)
class Step:
    """A kernel of a ladder, and the kernel before it: of each, the fastest case by size."""

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
        if len(same) == 1 and same[0]["row"] != row["row"]:  # of several, none is picked
            found[row["row"]] = ratio(same[0], row)
    return found


def ratio(base: Row, row: Row) -> Ratio:
    """The ratio of two timed cases."""
    (base_low, base_high), (low, high) = _interval(base), _interval(row)
    return Ratio(row["row"], base["row"], base["median_us"] / row["median_us"], base_low / high, base_high / low)


def _interval(row: Row) -> tuple[float, float]:
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
    # Kernels in a circle have no first.
    lines = [_line(kernel, next_steps) for kernel in kernels if kernel not in before]
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
    height = 1 + max((height for _, height in branches), default=0)
    return [kernel, *(step for line, _ in branches for step in line)], height


def _key(row: Row, kernel: str, names: list[str]) -> tuple[Any, ...]:
    return (str(row[kernel]), *(None if absent(row[name]) else row[name] for name in names))


def _equal(one: Any, other: Any) -> bool:
    return not absent(other) and bool(one == other)
