"""How many times faster than its declared baseline each case is, at the same other parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from runner.report.table import parameters, records, timed
from runner.report.text import absent

LOOSE = frozenset(("kernel", "width", "mask", "unroll"))
"""Parameters that a baseline may not read; the rest of the fixed ones must be equal."""


@dataclass(frozen=True)
class Ratio:
    """The time of the baseline over the time of the case; above 1 the case is faster.

    Attributes:
        row: number of the case in results.csv.
        baseline_row: number of the baseline's case.
        times: ratio of the medians.
        low: ratio of the interval ends that is least favourable to the case.
        high: the most favourable one.
    """

    row: int
    baseline_row: int
    times: float
    low: float
    high: float


def ratios(frame: pd.DataFrame) -> dict[int, Ratio]:
    """The ratio of every case that has one, by its row. The CPU device has none: its times say nothing about a GPU."""
    rows = records(timed(frame[frame["device"] != "cpu"]))
    loose = [n for n in parameters(frame) if n in (LOOSE - {"kernel"}) or n in frame.attrs.get("further", [])]
    firm = [n for n in (*parameters(frame), "rows", "cols") if n not in loose and n != "kernel"]
    candidates: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        candidates.setdefault(_key(row, str(row["kernel"]), firm), []).append(row)
    found: dict[int, Ratio] = {}
    for row in rows:
        near = candidates.get(_key(row, str(row["baseline"]), firm), [])
        same = [base for base in near if all(absent(base[n]) or _equal(base[n], row[n]) for n in loose)]
        if len(same) == 1 and same[0]["row"] != row["row"]:  # several would leave open which one is meant
            found[row["row"]] = _ratio(same[0], row)
    return found


def _key(row: dict[str, Any], kernel: str, names: list[str]) -> tuple[Any, ...]:
    return (kernel, *(None if absent(row[name]) else row[name] for name in names))


def _equal(one: Any, other: Any) -> bool:
    return not absent(other) and bool(one == other)


def _ratio(base: dict[str, Any], row: dict[str, Any]) -> Ratio:
    (base_low, base_high), (low, high) = interval(base), interval(row)
    return Ratio(row["row"], base["row"], base["median_us"] / row["median_us"], base_low / high, base_high / low)


def interval(row: dict[str, Any]) -> tuple[float, float]:
    """The interval of a median; the median itself where none was computed."""
    low, high = row["ci_low_us"], row["ci_high_us"]
    if absent(low) or absent(high) or low <= 0:
        return row["median_us"], row["median_us"]
    return low, high
