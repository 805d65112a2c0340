"""The result of a comparison in sentences, and as an exit status. Pure: the views only show it."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from runner.compare.changes import Change, Comparison, Word
from runner.report.text import count, listed, one_line
from runner.report.verdict import IDLE
from runner.statistics import geometric_mean

WORSE, UNDECIDED = 1, 3  # exit statuses; 0: nothing is worse, 2: a usage error
DECIDED = frozenset((Word.SLOWER, Word.FASTER, Word.SAME))
OF_TIMES = (Word.FASTER, Word.SLOWER)
COUNTED_IF_ANY = (Word.INCONCLUSIVE, Word.FIXED, Word.FAILED, Word.NOT_COMPARED)

ONLY_RESULTS = "Times of the CPU device are emulated and not compared. Its cases are the same if both are right."


@dataclass(frozen=True)
class KernelChange:
    """How the time of a kernel changed, over all its compared cases.

    Attributes:
        kernel: Its name.
        change: Geometric mean of the ratios of times, run over baseline.
        low: The least ratio.
        high: The greatest ratio.
        cases: How many cases there are.
    """

    kernel: str
    change: float
    low: float
    high: float
    cases: int


def level(comparison: Comparison) -> str:
    """The result as one word of the page's style."""
    if comparison.of(Word.BROKEN) or comparison.of(Word.SLOWER):
        return "bad"
    return "good" if all(change.word in (Word.FASTER, Word.SAME) for change in comparison.changes) else "none"


def headline(comparison: Comparison) -> str:
    """As in `B against A, 192 common cases: none broken, 48 faster, 0 slower, 144 same`."""
    numbers = Counter(change.word for change in comparison.changes)
    timed = any(not emulated(change) for change in comparison.changes)
    parts = [f"{numbers[Word.BROKEN]:,} BROKEN" if numbers[Word.BROKEN] else "none broken"]
    parts += [f"{numbers[word]:,} {word}" for word in (*(OF_TIMES if timed else ()), Word.SAME)]
    parts += [f"{numbers[word]:,} {word}" for word in COUNTED_IF_ANY if numbers[word]]
    base, other = comparison.base.short, comparison.other.short
    alone = [(comparison.only_base, base), (comparison.only_other, other)]
    lone = [f"{count(len(rows), 'case')} only in {name}" for rows, name in alone if rows]
    rest = f" {listed(lone)}." if lone else ""
    return f"{other} against {base}, {count(len(comparison.changes), 'common case')}: {', '.join(parts)}.{rest}"


def kernels(comparison: Comparison) -> list[KernelChange]:
    """The kernels of which at least one case became faster or slower, the largest change first."""
    groups: dict[str, list[Change]] = {}
    for change in comparison.changes:
        if change.decision:
            groups.setdefault(str(change.row["kernel"]), []).append(change)
    changed = {name: cases for name, cases in groups.items() if any(case.word in OF_TIMES for case in cases)}
    return sorted((_kernel(*item) for item in changed.items()), key=lambda kernel: -abs(math.log(kernel.change)))


def sentence(kernel: KernelChange) -> str:
    """As in `reduceShfl: 1.14x faster (geometric mean of its 12 cases, from 1.05x faster to 1.30x faster)`."""
    how = "one case" if kernel.cases == 1 else f"geometric mean of its {kernel.cases} cases{_range(kernel)}"
    return f"{one_line(kernel.kernel, 60)}: {times(kernel.change)} ({how})."


def times(change: float) -> str:
    """A ratio of times in words: `1.14x faster`; below 5 % in percent."""
    direction = "faster" if change < 1 else "slower"
    if max(change, 1 / change) < 1.05:
        return f"{100 * abs(change - 1):.1f} % {direction}" if abs(change - 1) >= 0.0005 else "as fast"
    return f"{max(change, 1 / change):.2f}x {direction}"


def remarks(comparison: Comparison) -> list[str]:
    """What limits the comparison, and what to do about it."""
    return [*_advice(comparison), *_cautions(comparison), *_noise(comparison)]


def exit_status(comparisons: Iterable[Comparison], *, strict: bool) -> int:
    """0 if nothing is worse, 1 if a case is slower or broken, 3 if `strict` and a case is undecided."""
    found = list(comparisons)
    if any(comparison.of(word) for comparison in found for word in (Word.BROKEN, Word.SLOWER)):
        return WORSE
    return UNDECIDED if strict and any(map(_has_undecided, found)) else 0


def emulated(change: Change) -> bool:
    """Whether a time of the case is emulated, so that only results are compared."""
    return bool(change.pair.base["emulated"] or change.pair.other["emulated"])


def _kernel(name: str, cases: Sequence[Change]) -> KernelChange:
    ratios = [change.decision.change for change in cases if change.decision]
    return KernelChange(name, geometric_mean(ratios), min(ratios), max(ratios), len(ratios))


def _range(kernel: KernelChange) -> str:
    ends = (kernel.high, kernel.low) if kernel.change < 1 else (kernel.low, kernel.high)
    least, most = map(times, ends)
    return f", from {least} to {most}" if least != most else ""


def _advice(comparison: Comparison) -> list[str]:
    """What to do about inconclusive cases, each advice once."""
    advice = Counter(change.advice for change in comparison.of(Word.INCONCLUSIVE))
    return [f"{count(n, 'inconclusive case')}: {one_line(text, 200)}." for text, n in advice.most_common(3) if text]


def _cautions(comparison: Comparison) -> list[str]:
    """What to know before the comparison is taken as it stands."""
    changes, base, other = comparison.changes, comparison.base.short, comparison.other.short
    found = []
    if any(map(emulated, changes)):
        found.append(ONLY_RESULTS)
    if n := sum(emulated(change) and change.word is Word.SAME and bool(change.reason) for change in changes):
        gave = "case gave another result" if n == 1 else "cases gave other results"
        found.append(f"{n:,} {gave}, within the tolerance of the reference. The notes say which.")
    if changes and not any(change.decision for change in changes) and not all(map(emulated, changes)):
        found.append(f"No case has comparable times in both {base} and {other}.")
    if n := comparison.without_samples:
        has = "has" if n == 1 else "have"
        found.append(f"{count(n, 'time')} {has} no samples in the folder: the table's median counts as one round.")
    failed = [row for row in comparison.only_other if row["status"] not in ("ok", *IDLE)]
    if failed:
        found.append(f"{count(len(failed), 'case')} that only {other} has failed.")
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


def _has_undecided(comparison: Comparison) -> bool:
    """Whether a case that was right in the baseline has no answer: inconclusive, not run, or not there any more."""
    found = [change.pair.base for change in comparison.changes if change.word not in DECIDED]
    return any(row["status"] == "ok" for row in (*found, *comparison.only_base))
