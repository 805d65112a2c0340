"""The difference of a case's times in two runs, with its interval, its chance, and what would matter. Pure statistics.

All differences are of logarithms, so that what is k times slower one way is k times faster the other way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

CONFIDENCE = 0.95
ENOUGH_ROUNDS = 3  # with fewer, rounds say nothing of their spread, and all samples of the case are looked at
MANY_ROUNDS = 5
SAME_WITHIN = 3.0  # of `Least.known`: times that scatter widely are not the same for it, only hard to tell apart
FEWEST_ALIKE = 3  # pairs of the same machine code that together tell the noise of a comparison
MEDIAN_TO_DEVIATION = 1.4826  # of the absolute values of normal deviates


@dataclass(frozen=True)
class Least:
    """Differences that matter on a kind of device, as fractions.

    Attributes:
        known: With many rounds, each in a process of its own.
        unsure: With fewer, or all in one process.
        run: Standard deviation from one process to the next, where nobody measured it.
    """

    known: float
    unsure: float
    run: float


LEAST = {"cuda": Least(0.01, 0.02, 0.003), "cpu": Least(0.10, 0.50, 0.03)}
"""An emulated time is one of a host that does other things, too."""


@dataclass(frozen=True)
class Side:
    """One run's times of a case, in microseconds.

    Attributes:
        rounds: Medians of its rounds, at least one.
        min_us: Of all samples.
        q1_us: Lower quartile of all samples.
        q3_us: Upper quartile of all samples.
        fresh: Whether each round had a process of its own.
    """

    rounds: tuple[float, ...]
    min_us: float
    q1_us: float
    q3_us: float
    fresh: bool


@dataclass(frozen=True)
class Noise:
    """What is known beforehand.

    Attributes:
        kind: Of the device: `cuda` or `cpu`.
        run_percent: Standard deviation from one process to the next; `None` where nobody measured it.
        tick_us: The least step between two times.
    """

    kind: str
    run_percent: float | None = None
    tick_us: float = 0.0


@dataclass(frozen=True)
class Difference:
    """Of the logarithms: its value, half its interval, its probability if nothing changed, and what would matter.

    `threshold` is what a change must exceed, `same` within what the whole interval must lie to be none.
    """

    value: float
    half: float
    chance: float
    threshold: float
    same: float


def have_spread(pair: tuple[Side, Side]) -> bool:
    """Whether both sides have enough rounds to tell how much those differ."""
    return min(len(side.rounds) for side in pair) >= ENOUGH_ROUNDS


def _logs(side: Side) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.log(np.array(side.rounds, np.float64))


def observed_noise(pairs: Sequence[tuple[Side, Side]], alike: Sequence[bool]) -> float:
    """How much pairs that are alike differ, as a standard deviation; 0 where those are too few to tell.

    By the median of their differences, so that a single one that was disturbed hides no change of all the others.
    """
    known = [
        abs(float(_logs(other).mean() - _logs(base).mean()))
        for (base, other), same in zip(pairs, alike, strict=True)
        if same
    ]
    return MEDIAN_TO_DEVIATION * float(np.median(known)) if len(known) >= FEWEST_ALIKE else 0.0


def difference(base: Side, other: Side, known: Noise, observed: float, single: int) -> Difference:
    """The difference of a pair, in logarithms.

    Args:
        base: Its times before.
        other: Its times now.
        known: Of the device.
        observed: What alike pairs differ by.
        single: How many pairs of the table have too few rounds for a spread of their own.
    """
    least = LEAST[known.kind]
    logs = (_logs(base), _logs(other))
    value = float(logs[1].mean() - logs[0].mean())
    run = least.run if known.run_percent is None else known.run_percent / 100.0
    firm = all(len(side.rounds) >= MANY_ROUNDS and side.fresh for side in (base, other))
    tick = 2.0 * known.tick_us / math.exp(float(logs[0].mean()))
    threshold = max(math.log1p(least.known if firm else least.unsure), 2.0 * observed, tick)
    if not have_spread((base, other)):
        farthest = float(special.ndtri(1.0 - (1.0 - CONFIDENCE) / 2 / single))  # of so many pairs (Bonferroni)
        return Difference(value, math.nan, 1.0, max(threshold, farthest * math.sqrt(2.0) * run), math.nan)
    variances = [float(x.var(ddof=1)) for x in logs]
    freedom = [len(x) - 1 for x in logs]
    pooled = sum(v * n for v, n in zip(variances, freedom, strict=True)) / sum(freedom)
    of_means = [v / len(x) for v, x in zip(variances, logs, strict=True)]
    processes = run**2 * sum(not side.fresh for side in (base, other))  # rounds of one process share its shift
    error = math.sqrt(sum(of_means) + processes)
    effective = _welch(of_means, freedom, processes)
    half = float(special.stdtrit(effective, 0.5 + CONFIDENCE / 2)) * error
    chance = 2.0 * float(special.stdtr(effective, -abs(value) / error)) if error else float(value == 0.0)
    threshold = max(threshold, 2.0 * math.sqrt(pooled))
    return Difference(value, half, chance, threshold, min(threshold, math.log1p(SAME_WITHIN * least.known)))


def _welch(of_means: Sequence[float], freedom: Sequence[int], known: float) -> float:
    """Degrees of freedom of a sum of estimated variances and a known one (Welch and Satterthwaite)."""
    uncertain = sum(v**2 / n for v, n in zip(of_means, freedom, strict=True))
    return min(1e9, (sum(of_means) + known) ** 2 / uncertain) if uncertain else 1e9


def certain(chances: Sequence[float]) -> list[bool]:
    """Which of several differences are none of chance, at 5 % for all of them together (Holm 1979)."""
    found = [False] * len(chances)
    for place, n in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        if chances[n] > (1.0 - CONFIDENCE) / (len(chances) - place):
            break
        found[n] = True
    return found
