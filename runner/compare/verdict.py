"""The result of a comparison in sentences, and as an exit status. Pure: the views only show it."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable

from runner.compare.changes import Change, Comparison, Word
from runner.report.text import count, listed, one_line
from runner.report.verdict import IDLE
from runner.statistics import geometric_mean

WORSE, UNDECIDED = 1, 3  # exit statuses; 0: nothing is worse, 2: a usage error
DECIDED = frozenset((Word.SLOWER, Word.FASTER, Word.SAME, Word.ONLY_OTHER))
OF_TIMES = (Word.FASTER, Word.SLOWER)
COUNTED_IF_ANY = (Word.INCONCLUSIVE, Word.FIXED, Word.FAILED, Word.NOT_COMPARED)

ONLY_RESULTS = "Times of the CPU device are emulated and not compared. Its cases are the same if both are right."


def level(comparison: Comparison) -> str:
    """The result as one word of the page's style."""
    words = {change.word for change in comparison.common}
    if words & {Word.BROKEN, Word.SLOWER}:
        return "bad"
    return "good" if words <= {Word.FASTER, Word.SAME} else "none"


def headline(comparison: Comparison) -> str:
    """As in `B against A, 192 common cases: none broken, 48 faster, 0 slower, 144 same`."""
    numbers = Counter(change.word for change in comparison.changes)
    timed = not all(map(_emulated, comparison.common))
    parts = [f"{numbers[Word.BROKEN]:,} BROKEN" if numbers[Word.BROKEN] else "none broken"]
    parts += [f"{numbers[word]:,} {word}" for word in (*(OF_TIMES if timed else ()), Word.SAME)]
    parts += [f"{numbers[word]:,} {word}" for word in COUNTED_IF_ANY if numbers[word]]
    base, other = comparison.base.short, comparison.other.short
    lone = [(numbers[Word.ONLY_BASE], base), (numbers[Word.ONLY_OTHER], other)]
    alone = [f"{count(n, 'case')} only in {name}" for n, name in lone if n]
    rest = f" {listed(alone)}." if alone else ""
    return f"{other} against {base}, {count(len(comparison.common), 'common case')}: {', '.join(parts)}.{rest}"


def kernels(comparison: Comparison) -> list[str]:
    """A sentence on each kernel with a faster or slower case, the largest change first.

    As in `reduceShfl: 1.14x faster (geometric mean of its 12 cases, from 1.05x faster to 1.30x faster)`.
    """
    ratios: dict[str, list[float]] = {}
    changed = set()
    for change in comparison.changes:
        if change.decision:
            ratios.setdefault(str(change.row["kernel"]), []).append(change.decision.change)
        if change.word in OF_TIMES:
            changed.add(str(change.row["kernel"]))
    found = [(geometric_mean(ratios[name]), name) for name in ratios if name in changed]
    found.sort(key=lambda item: -abs(math.log(item[0])))
    return [f"{one_line(name, 60)}: {_times(mean)} ({_range(mean, ratios[name])})." for mean, name in found]


def remarks(comparison: Comparison) -> list[str]:
    """What limits the comparison, and what to do about it."""
    return [*_advice(comparison), *_cautions(comparison), *_noise(comparison)]


def exit_status(comparisons: Iterable[Comparison], *, strict: bool) -> int:
    """0 if nothing is worse, 1 if a case is slower or broken, 3 if `strict` and a case is undecided.

    Undecided is a case that was right in the baseline and has no answer: inconclusive, not run, or not there any more.
    """
    changes = [change for comparison in comparisons for change in comparison.changes]
    if any(change.word in (Word.BROKEN, Word.SLOWER) for change in changes):
        return WORSE
    undecided = any(c.word not in DECIDED and c.pair.base["status"] == "ok" for c in changes)
    return UNDECIDED if strict and undecided else 0


def _emulated(change: Change) -> bool:
    """Whether a time of a common case is emulated, so that only results are compared."""
    return bool(change.pair.base["emulated"] or change.pair.other["emulated"])


def _times(change: float) -> str:
    """A ratio of times in words: `1.14x faster`; below 5 % in percent."""
    direction = "faster" if change < 1 else "slower"
    if max(change, 1 / change) < 1.05:
        return f"{100 * abs(change - 1):.1f} % {direction}" if abs(change - 1) >= 0.0005 else "as fast"
    return f"{max(change, 1 / change):.2f}x {direction}"


def _range(mean: float, ratios: list[float]) -> str:
    if len(ratios) == 1:
        return "one case"
    least, most = map(_times, sorted((min(ratios), max(ratios)), reverse=mean < 1))
    return f"geometric mean of its {len(ratios)} cases" + (f", from {least} to {most}" if least != most else "")


def _advice(comparison: Comparison) -> list[str]:
    """What to do about inconclusive cases, each advice once."""
    advice = Counter(change.advice for change in comparison.of(Word.INCONCLUSIVE))
    return [f"{count(n, 'inconclusive case')}: {one_line(text, 200)}." for text, n in advice.most_common(3) if text]


def _cautions(comparison: Comparison) -> list[str]:
    """What to know before the comparison is taken as it stands."""
    changes, base, other = comparison.common, comparison.base.short, comparison.other.short
    emulated = [change for change in changes if _emulated(change)]
    found = [ONLY_RESULTS] if emulated else []
    if n := sum(change.word is Word.SAME and bool(change.reason) for change in emulated):
        gave = "case gave another result" if n == 1 else "cases gave other results"
        found.append(f"{n:,} {gave}, within the tolerance of the reference. The notes say which.")
    if len(emulated) < len(changes) and not any(change.decision for change in changes):
        found.append(f"No case has comparable times in both {base} and {other}.")
    if n := comparison.without_samples:
        has = "has" if n == 1 else "have"
        found.append(f"{count(n, 'time')} {has} no samples in the folder: the table's median counts as one round.")
    if n := sum(change.row["status"] not in ("ok", *IDLE) for change in comparison.of(Word.ONLY_OTHER)):
        found.append(f"{count(n, 'case')} that only {other} has failed.")
    if n := sum(change.pair.base["status"] in IDLE or change.pair.other["status"] in IDLE for change in changes):
        found.append(f"{count(n, 'common case')} did not run in at least one of them.")
    return found


def _noise(comparison: Comparison) -> list[str]:
    """The A/A check: how much the times of unchanged cases differ; empty where there are no such cases."""
    found = [change.size for change in comparison.changes if change.alike]
    if not found:
        return []
    typical, most = (100 * math.expm1(size) for size in (statistics.median(found), max(found)))
    how = f"{typical:.1f} % typically and {most:.1f} % at most" if len(found) > 1 else f"{most:.1f} %"
    have, their = ("has", "Its") if len(found) == 1 else ("have", "Their")
    same = f"{count(len(found), 'case')} {have} the same machine code, launch and environment in both runs"
    return [f"{same}. {their} times differ by {how}: the noise of this comparison."]
