"""What a comparison comes to, in sentences and as an exit status. Pure: page and terminal only place it."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from runner.compare.changes import Change, Comparison, Word
from runner.compare.loading import Run
from runner.report.text import EMULATED, count, listed, one_line
from runner.report.verdict import IDLE

WORSE, UNDECIDED = 1, 3
"""Exit statuses, beside 0: nothing is worse; 2 is a mistake."""

LONGEST = 40  # letters of a run's name
DECIDED = frozenset((Word.SLOWER, Word.FASTER, Word.SAME))
ALWAYS_TOLD = (Word.FASTER, Word.SLOWER, Word.SAME)
TOLD_IF_ANY = (Word.INCONCLUSIVE, Word.FIXED, Word.FAILED, Word.NOT_COMPARED)


@dataclass(frozen=True)
class KernelChange:
    """How the time of a kernel changed, over all its cases on one kind of device that were compared.

    Attributes:
        kernel: Its name.
        emulated: Whether the times are those of the CPU device.
        change: Geometric mean of the ratios of times, run over baseline.
        low: The least of the ratios.
        high: The greatest.
        cases: How many there are.
    """

    kernel: str
    emulated: bool
    change: float
    low: float
    high: float
    cases: int


def short(run: Run) -> str:
    """A run's name, as long as a sentence can bear: cut in the middle, as names often differ at their ends."""
    name = one_line(run.name, 1000)
    return name if len(name) <= LONGEST else f"{name[: LONGEST // 2 - 1]}…{name[-LONGEST // 2 :]}"


def level(comparison: Comparison) -> str:
    """One word for the whole, as the page's style knows it."""
    if comparison.of(Word.BROKEN) or comparison.of(Word.SLOWER):
        return "bad"
    return "good" if all(change.word in (Word.FASTER, Word.SAME) for change in comparison.changes) else "none"


def headline(comparison: Comparison) -> str:
    """As in `B against A, 192 common cases: none broken, 48 faster, 0 slower, 144 same`."""
    broken = len(comparison.of(Word.BROKEN))
    told = [f"{broken:,} BROKEN" if broken else "none broken"]
    told += [f"{len(comparison.of(word)):,} {word}" for word in ALWAYS_TOLD]
    told += [f"{n:,} {word}" for word in TOLD_IF_ANY if (n := len(comparison.of(word)))]
    base, other = short(comparison.base), short(comparison.other)
    alone = [(comparison.only_base, base), (comparison.only_other, other)]
    lone = [f"{count(len(rows), 'case')} only in {name}" for rows, name in alone if rows]
    rest = f" {listed(lone)}." if lone else ""
    common = count(len(comparison.changes), "common case")
    return f"{other} against {base}, {common}: {', '.join(told)}.{rest}"


def kernels(comparison: Comparison) -> list[KernelChange]:
    """The kernels of which at least one case became faster or slower, the largest change first."""
    groups: dict[tuple[str, bool], list[Change]] = {}
    for change in comparison.changes:
        if change.decision:
            groups.setdefault((str(change.row["kernel"]), change.row["device"] == "cpu"), []).append(change)
    found = [_kernel(*key, cases) for key, cases in groups.items() if _any_changed(cases)]
    return sorted(found, key=lambda kernel: -abs(math.log(kernel.change)))


def _any_changed(cases: Iterable[Change]) -> bool:
    return any(change.word in (Word.FASTER, Word.SLOWER) for change in cases)


def _kernel(name: str, emulated: bool, cases: Sequence[Change]) -> KernelChange:  # noqa: FBT001 - half of a key
    ratios = [change.decision.change for change in cases if change.decision]
    return KernelChange(name, emulated, statistics.geometric_mean(ratios), min(ratios), max(ratios), len(ratios))


def sentence(kernel: KernelChange) -> str:
    """As in `reduceShfl: 1.14x faster (geometric mean of its 12 cases, from 1.05x faster to 1.30x faster)`."""
    emulated = " in emulated time" if kernel.emulated else ""
    how = "one case" if kernel.cases == 1 else f"geometric mean of its {kernel.cases} cases{_range(kernel)}"
    return f"{one_line(kernel.kernel, 60)}: {times(kernel.change)}{emulated} ({how})."


def _range(kernel: KernelChange) -> str:
    ends = (kernel.high, kernel.low) if kernel.change < 1 else (kernel.low, kernel.high)
    least, most = map(times, ends)
    return f", from {least} to {most}" if least != most else ""


def times(change: float) -> str:
    """A ratio of times in words: `1.14x faster`; of less than 5 % in percent."""
    direction = "faster" if change < 1 else "slower"
    if max(change, 1 / change) < 1.05:
        return f"{100 * abs(change - 1):.1f} % {direction}" if abs(change - 1) >= 0.0005 else "as fast"
    return f"{max(change, 1 / change):.2f}x {direction}"


def cautions(comparison: Comparison) -> list[str]:
    """What keeps a comparison from being taken as it stands."""
    base, other = short(comparison.base), short(comparison.other)
    told = []
    if any(row["device"] == "cpu" for change in comparison.changes for row in (change.pair.base, change.pair.other)):
        told.append(f"Device cpu: {EMULATED}.")
    if not any(change.decision for change in comparison.changes):
        told.append(f"No case has a time in both {base} and {other} that may be compared.")
    if n := comparison.without_samples:
        told.append(
            f"{count(n, 'time')} {'has' if n == 1 else 'have'} no samples in the folder, so that rounds are not known "
            f"and the median of the table counts as one."
        )
    failed = [row for row in comparison.only_other if row["status"] not in ("ok", *IDLE)]
    if failed:
        told.append(f"{count(len(failed), 'case')} that only {other} has failed.")
    idle = [c for c in comparison.changes if c.pair.base["status"] in IDLE or c.pair.other["status"] in IDLE]
    if idle:
        told.append(f"{count(len(idle), 'common case')} {'was' if len(idle) == 1 else 'were'} not run in one of them.")
    return told


def advice(comparison: Comparison) -> list[str]:
    """What to do about inconclusive cases, each advice once; a decision's note has it behind what it follows from."""
    notes = Counter(change.note.rpartition(": ")[2] for change in comparison.of(Word.INCONCLUSIVE))
    return [f"{count(n, 'inconclusive case')}: {one_line(note, 200)}." for note, n in notes.most_common(3) if note]


def of_the_same_code(comparison: Comparison) -> str:
    """The A/A check: how much cases differ of which nothing was changed; empty where there are none."""
    found = [change.size for change in comparison.changes if change.alike]
    if not found:
        return ""
    noun = "case has" if len(found) == 1 else "cases have"
    typical, most = (100 * math.expm1(size) for size in (statistics.median(found), max(found)))
    how = f"{typical:.1f} % typically and {most:.1f} % at most" if len(found) > 1 else f"{most:.1f} %"
    return (
        f"{len(found):,} {noun} the same machine code, launch and environment in both: what their times differ by, "
        f"{how}, is the noise of this comparison."
    )


def exit_status(comparisons: Iterable[Comparison], *, strict: bool) -> int:
    """0 if nothing is worse, 1 if a case is slower or broken, 3 if `strict` and a case was not decided upon."""
    found = list(comparisons)
    if any(comparison.of(word) for comparison in found for word in (Word.BROKEN, Word.SLOWER)):
        return WORSE
    return UNDECIDED if strict and any(undecided(comparison) for comparison in found) else 0


def undecided(comparison: Comparison) -> int:
    """How many cases that were right in the baseline have no answer: inconclusive, not run, not there any more."""
    open_ = [c for c in comparison.changes if c.word not in DECIDED and c.pair.base["status"] == "ok"]
    return len(open_) + sum(1 for row in comparison.only_base if row["status"] == "ok")
