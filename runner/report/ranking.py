"""Rank the cases of one sweep: the fastest, the cases tied with it, and the undecided ones.

The rule is that of `runner.statistics`: the fastest is compared with each other case. All cases of a device took turns
in one sweep, so they share its processes, and together they show the spread between rounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from runner.noise import DeviceNoise, of_device
from runner.report.text import absent
from runner.statistics import ASSUMED, THRESHOLD, WIDEST_TIE, Side, Spread, decide, pooled

NORMAL = 1.96  # standard errors on either side of a median's interval


@dataclass(frozen=True)
class Ranking:
    """A ranking of comparable cases.

    Attributes:
        fastest: The case with the shortest median.
        tied: Cases that are not slower by more than the margin, fastest first.
        undecided: Cases that may be slower or tied, fastest first.
        margin: Fraction within which the tied cases are.
        among: How many cases were ranked.
    """

    fastest: dict[str, Any]
    tied: tuple[dict[str, Any], ...]
    undecided: tuple[dict[str, Any], ...]
    margin: float
    among: int


def noise(rows: Iterable[dict[str, Any]], device: Mapping[str, Any]) -> DeviceNoise:
    """The noise of a sweep on one device.

    Args:
        rows: All timed cases of the device.
        device: Its section of environment.json.
    """
    spread = pooled(
        Spread(row["round_spread_percent"] / 100.0, _rounds(row) - 1)
        for row in rows
        if not absent(row["round_spread_percent"])
    )
    return replace(of_device(device), spread=spread or Spread(ASSUMED, float("inf")))


def rank(rows: Iterable[dict[str, Any]], known: DeviceNoise) -> Ranking:
    """Rank comparable cases, at least one, all of them timed on one GPU.

    Args:
        rows: The cases. Emulated times are never ranked.
        known: The noise of their sweep.
    """
    best, *others = sorted(rows, key=lambda row: (row["median_us"], row["row"]))
    pairs = [(_side(best), _side(row)) for row in others]
    # The fastest is the least of all cases, so every pair of them counts as compared.
    comparisons = len(others) * (len(others) + 1) // 2
    found = decide(pairs, [known.at(best["median_us"])] * len(pairs), side_by_side=True, comparisons=comparisons)
    tied = [(row, min(d.threshold, WIDEST_TIE)) for row, d in zip(others, found, strict=True) if d.word == "tied"]
    undecided = tuple(row for row, d in zip(others, found, strict=True) if d.word == "undecided")
    return Ranking(
        best, tuple(row for row, _ in tied), undecided, max((m for _, m in tied), default=THRESHOLD), len(pairs) + 1
    )


def _side(row: dict[str, Any]) -> Side:
    median, low, high = (float(row["median_us"]), row["ci_low_us"], row["ci_high_us"])
    error = 0.0 if absent(low) or absent(high) else (high - low) / (2.0 * NORMAL * median)
    return Side(median, _rounds(row), None, median, median, median, fresh=True, error=error)


def _rounds(row: dict[str, Any]) -> int:
    return 1 if absent(row["rounds"]) else max(1, int(row["rounds"]))
