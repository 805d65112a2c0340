"""The rule that decides on two times of a case: slower, faster, tied or undecided. Comparison and report share it.

The unit is a round, not a sample: the samples of one process share its luck, so more of them prove nothing. The
difference of the logarithms of the rounds' medians has a 95 % interval (Welch). A case is slower or faster if the
difference is significant among all cases that are decided together (Holm 1979) and exceeds the threshold. It is tied if
the whole interval lies within the threshold. Otherwise it is undecided, and the decision says what to do about it.

tests/compare/test_decision.py simulates how often the rule is wrong.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from runner.statistics.summary import Spread, geometric_mean, pooled, spread_of

Word = Literal["slower", "faster", "tied", "undecided"]

CONFIDENCE = 0.95
THRESHOLD = 0.01  # the smallest change that counts
THRESHOLD_FEW_ROUNDS = 0.02  # the same with few rounds, or where the rounds of a run share a process
WIDEST_TIE = 0.03  # times that scatter more widely are undecided, not tied
ENOUGH_ROUNDS = 3  # fewer rounds have no spread worth the name, and the samples decide
MANY_ROUNDS = 5
ASSUMED = 0.003  # standard deviation between processes, rounds or identical cases, where nobody measured it
FEWEST_ALIKE = 3  # pairs of the same machine code that together show the noise of a comparison
MEDIAN_TO_DEVIATION = 1.4826  # of the absolute values of normal deviates

UNCERTAIN = "the change is uncertain by {:.1f} %"
NEAR_THRESHOLD = "the change is close to the threshold of {:.1f} %"
NO_INTERVAL = "too few rounds for an interval"
THOROUGH = "measure with timing=thorough (five rounds, each in its own process)"
MORE_ROUNDS = "measure more rounds (timing=thorough timing.rounds={}) or a larger size"
IF_IT_MATTERS = "measure more rounds if a change this small matters"
DISTURBED = "something disturbed a run; measure again"


@dataclass(frozen=True)
class Side:
    """The times of one case in one run.

    Attributes:
        median_us: Geometric mean of the medians of its rounds.
        rounds: How many rounds there are.
        spread: Between the rounds; `None` for a single round.
        min_us: Of all samples.
        q1_us: Lower quartile of all samples.
        q3_us: Upper quartile of all samples.
        fresh: Whether each round had its own process.
        error: Standard error of the logarithm of the median, as the samples within the rounds show it.
    """

    median_us: float
    rounds: int
    spread: Spread | None
    min_us: float
    q1_us: float
    q3_us: float
    fresh: bool
    error: float = 0.0

    @staticmethod
    def of(rounds: Sequence[float], min_us: float, q1_us: float, q3_us: float, *, fresh: bool) -> Side:
        """A side from the medians of its rounds, at least one."""
        return Side(geometric_mean(rounds), len(rounds), spread_of(rounds), min_us, q1_us, q3_us, fresh)


@dataclass(frozen=True)
class Noise:
    """What is known about the noise of a device before two times are compared; deviations are of logarithms.

    Attributes:
        process: Standard deviation between processes; `None` if nobody measured it.
        alike: Standard deviation between the medians of identical cases of one sweep.
        spread: Between the rounds, pooled over a whole sweep; `None`: each side has its own.
        tick_us: Resolution of the timer.
    """

    process: float | None = None
    alike: float = 0.0
    spread: Spread | None = None
    tick_us: float = 0.0


@dataclass(frozen=True)
class Decision:
    """The decision on a pair.

    Attributes:
        word: The decision.
        change: Time of the other side over that of the base: 1.03 is 3 % slower.
        low: Lower end of its 95 % interval; NaN where there are too few rounds for one.
        high: Upper end.
        threshold: Fraction by which one time must be longer than the other to count.
        note: What weakens the decision; often empty.
        advice: What to do about an undecided pair.
    """

    word: Word
    change: float
    low: float
    high: float
    threshold: float
    note: str = ""
    advice: str = ""


@dataclass(frozen=True)
class _Difference:
    """A difference of logarithms, half its interval, its probability if nothing changed, and the threshold."""

    value: float
    half: float
    chance: float
    threshold: float

    def decision(self, word: Word, note: str = "", advice: str = "") -> Decision:
        low, high = math.exp(self.value - self.half), math.exp(self.value + self.half)
        return Decision(word, math.exp(self.value), low, high, math.expm1(self.threshold), note, advice)

    def changed(self) -> Word:
        return "slower" if self.value > 0 else "faster"


def decide(
    pairs: Sequence[tuple[Side, Side]],
    noise: Sequence[Noise],
    *,
    alike: Sequence[bool] | None = None,
    side_by_side: bool = False,
    comparisons: int | None = None,
) -> list[Decision]:
    """Decide which of some pairs of times differ.

    Args:
        pairs: The base's times and the other's, of all cases at once: the more cases, the more differ by chance.
        noise: What is known about the device of each pair.
        alike: Whether both sides of a pair are the same machine code, launched alike in the same environment. Such
            pairs differ by noise only, and so show how much noise all others have.
        side_by_side: Whether both sides were measured in turns in one sweep, so that they shared their processes.
        comparisons: How many comparisons to allow for, if more than there are pairs.
    """
    same = alike or [False] * len(pairs)
    observed = _observed_noise([pair for pair, known in zip(pairs, same, strict=True) if known])
    single = sum(_parts(*pair, known) is None for pair, known in zip(pairs, noise, strict=True))
    found = [
        _difference(pair, known, observed, single, side_by_side=side_by_side)
        for pair, known in zip(pairs, noise, strict=True)
    ]
    significant = _significant([d.chance for d in found], comparisons or len(pairs))
    decisions = [
        _by_samples(*pair, d) if math.isnan(d.half) else _by_rounds(pair, d, sure=sure, side_by_side=side_by_side)
        for pair, d, sure in zip(pairs, found, significant, strict=True)
    ]
    return [_unblamed(d) if known else d for d, known in zip(decisions, same, strict=True)]


def _observed_noise(alike: Sequence[tuple[Side, Side]]) -> float:
    """Standard deviation of the differences of identical pairs; 0 if there are too few pairs.

    It follows from the median difference, so that one disturbed pair does not hide the changes of all others.
    """
    found = [abs(math.log(other.median_us / base.median_us)) for base, other in alike]
    return MEDIAN_TO_DEVIATION * statistics.median(found) if len(found) >= FEWEST_ALIKE else 0.0


def _parts(base: Side, other: Side, known: Noise) -> list[Spread] | None:
    """The estimated standard errors that make up that of the difference; `None` where there are too few rounds."""
    sides = (base, other)
    if known.spread:
        errors = [max(known.spread.deviation / math.sqrt(side.rounds), side.error) for side in sides]
        return [Spread(math.hypot(*errors), known.spread.freedom)]
    own = [Spread(s.spread.deviation / math.sqrt(s.rounds), s.spread.freedom) for s in sides if s.spread]
    return own if min(side.rounds for side in sides) >= ENOUGH_ROUNDS and len(own) == len(sides) else None


def _difference(
    pair: tuple[Side, Side], known: Noise, observed: float, single: int, *, side_by_side: bool
) -> _Difference:
    from scipy import special  # noqa: PLC0415 - a worker process, which decides nothing, starts sooner

    base, other = pair
    value = math.log(other.median_us / base.median_us)
    process = 0.0 if side_by_side else ASSUMED if known.process is None else known.process
    least = THRESHOLD if _firm(pair, side_by_side=side_by_side) else THRESHOLD_FEW_ROUNDS
    noise = 2.0 * max(observed, math.sqrt(2.0) * known.alike, known.tick_us / base.median_us)
    threshold = max(math.log1p(least), noise)
    parts = _parts(base, other, known)
    if parts is None:
        farthest = float(special.ndtri(1.0 - (1.0 - CONFIDENCE) / 2 / single))  # among so many pairs (Bonferroni)
        return _Difference(value, math.nan, 1.0, max(threshold, farthest * math.sqrt(2.0) * process))
    # The rounds of one process share its shift, which their own spread does not show.
    shifts = process**2 * sum(not side.fresh for side in pair) + 2.0 * known.alike**2
    variance = shifts + sum(part.deviation**2 for part in parts)
    error = math.sqrt(variance)
    uncertain = sum(part.deviation**4 / part.freedom for part in parts)
    freedom = min(1e9, variance**2 / uncertain) if uncertain else 1e9  # Welch and Satterthwaite
    half = float(special.stdtrit(freedom, 0.5 + CONFIDENCE / 2)) * error
    chance = 2.0 * float(special.stdtr(freedom, -abs(value) / error)) if error else float(value == 0.0)
    spread = known.spread or pooled(side.spread for side in pair)
    return _Difference(value, half, chance, max(threshold, 2.0 * spread.deviation if spread else 0.0))


def _firm(pair: tuple[Side, Side], *, side_by_side: bool) -> bool:
    return all(side.rounds >= MANY_ROUNDS and (side.fresh or side_by_side) for side in pair)


def _significant(chances: Sequence[float], comparisons: int) -> list[bool]:
    """Which differences are not chance, at 5 % for all comparisons together (Holm 1979)."""
    found = [False] * len(chances)
    for rank, n in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        if chances[n] > (1.0 - CONFIDENCE) / (comparisons - rank):
            break
        found[n] = True
    return found


def _by_rounds(pair: tuple[Side, Side], d: _Difference, *, sure: bool, side_by_side: bool) -> Decision:
    if sure and abs(d.value) > d.threshold:
        return d.decision(d.changed())
    widest = min(d.threshold, math.log1p(WIDEST_TIE))
    if abs(d.value) + d.half <= widest:
        return d.decision("tied")
    uncertain = UNCERTAIN.format(100 * math.expm1(d.half))
    if not _firm(pair, side_by_side=side_by_side):
        return d.decision("undecided", uncertain, THOROUGH)
    if d.half > widest / 2:
        return d.decision("undecided", uncertain, MORE_ROUNDS.format(2 * min(side.rounds for side in pair)))
    return d.decision("undecided", NEAR_THRESHOLD.format(100 * math.expm1(d.threshold)), IF_IT_MATTERS)


def _by_samples(base: Side, other: Side, d: _Difference) -> Decision:
    """Decide with too few rounds: a change if the samples do not overlap, as in nvbench's robust comparison."""
    small = math.log1p(THRESHOLD_FEW_ROUNDS) / 4
    gap = max(math.log(other.min_us / base.q3_us), math.log(base.min_us / other.q3_us))
    if gap >= small and abs(d.value) > d.threshold:
        return d.decision(d.changed(), NO_INTERVAL)
    widest = max((side.q3_us - side.q1_us) / side.median_us for side in (base, other))
    if abs(d.value) <= small and widest <= THRESHOLD_FEW_ROUNDS:
        return d.decision("tied", NO_INTERVAL)
    return d.decision("undecided", NO_INTERVAL, THOROUGH)


def _unblamed(decision: Decision) -> Decision:
    """The same machine code cannot have changed: an apparent change is a disturbance."""
    if decision.word in ("tied", "undecided"):
        return decision
    note = f"{decision.word} although the machine code is the same"
    return replace(decision, word="undecided", note=note, advice=DISTURBED)
