"""Several runs beside the baseline: a line for each case, a column for each run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console

from runner.compare import counted, views
from runner.compare.changes import Change, Comparison, Word
from runner.compare.views import TREND_STYLES, WORD_STYLES, Entry
from runner.display.console import fits
from runner.display.table import Cell, Line, Table
from runner.display.text import count, limited, listed, one_line, value_of
from runner.record.ranking import IDLE
from runner.report.figures.figure import group

MAX_HEAD = 14  # characters of a run's name at which it still heads a column
MAX_NAMED = 4  # runs that the verdict names for a word

WORDS = {
    Word.SAME: "tied", Word.INCONCLUSIVE: "undecided", Word.BROKEN: "failed", Word.FAILED: "failed",
    Word.ONLY_BASE: "not run", Word.ONLY_OTHER: "new",
}  # fmt: skip
"""The words of cells, if they are others than those of `Word`."""

NAMED = {
    Word.BROKEN: "BROKEN (failed now)", Word.SLOWER: "Slower", Word.FASTER: "Faster", Word.FIXED: "Fixed",
    Word.INCONCLUSIVE: "Undecided",
}  # fmt: skip
"""The words that the verdict counts, as they begin its sentences."""


def heads(comparisons: Sequence[Comparison]) -> list[str]:
    """Name the columns of the runs: by the runs' names, or `run 1`, `run 2` if one of them is long."""
    names = [comparison.other.short for comparison in comparisons]
    return names if max(map(len, names)) <= MAX_HEAD else [f"run {n}" for n in range(1, len(names) + 1)]


def level(comparisons: Sequence[Comparison]) -> str:
    """Return the result of all runs as a style of the page: `bad`, `good` or `none`."""
    levels = set(map(views.level, comparisons))
    return "bad" if "bad" in levels else "good" if levels == {"good"} else "none"


def verdict(comparisons: Sequence[Comparison], names: Sequence[str]) -> str:
    """Summarize all runs, as in `4 runs against A, 20 cases. BROKEN: 1 in B. Slower: 2 in C, 3 in D.`."""
    base = comparisons[0].base
    counts = [f"{name}: {counted.lead(c.counts)}." for name, c in zip(names, comparisons, strict=True) if c.counts]
    words = []
    for word, start in NAMED.items():
        found = [(len(c.of(word)), name) for name, c in zip(names, comparisons, strict=True)]
        if own := [f"{n:,} in {name}" for n, name in found if n]:
            words.append(f"{start}: {listed(limited(own, MAX_NAMED))}.")
    nothing = [] if words or counts else ["No case is broken, slower or faster."]
    what = f"{count(len(comparisons), 'run')} against {base.short}, {count(len(base.rows), 'case')}."
    return " ".join([what, *words, *counts, *nothing])


def remarks(comparisons: Sequence[Comparison], names: Sequence[str]) -> list[str]:
    """List the limits of the comparisons; one that holds for some runs only begins with their names."""
    said = [(remark, name) for name, c in zip(names, comparisons, strict=True) for remark in views.remarks(c)]
    by_remark = group(said, lambda entry: entry[0])
    return [
        remark if len(own) == len(comparisons) else f"{listed([name for _, name in own])}: {remark}"
        for remark, own in by_remark.items()
    ]


def table(comparisons: Sequence[Comparison], cases: Iterable[Entry], base: str, names: Sequence[str]) -> Table:
    """Make the matrix: the case's parameters, the time in `base`, and a column for each of the runs `names`.

    Cases are in the order of their worst result.
    """
    parameters = views.varying_in(comparisons)
    lines = []
    for entries in group(cases, _key).values():
        by_run = dict(entries)
        change = next((c for c in by_run.values() if c.pair.base), entries[0][1])
        own = [Cell(one_line(value_of(name, change.row), 40)) for name in parameters]
        cells = [cell(comparison, by_run.get(n)) for n, comparison in enumerate(comparisons, 1)]
        lines.append(Line(views.anchor(change), [*own, _of_base(comparisons[0], change), *cells]))
    return Table([*parameters, base, *names], lines)


def fitting(matrix: Table, runs: int, console: Console) -> tuple[Table, list[str]]:
    """Leave out the last runs until the matrix fits into the terminal; a pipe gets all. Returns also their names."""
    first = len(matrix.columns) - runs
    for end in range(len(matrix.columns), first, -1):
        lines = [Line(line.anchor, line.cells[:end], line.style) for line in matrix.lines]
        part = Table(matrix.columns[:end], lines)
        if not console.is_terminal or fits(console, part):
            break
    return part, matrix.columns[end:]


def cell(comparison: Comparison, change: Change | None) -> Cell:
    """Make the cell of a case in a run: how many times slower or faster it is; a tip has the rest."""
    if change is None:
        return Cell("not run", "idle")
    counts = comparison.counts_by_case.get(str(change.row["case"]), [])
    tip = "; ".join(filter(None, (*views.numbers(change, comparison), *map(str, counts))))
    style, kind = WORD_STYLES.get(change.word, ("", "idle"))
    kind = "slow" if kind == "bad" else kind
    if change.decision:
        ratio = change.decision.change
        return Cell(f"{max(ratio, 1 / ratio):.2f}x {_word(change)}", kind, tip, style)
    if counts and change.word is Word.SAME:
        trend, (first, *_) = counted.trend(counts), counted.groups(counts)
        style, kind = TREND_STYLES.get(first.trend, ("", "")) if trend != "mixed" else ("yellow", "")
        return Cell(f"{first.values.removesuffix(' a request')}, {trend}", kind, tip, style)
    return Cell(_word(change), kind, tip, style)


def _key(entry: Entry) -> tuple[object, ...]:
    """What the changes of a case in several runs have in common: the baseline's row, which all share."""
    row = entry[1].row
    return (id(entry[1].pair.base),) if entry[1].pair.base else (row["case"], row["device"], row["place"])


def _word(change: Change) -> str:
    """The word of a cell."""
    if change.word is Word.NOT_COMPARED and change.pair.other["status"] in IDLE:
        return "not run"
    if change.word is Word.SAME and not change.decision:
        return "same"  # as a result: nothing was timed
    return WORDS.get(change.word, change.word.value)


def _of_base(comparison: Comparison, change: Change) -> Cell:
    """The baseline's cell: its time, or its status."""
    row = change.pair.base
    if not row:
        return Cell("not run", "idle")
    status = str(row["status"]).replace("_", " ")
    return Cell(views.amount(comparison, change, of_base=True) or status, "" if status == "ok" else "idle")
