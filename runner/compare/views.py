"""A comparison in sentences, as an exit status, in the terminal, and as one page that needs no network."""

from __future__ import annotations

import base64
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from runner import statistics as rule
from runner.compare import tables
from runner.compare.causes import Causes, changed_sources
from runner.compare.changes import Change, Comparison, Word
from runner.compare.tables import Entry, median
from runner.report.terminal import STYLES, say, say_columns
from runner.report.text import count, described, exact, listed, one_line
from runner.report.verdict import IDLE

if TYPE_CHECKING:
    from runner.compare.figure import Picture

WORSE, UNDECIDED = 1, 3  # exit statuses; 0: nothing is worse, 2: a usage error
DECIDED = frozenset((Word.SLOWER, Word.FASTER, Word.SAME, Word.ONLY_OTHER))
OF_TIMES = (Word.FASTER, Word.SLOWER)
COUNTED_IF_ANY = (Word.INCONCLUSIVE, Word.FIXED, Word.FAILED, Word.NOT_COMPARED)
ONLY_RESULTS = "Times of the CPU device are emulated and not compared. Its cases are the same if both are right."

MOST_CASES, MOST_CAUSES, MOST_KERNELS = 20, 12, 8  # in the terminal
MOST_PROBLEMS, MOST_LONE = 100, 500  # in the page
OPEN_LINES = 60  # of a diff; a longer one is folded

OF_WORD = {
    Word.BROKEN: "bold red", Word.SLOWER: "red", Word.INCONCLUSIVE: "yellow", Word.FIXED: "green", Word.FASTER: "green",
}  # fmt: skip
QUIET = frozenset((Word.SAME, Word.NOT_COMPARED, Word.ONLY_BASE, Word.ONLY_OTHER))
"""Words without a line a case in the terminal."""


def show(
    comparisons: Sequence[Comparison], entries: Sequence[Entry], causes: Causes, files: Sequence[Path], console: Console
) -> None:
    """Print the verdict, what differs, the worst cases, and the files that were written."""
    for comparison in comparisons:
        say(console, headline(comparison), STYLES[level(comparison)])
        found = kernels(comparison)
        for sentence in found[:MOST_KERNELS]:
            say(console, f"  {sentence}")
        if len(found) > MOST_KERNELS:
            say(console, f"  {count(len(found) - MOST_KERNELS, 'more kernel')} changed.", "dim")
        for remark in remarks(comparison):
            say(console, f"  {remark}", "yellow")
    _show_causes(causes, comparisons, console)
    _show_cases(comparisons, entries, console)
    for comparison in comparisons:
        for run, rows in _lone(comparison):
            cases = "; ".join(described(row, comparison.varying) for row in rows[:3])
            more = [f"{len(rows) - 3:,} more"] if len(rows) > 3 else []
            say(console, f"Only in {run}: {listed([cases, *more])}.", "dim")
    for path in files:
        say(console, f"Written: {path}")


def page(comparisons: Sequence[Comparison], entries: Sequence[Entry], causes: Causes, picture: Picture | None) -> bytes:
    """The page, as bytes that are the same whenever the comparison is."""
    from runner.report.page import template  # noqa: PLC0415 - Jinja would slow a comparison without a page

    base = comparisons[0].base
    compared = [base, *(comparison.other for comparison in comparisons)]
    names = tables.columns(comparisons)
    same = [entry for entry in entries if entry[1].word is Word.SAME]
    rest = [entry for entry in entries if entry[1].word not in (Word.SAME, Word.ONLY_BASE, Word.ONLY_OTHER)]
    context: dict[str, Any] = {
        "title": f"{listed([comparison.other.short for comparison in comparisons])} against {base.short}",
        "verdicts": [(level(c), headline(c), kernels(c), remarks(c)) for c in comparisons],
        "banner": listed(causes.surroundings()),
        "problems": [
            (tables.anchor(entry), described(entry[1].row, names), comparisons[entry[0] - 1].other.short,
             one_line(entry[1].note, 1500))
            for entry in rest
            if entry[1].word is Word.BROKEN
        ],
        "causes": tables.differing(causes, compared),
        "same_facts": causes.same,
        "diffs": [(c.other.short, d) for c in comparisons for d in changed_sources(c.base, c.other) if d.diff],
        "open_lines": OPEN_LINES,
        "picture": picture,
        "data": f"data:{picture.mime};base64,{base64.b64encode(picture.content).decode()}" if picture else "",
        "changes": tables.changes(rest, comparisons, names),
        "same": tables.changes(same, comparisons, names),
        "lone": [
            (run, [f"{described(row, c.varying)}: {str(row['status']).replace('_', ' ')}" for row in rows[:MOST_LONE]],
             len(rows))
            for c in comparisons
            for run, rows in _lone(c)
        ],
        "most_problems": MOST_PROBLEMS,
        "rule": rule,
        "styled": dict.fromkeys((*tables.LEFT, "kind", "what", *(run.short for run in compared)), "left"),
    }  # fmt: skip
    return template("compare.html", "runner.compare", "runner.report").render(context).encode()


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
    start = f"{other} against {base}, {count(len(comparison.common), 'common case')}: {', '.join(parts)}."
    return f"{start} {listed(alone)}." if alone else start


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
    found = [(statistics.geometric_mean(ratios[name]), name) for name in ratios if name in changed]
    found.sort(key=lambda item: -abs(math.log(item[0])))
    return [f"{one_line(name, 60)}: {_times(mean)} ({_range(mean, ratios[name])})." for mean, name in found]


def remarks(comparison: Comparison) -> list[str]:
    """What limits the comparison, and what to do about it."""
    advice = Counter(change.advice for change in comparison.of(Word.INCONCLUSIVE)).most_common(3)
    todo = [f"{count(n, 'inconclusive case')}: {one_line(text, 200)}." for text, n in advice if text]
    return [*todo, *_cautions(comparison), *_noise(comparison)]


def exit_status(comparisons: Iterable[Comparison], *, strict: bool) -> int:
    """0 if nothing is worse, 1 if a case is slower or broken, 3 if `strict` and a case is undecided.

    Undecided is a case that was right in the baseline and has no answer: inconclusive, not run, or not there any more.
    """
    changes = [change for comparison in comparisons for change in comparison.changes]
    if any(change.word in (Word.BROKEN, Word.SLOWER) for change in changes):
        return WORSE
    undecided = any(c.word not in DECIDED and c.pair.base["status"] == "ok" for c in changes)
    return UNDECIDED if strict and undecided else 0


def _show_causes(causes: Causes, comparisons: Sequence[Comparison], console: Console) -> None:
    if not causes.differing:
        say(console, "Nothing differs between the runs, as far as their folders tell.")
        return
    names = [comparisons[0].base.short, *(comparison.other.short for comparison in comparisons)]
    say(console, "What differs, the likeliest cause first:", "bold")
    for cause in causes.differing[:MOST_CAUSES]:
        values = [f"{one_line(v, 60)} in {n}" for n, v in zip(names, cause.values, strict=True) if v]
        what = cause.kind if cause.kind == cause.name else f"{cause.kind}: {one_line(cause.name, 60)}"
        say(console, f"  {what}: {'; '.join(values)}")
    if len(causes.differing) > MOST_CAUSES:
        say(console, f"  {count(len(causes.differing) - MOST_CAUSES, 'more difference')}.", "dim")


def _show_cases(comparisons: Sequence[Comparison], entries: Sequence[Entry], console: Console) -> None:
    """Print the cases that need more than to be counted, the worst first."""
    shown = [entry for entry in entries if entry[1].word not in QUIET]
    names = tables.columns(comparisons)
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for _ in range(5):
        table.add_column(no_wrap=True)
    for number, change in shown[:MOST_CASES]:
        run = f"{comparisons[number - 1].other.short}: " if len(comparisons) > 1 else ""
        cells = (change.word.value, f"{run}{described(change.row, names)}", *_cells(change))
        table.add_row(*map(Text, cells), style=OF_WORD.get(change.word, ""))
    if shown:
        say_columns(console, table)
    if len(shown) > MOST_CASES:
        say(console, f"{count(len(shown) - MOST_CASES, 'more case')}: --html or --csv writes all of them.", "dim")


def _cells(change: Change) -> tuple[str, str, str]:
    """Times, change and note, as far as the case has them."""
    base, other = median(change.pair.base), median(change.pair.other)
    if base is None or other is None or change.percent is None:
        return "", "", one_line(change.note)
    interval = tables.interval(change)
    between = f"{tables.signed(change.percent[0])} %{f' ({interval})' if interval else ''}"
    note = "" if change.word is Word.INCONCLUSIVE else one_line(change.note)  # the verdict has the advice once
    return f"{exact(base)} to {exact(other)} µs", between, note


def _lone(comparison: Comparison) -> list[tuple[str, list[dict[str, Any]]]]:
    """The cases that only one of the runs has, by the name of the run."""
    words = ((Word.ONLY_BASE, comparison.base), (Word.ONLY_OTHER, comparison.other))
    return [(run.short, [c.row for c in changes]) for word, run in words if (changes := comparison.of(word))]


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


def _cautions(comparison: Comparison) -> list[str]:
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
