"""Pure statistics of timed launches, for sweeps, reports and comparisons: no files, no tables, no devices.

Summaries: the headline is the median with a distribution-free 95 % interval from order statistics (Hahn and Meeker,
Statistical Intervals, 5.2).

The rule for two times of a case, which is slower, faster, tied or undecided: the unit is a round, not a sample, because
the samples of one process share its conditions. The difference of the logarithms of the rounds' medians has a 95 %
interval (Welch). A case is slower or faster if the difference is significant among all cases that are decided together
(Holm 1979) and exceeds the threshold. It is tied if the whole interval lies within the threshold. Otherwise it is
undecided, and the decision says what to do about it. tests/compare/test_decision.py simulates how often the rule is
wrong.
"""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.float64]
Word = Literal["slower", "faster", "tied", "undecided"]

# A timed launch in samples/: its round, its time, the host's time to queue it, and whether the GPU was throttled.
SAMPLE = np.dtype([("round", np.int32), ("us", np.float64), ("enqueue_us", np.float64), ("throttled", np.bool_)])
Samples = NDArray[Any]

CONFIDENCE = 0.95
NORMAL = 1.96  # standard errors on either side of a 95 % interval of normal deviates
THRESHOLD = 0.01  # the smallest change that counts
THRESHOLD_FEW_ROUNDS = 0.02  # the same with few rounds, or if the rounds of a run share a process
MAX_TIE = 0.03  # times with a wider interval are undecided, not tied
MIN_ROUNDS = 3  # with fewer rounds the spread is unknown, and the samples decide
MANY_ROUNDS = 5
ASSUMED = 0.003  # default standard deviation between processes, rounds or identical cases, if it was not measured
MIN_ALIKE = 3  # pairs of identical machine code needed to estimate the noise of a comparison
MEDIAN_TO_DEVIATION = 1.4826  # standard deviation over the median absolute value, of normal deviates

NO_INTERVAL = "too few rounds for an interval"
THOROUGH = "measure with timing=thorough (five rounds, each in its own process)"


@dataclass(frozen=True)
class Summary:
    """A summary of samples, in microseconds.

    `ci_low` and `ci_high` enclose the true median with 95 % confidence. With fewer than 6 samples, they are the minimum
    and the maximum, whose confidence is lower.
    """

    samples: int
    median: float
    ci_low: float
    ci_high: float
    min: float
    q1: float
    q3: float

    @property
    def precision_percent(self) -> float:
        """Half the interval, in percent of the median."""
        return 50.0 * (self.ci_high - self.ci_low) / self.median if self.median else 0.0


@dataclass(frozen=True)
class Spread:
    """A standard deviation of logarithms, and its degrees of freedom."""

    deviation: float
    freedom: float


def unthrottled(samples: Samples) -> Samples:
    """The samples taken while the GPU was not throttled; all samples, of type `SAMPLE`, if it always was."""
    steady = samples[~samples["throttled"]]
    return steady if len(steady) else samples


def round_medians(samples: Samples) -> Times:
    """The median of each round in microseconds, shape (rounds,), in the order of the rounds."""
    return np.array([np.median(us) for us in _by_round(samples)], np.float64)


def summarize_rounds(samples: Samples) -> Summary:
    """Summarize all rounds together. Each round has the same weight, because a noisy round takes more samples.

    The median is the mean of the rounds' medians, and its interval follows from theirs. The other numbers are computed
    from all samples.
    """
    rounds = [summarize(us) for us in _by_round(samples)]
    median = float(np.mean([s.median for s in rounds]))
    low = median - float(np.linalg.norm([s.median - s.ci_low for s in rounds])) / len(rounds)
    high = median + float(np.linalg.norm([s.ci_high - s.median for s in rounds])) / len(rounds)
    return replace(summarize(samples["us"]), median=median, ci_low=low, ci_high=high)


def summarize(times: Times) -> Summary:
    """Summarize times in microseconds, shape (n,), n at least 1."""
    ordered = np.sort(times)
    low, high = median_ranks(len(ordered))
    q1, median, q3 = np.percentile(ordered, [25, 50, 75])
    return Summary(len(ordered), float(median), *map(float, (ordered[low], ordered[high], ordered[0], q1, q3)))


@functools.lru_cache(maxsize=4096)
def median_ranks(n: int) -> tuple[int, int]:
    """The closest pair of order statistics that encloses the median with at least 95 % confidence.

    Ranks count from 0; they are the first and the last sample if 95 % is not reached.
    """
    # The number of samples below the median is binomial with p = 1/2. Start seven standard deviations out, where the
    # probability is negligible, so that large n cost no more than small.
    rank = max(0, math.floor(n / 2 - 3.5 * math.sqrt(n)))
    outside = 0.0
    while rank < (n - 1) // 2:
        outside += math.exp(math.lgamma(n + 1) - math.lgamma(rank + 1) - math.lgamma(n - rank + 1) - n * math.log(2.0))
        if 2 * outside > 0.05:
            break
        rank += 1
    low = max(rank - 1, 0)
    return low, n - 1 - low


def mean_interval(values: Sequence[float]) -> tuple[float, float]:
    """The mean, and half the width of its 95 % confidence interval (Student); NaN with one value."""
    mean, n = statistics.fmean(values), len(values)
    if n < 2:
        return mean, math.nan
    return mean, float(_special().stdtrit(n - 1, 0.5 + CONFIDENCE / 2)) * statistics.stdev(values) / math.sqrt(n)


def _special() -> Any:
    from scipy import special  # noqa: PLC0415  (slow to import, and a worker process never needs it)

    return special


def spread_percent(medians: Times) -> float | None:
    """Standard deviation between the rounds' medians, in percent of their mean; `None` for a single round."""
    if len(medians) < 2 or not medians.mean():
        return None
    return 100.0 * float(medians.std(ddof=1) / medians.mean())


def spread_of(times: Sequence[float] | Times) -> Spread | None:
    """The spread of times, about their mean; `None` for a single one."""
    if len(times) < 2:
        return None
    logs = [math.log(time) for time in times]
    mean = statistics.fmean(logs)
    return Spread(math.sqrt(math.fsum((x - mean) ** 2 for x in logs) / (len(logs) - 1)), len(logs) - 1)


def pooled(spreads: Iterable[Spread | None]) -> Spread | None:
    """The common spread of several groups of times, each about its own mean; `None` if no group has a spread."""
    groups = [spread for spread in spreads if spread and spread.freedom]
    freedom = math.fsum(spread.freedom for spread in groups)
    squares = math.fsum(s.freedom * s.deviation**2 for s in groups)
    return Spread(math.sqrt(squares / freedom), freedom) if freedom else None


@dataclass(frozen=True)
class Side:
    """The times of one case in one run."""

    median_us: float  # geometric mean of the medians of the rounds
    rounds: int
    spread: Spread | None  # between the rounds; None for a single round
    min_us: float  # of all samples, as are the quartiles
    q1_us: float
    q3_us: float
    fresh: bool  # whether each round ran in its own process
    error: float = 0.0  # standard error of the logarithm of the median, from the samples within the rounds

    @staticmethod
    def of(rounds: Sequence[float], min_us: float, q1_us: float, q3_us: float, *, fresh: bool) -> Side:
        """Make a side from the medians of its rounds, at least one, in microseconds."""
        return Side(statistics.geometric_mean(rounds), len(rounds), spread_of(rounds), min_us, q1_us, q3_us, fresh)


@dataclass(frozen=True)
class Noise:
    """The known noise of a device before two times are compared. Deviations are standard deviations of logarithms."""

    process: float | None = None  # between processes; None if it was not measured
    alike: float = 0.0  # between the medians of identical cases of one sweep
    spread: Spread | None = None  # between the rounds, pooled over a sweep; None: each side has its own
    tick_us: float = 0.0  # resolution of the timer

    def of_metric(self, elasticity: float, unit: float) -> Noise:
        """The noise of a metric that is computed from a time.

        Args:
            elasticity: d log(metric) / d log(time).
            unit: The metric's value divided by the time in microseconds.
        """
        process = ASSUMED if self.process is None else self.process
        tick = self.tick_us * elasticity * unit
        return replace(self, process=process * elasticity, alike=self.alike * elasticity, tick_us=tick)


@dataclass(frozen=True)
class Decision:
    """The decision on a pair, with the 95 % interval of its change, which is NaN with too few rounds."""

    word: Word
    change: float  # time of the other side over that of the base: 1.03 is 3 % slower
    low: float
    high: float
    threshold: float  # fraction by which one time must be longer than the other to count
    note: str = ""  # a reservation about the decision
    advice: str = ""  # how to resolve an undecided pair


@dataclass(frozen=True)
class _Difference:
    """A difference of logarithms, the half-width of its interval, its p-value, and the threshold."""

    value: float
    half: float
    chance: float
    threshold: float

    def decision(self, word: Word, note: str = "", advice: str = "") -> Decision:
        low, high = math.exp(self.value - self.half), math.exp(self.value + self.half)
        return Decision(word, math.exp(self.value), low, high, math.expm1(self.threshold), note, advice)

    def decide(self, note: str = "") -> Decision:
        return self.decision("slower" if self.value > 0 else "faster", note)


def decide(
    pairs: Sequence[tuple[Side, Side]],
    noise: Sequence[Noise],
    *,
    alike: Sequence[bool] | None = None,
    side_by_side: bool = False,
    comparisons: int | None = None,
) -> list[Decision]:
    """Decide which pairs of times differ.

    Args:
        pairs: The base's times and the other's, of all cases at once: the more cases, the more differ by chance.
        noise: The noise of the device of each pair.
        alike: Whether both sides of a pair are the same machine code with the same launch and environment. Such pairs
            differ by noise only, so they show the noise of all others.
        side_by_side: Whether both sides were measured in turns in one sweep, so that they shared their processes.
        comparisons: The number of comparisons to correct for, if it exceeds the number of pairs.

    Returns:
        The decision on each pair, in their order.
    """
    same = alike or [False] * len(pairs)
    # From the median difference of identical pairs, so that one disturbed pair does not mask the changes of all others.
    differences = [abs(math.log(b.median_us / a.median_us)) for (a, b), equal in zip(pairs, same, strict=True) if equal]
    observed = MEDIAN_TO_DEVIATION * statistics.median(differences) if len(differences) >= MIN_ALIKE else 0.0
    errors = [_errors(pair, known) for pair, known in zip(pairs, noise, strict=True)]
    single = errors.count(None)
    estimates = [
        _difference(pair, known, parts, observed, single, side_by_side=side_by_side)
        for pair, known, parts in zip(pairs, noise, errors, strict=True)
    ]
    significant = _significant([d.chance for d in estimates], comparisons or len(pairs))
    decisions = []
    for pair, d, sure, equal in zip(pairs, estimates, significant, same, strict=True):
        firm = _firm(pair, side_by_side=side_by_side)
        decision = _by_samples(pair, d) if math.isnan(d.half) else _by_rounds(pair, d, sure=sure, firm=firm)
        if equal and decision.word in ("slower", "faster"):  # identical machine code cannot have changed
            note = f"{decision.word} although the machine code is the same"
            advice = "something disturbed a run; measure again"
            decision = replace(decision, word="undecided", note=note, advice=advice)
        decisions.append(decision)
    return decisions


def _errors(pair: tuple[Side, Side], noise: Noise) -> list[Spread] | None:
    """The standard errors whose squares add up to the variance of the difference; `None` with too few rounds."""
    if noise.spread:
        errors = [max(noise.spread.deviation / math.sqrt(side.rounds), side.error) for side in pair]
        return [Spread(math.hypot(*errors), noise.spread.freedom)]
    own = [Spread(s.spread.deviation / math.sqrt(s.rounds), s.spread.freedom) for s in pair if s.spread]
    return own if min(side.rounds for side in pair) >= MIN_ROUNDS and len(own) == len(pair) else None


def _difference(
    pair: tuple[Side, Side], known: Noise, errors: list[Spread] | None, observed: float, single: int,
    *, side_by_side: bool,
) -> _Difference:  # fmt: skip
    """The difference of a pair. `single` is the number of pairs with too few rounds."""
    base, other = pair
    value = math.log(other.median_us / base.median_us)
    process = 0.0 if side_by_side else ASSUMED if known.process is None else known.process
    smallest = THRESHOLD if _firm(pair, side_by_side=side_by_side) else THRESHOLD_FEW_ROUNDS
    noise = 2.0 * max(observed, math.sqrt(2.0) * known.alike, known.tick_us / base.median_us)
    threshold = max(math.log1p(smallest), noise)
    if errors is None:
        farthest = float(_special().ndtri(1.0 - (1.0 - CONFIDENCE) / 2 / single))  # Bonferroni
        return _Difference(value, math.nan, 1.0, max(threshold, farthest * math.sqrt(2.0) * process))
    # The rounds of one process share its offset, which their own spread does not include.
    shifts = process**2 * sum(not side.fresh for side in pair) + 2.0 * known.alike**2
    variance = shifts + sum(error.deviation**2 for error in errors)
    total = math.sqrt(variance)
    uncertain = sum(error.deviation**4 / error.freedom for error in errors)
    freedom = min(1e9, variance**2 / uncertain) if uncertain else 1e9  # Welch and Satterthwaite
    half = float(_special().stdtrit(freedom, 0.5 + CONFIDENCE / 2)) * total
    chance = 2.0 * float(_special().stdtr(freedom, -abs(value) / total)) if total else float(value == 0.0)
    spread = known.spread or pooled(side.spread for side in pair)
    return _Difference(value, half, chance, max(threshold, 2.0 * spread.deviation if spread else 0.0))


def _firm(pair: tuple[Side, Side], *, side_by_side: bool) -> bool:
    """Whether both sides have many rounds, each in its own process."""
    return all(side.rounds >= MANY_ROUNDS and (side.fresh or side_by_side) for side in pair)


def _significant(p_values: Sequence[float], comparisons: int) -> list[bool]:
    """Which differences are significant at 5 % for all comparisons together (Holm 1979)."""
    significant = [False] * len(p_values)
    for rank, n in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        if p_values[n] > (1.0 - CONFIDENCE) / (comparisons - rank):
            break
        significant[n] = True
    return significant


def _by_rounds(pair: tuple[Side, Side], d: _Difference, *, sure: bool, firm: bool) -> Decision:
    if sure and abs(d.value) > d.threshold:
        return d.decide()
    widest = min(d.threshold, math.log1p(MAX_TIE))
    if abs(d.value) + d.half <= widest:
        return d.decision("tied")
    uncertain = f"the change is uncertain by {100 * math.expm1(d.half):.1f} %"
    if not firm:
        return d.decision("undecided", uncertain, THOROUGH)
    if d.half > widest / 2:
        more = f"timing=thorough timing.rounds={2 * min(side.rounds for side in pair)}"
        return d.decision("undecided", uncertain, f"measure more rounds ({more}) or a larger size")
    close = f"the change is close to the threshold of {100 * math.expm1(d.threshold):.1f} %"
    return d.decision("undecided", close, "measure more rounds if a change this small matters")


def _by_samples(pair: tuple[Side, Side], d: _Difference) -> Decision:
    """Decide with too few rounds: a change if the samples do not overlap, as nvbench's robust comparison does."""
    base, other = pair
    small = math.log1p(THRESHOLD_FEW_ROUNDS) / 4
    gap = max(math.log(other.min_us / base.q3_us), math.log(base.min_us / other.q3_us))
    if gap >= small and abs(d.value) > d.threshold:
        return d.decide(NO_INTERVAL)
    widest = max((side.q3_us - side.q1_us) / side.median_us for side in pair)
    if abs(d.value) <= small and widest <= THRESHOLD_FEW_ROUNDS:
        return d.decision("tied", NO_INTERVAL)
    return d.decision("undecided", NO_INTERVAL, THOROUGH)


def _by_round(samples: Samples) -> list[Times]:
    return [samples["us"][samples["round"] == n] for n in np.unique(samples["round"])]
