"""Whether a case became faster or slower: the rule, and nothing else. Pure: times in, a word out.

The unit is a round, not a sample: samples of one process share its luck, so that more of them prove nothing. The
medians of the rounds are compared by Welch's interval on the difference of their logarithms. A change counts if the
interval excludes zero, also when all cases of the table are allowed for (Holm 1979), *and* if it exceeds a threshold
that someone would care about. What is neither a change nor certainly none is inconclusive, with what to do about it.
tests/compare/test_decision.py simulates how often that is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy import special

Word = Literal["faster", "slower", "same", "inconclusive"]

CONFIDENCE = 0.95
ENOUGH_ROUNDS = 3  # with fewer, rounds say nothing of their spread, and all samples of the case are looked at
MANY_ROUNDS = 5
SAME_WITHIN = 3.0  # of `Least.known`: times that scatter widely are not the same for it, only hard to tell apart
MEDIAN_TO_DEVIATION = 1.4826  # of the absolute values of normal deviates
THOROUGH = "measure both runs with timing=thorough, five rounds"
FEWEST_ALIKE = 3  # pairs of the same machine code that together tell the noise of a comparison


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
class Decision:
    """What is said of a pair.

    Attributes:
        word: The word.
        change: Time of the other run over that of the base: 1.03 is 3 % slower.
        low: Lower end of its 95 % interval; NaN where there are too few rounds for one.
        high: Upper end.
        threshold: Fraction by which one time must be longer than the other to count.
        note: What weakens it, or what to do about it; often empty.
    """

    word: Word
    change: float
    low: float
    high: float
    threshold: float
    note: str = ""


@dataclass(frozen=True)
class _Difference:
    """Of the logarithms: its value, half its interval, its probability if nothing changed, and what would matter.

    `threshold` is what a change must exceed, `same` within what the whole interval must lie to be none.
    """

    value: float
    half: float
    chance: float
    threshold: float
    same: float


def decide(pairs: Sequence[tuple[Side, Side]], noise: Sequence[Noise], alike: Sequence[bool]) -> list[Decision]:
    """Say of each case whether it became faster or slower.

    Args:
        pairs: Of each case the base's times and the other's; all cases of two runs at once, as the more there are, the
            more of them differ by chance.
        noise: What is known of each case's device.
        alike: Whether a pair is the same machine code, launched alike in the same environment: what it differs by is
            noise, so that such pairs tell how much of it all the others have.
    """
    of_kind = {
        kind: _observed(pairs, [a and n.kind == kind for a, n in zip(alike, noise, strict=True)]) for kind in LEAST
    }
    single = sum(not _have_spread(pair) for pair in pairs)
    found = [_difference(*pair, known, of_kind[known.kind], single) for pair, known in zip(pairs, noise, strict=True)]
    certain = _holm([d.chance for d in found])
    told = []
    for pair, known, d, sure in zip(pairs, noise, found, certain, strict=True):
        told.append(_by_rounds(pair, known, d, sure=sure) if _have_spread(pair) else _by_samples(pair, known, d))
    return [_unblamed(d) if same else d for d, same in zip(told, alike, strict=True)]


def _have_spread(pair: tuple[Side, Side]) -> bool:
    return min(len(side.rounds) for side in pair) >= ENOUGH_ROUNDS


def _logs(side: Side) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.log(np.array(side.rounds, np.float64))


def _observed(pairs: Sequence[tuple[Side, Side]], alike: Sequence[bool]) -> float:
    """How much pairs that are alike differ, as a standard deviation; 0 where those are too few to tell.

    By the median of their differences, so that a single one that was disturbed hides no change of all the others.
    """
    known = [
        abs(float(_logs(other).mean() - _logs(base).mean()))
        for (base, other), same in zip(pairs, alike, strict=True)
        if same
    ]
    return MEDIAN_TO_DEVIATION * float(np.median(known)) if len(known) >= FEWEST_ALIKE else 0.0


def _difference(base: Side, other: Side, known: Noise, observed: float, single: int) -> _Difference:
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
    if not _have_spread((base, other)):
        farthest = float(special.ndtri(1.0 - (1.0 - CONFIDENCE) / 2 / single))  # of so many pairs (Bonferroni)
        return _Difference(value, math.nan, 1.0, max(threshold, farthest * math.sqrt(2.0) * run), math.nan)
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
    return _Difference(value, half, chance, threshold, min(threshold, math.log1p(SAME_WITHIN * least.known)))


def _welch(of_means: Sequence[float], freedom: Sequence[int], known: float) -> float:
    """Degrees of freedom of a sum of estimated variances and a known one (Welch and Satterthwaite)."""
    uncertain = sum(v**2 / n for v, n in zip(of_means, freedom, strict=True))
    return min(1e9, (sum(of_means) + known) ** 2 / uncertain) if uncertain else 1e9


def _holm(chances: Sequence[float]) -> list[bool]:
    """Which of several differences are none of chance, at 5 % for all of them together (Holm 1979)."""
    certain = [False] * len(chances)
    for place, n in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        if chances[n] > (1.0 - CONFIDENCE) / (len(chances) - place):
            break
        certain[n] = True
    return certain


def _by_rounds(pair: tuple[Side, Side], known: Noise, d: _Difference, *, sure: bool) -> Decision:
    low, high = d.value - d.half, d.value + d.half
    of = Decision("same", math.exp(d.value), math.exp(low), math.exp(high), math.expm1(d.threshold))
    if sure and abs(d.value) > d.threshold:
        return replace(of, word="slower" if d.value > 0 else "faster")
    if max(-low, high) <= d.same:
        return of
    return replace(of, word="inconclusive", note=_advice(pair, known, d))


def _advice(pair: tuple[Side, Side], known: Noise, d: _Difference) -> str:
    """What to do about a difference that may be one or not."""
    percent = f"the interval is {100 * math.expm1(d.half):.1f} % to either side"
    if not all(side.fresh and len(side.rounds) >= MANY_ROUNDS for side in pair):
        return f"{percent}: {THOROUGH}, in processes of their own"
    if d.half > d.same / 2:
        rounds = 2 * min(len(side.rounds) for side in pair)
        setting = f"timing=thorough timing.{'cpu_' if known.kind == 'cpu' else ''}rounds={rounds}"
        return f"{percent}: measure both with more rounds ({setting}), or a larger size"
    threshold = 100 * math.expm1(d.threshold)
    return f"about as large as the threshold of {threshold:.1f} %: more rounds tell it only if it matters"


def _by_samples(pair: tuple[Side, Side], known: Noise, d: _Difference) -> Decision:
    """Of too few rounds: a change if the samples lie apart, as nvbench's robust comparison has it."""
    base, other = pair
    least = LEAST[known.kind].unsure
    small = math.log1p(least) / 4
    of = Decision("inconclusive", math.exp(d.value), math.nan, math.nan, math.expm1(d.threshold))
    gap = max(math.log(other.min_us / base.q3_us), math.log(base.min_us / other.q3_us))
    if gap >= small and abs(d.value) > d.threshold:
        return replace(of, word="slower" if d.value > 0 else "faster", note="too few rounds for an interval")
    widest = max((side.q3_us - side.q1_us) / side.rounds[0] for side in pair)
    if abs(d.value) <= small and widest <= least:
        return replace(of, word="same", note="too few rounds for an interval")
    return replace(of, note=f"too few rounds to tell: {THOROUGH}")


def _unblamed(decision: Decision) -> Decision:
    """A pair of the same machine code cannot have changed: what looks like it is a disturbance."""
    if decision.word in ("same", "inconclusive"):
        return decision
    note = f"{decision.word}, though the machine code is the same: something disturbed a run; measure again"
    return replace(decision, word="inconclusive", note=note)
