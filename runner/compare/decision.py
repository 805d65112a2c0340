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

from runner.compare.difference import (
    LEAST,
    MANY_ROUNDS,
    Difference,
    Noise,
    Side,
    certain,
    difference,
    have_spread,
    observed_noise,
)

Word = Literal["faster", "slower", "same", "inconclusive"]

THOROUGH = "measure both runs with timing=thorough, five rounds"


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
        kind: observed_noise(pairs, [a and n.kind == kind for a, n in zip(alike, noise, strict=True)]) for kind in LEAST
    }
    single = sum(not have_spread(pair) for pair in pairs)
    found = [difference(*pair, known, of_kind[known.kind], single) for pair, known in zip(pairs, noise, strict=True)]
    sure = certain([d.chance for d in found])
    told = []
    for pair, known, d, s in zip(pairs, noise, found, sure, strict=True):
        told.append(_by_rounds(pair, known, d, sure=s) if have_spread(pair) else _by_samples(pair, known, d))
    return [_unblamed(d) if same else d for d, same in zip(told, alike, strict=True)]


def _by_rounds(pair: tuple[Side, Side], known: Noise, d: Difference, *, sure: bool) -> Decision:
    low, high = d.value - d.half, d.value + d.half
    of = Decision("same", math.exp(d.value), math.exp(low), math.exp(high), math.expm1(d.threshold))
    if sure and abs(d.value) > d.threshold:
        return replace(of, word="slower" if d.value > 0 else "faster")
    if max(-low, high) <= d.same:
        return of
    return replace(of, word="inconclusive", note=_advice(pair, known, d))


def _advice(pair: tuple[Side, Side], known: Noise, d: Difference) -> str:
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


def _by_samples(pair: tuple[Side, Side], known: Noise, d: Difference) -> Decision:
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
