"""The comparison in the terminal: the verdict, what may be the cause, the worst cases, and where the rest lies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from runner.compare import cells, verdict
from runner.compare.causes import Causes
from runner.compare.changes import Comparison, Word
from runner.compare.entries import Entry, median
from runner.compare.verdict import short
from runner.report.text import count, described, exact, listed, one_line

MOST_CASES, MOST_CAUSES, MOST_KERNELS = 20, 12, 8
STYLES = {"good": "bold green", "bad": "bold red", "none": "bold yellow"}
OF_WORD = {
    Word.BROKEN: "bold red", Word.SLOWER: "red", Word.INCONCLUSIVE: "yellow", Word.FIXED: "green", Word.FASTER: "green",
}  # fmt: skip
QUIET = frozenset((Word.SAME, Word.NOT_COMPARED))
"""Words that are only counted."""


def show(
    comparisons: Sequence[Comparison], entries: Sequence[Entry], causes: Causes, files: Sequence[Path], console: Console
) -> None:
    """Print what a comparison found."""
    for comparison in comparisons:
        _say(console, verdict.headline(comparison), STYLES[verdict.level(comparison)])
        found = verdict.kernels(comparison)
        for kernel in found[:MOST_KERNELS]:
            _say(console, f"  {verdict.sentence(kernel)}")
        if len(found) > MOST_KERNELS:
            _say(console, f"  {count(len(found) - MOST_KERNELS, 'further kernel')} changed.", "dim")
        for sentence in verdict.advice(comparison):
            _say(console, f"  {sentence}")
        for sentence in (*verdict.cautions(comparison), verdict.of_the_same_code(comparison)):
            _say(console, f"  {sentence}" if sentence else "", "yellow")
    _causes(causes, comparisons, console)
    _cases(comparisons, entries, console)
    _lone(comparisons, console)
    for path in files:
        _say(console, f"Written: {path}")


def _causes(causes: Causes, comparisons: Sequence[Comparison], console: Console) -> None:
    if not causes.differing:
        _say(console, "Nothing differs between the runs, as far as their folders tell.")
        return
    names = [short(comparisons[0].base), *(short(comparison.other) for comparison in comparisons)]
    _say(console, "What differs, the likeliest cause first:", "bold")
    for cause in causes.differing[:MOST_CAUSES]:
        told = [f"{one_line(v, 60)} in {n}" for n, v in zip(names, cause.values, strict=True) if v]
        what = cause.kind if cause.kind == cause.name else f"{cause.kind}: {one_line(cause.name, 60)}"
        _say(console, f"  {what}: {'; '.join(told)}")
    if len(causes.differing) > MOST_CAUSES:
        _say(console, f"  {count(len(causes.differing) - MOST_CAUSES, 'further difference')}.", "dim")


def _cases(comparisons: Sequence[Comparison], entries: Sequence[Entry], console: Console) -> None:
    """The cases of which more than a number is worth telling, the worst first."""
    told = [entry for entry in entries if not entry.alone and entry.word not in QUIET]
    if not told:
        return
    names = cells.columns([entry for entry in entries if not entry.alone], comparisons[0].base)
    lines = [_line(entry, names, comparisons) for entry in told[:MOST_CASES]]
    widths = [max((cell_len(line[n]) for line in lines if n < len(line) - 1), default=0) for n in range(4)]
    for entry, line in zip(told, lines, strict=False):
        columns = [_padded(text, width) for text, width in zip(line[:-1], widths, strict=False)]
        _say(console, "  ".join([*columns, line[-1]]).rstrip(), OF_WORD.get(Word(entry.word), ""))
    if len(told) > MOST_CASES:
        _say(console, f"{count(len(told) - MOST_CASES, 'further case')}: --html or --csv writes all of them.", "dim")


def _line(entry: Entry, names: list[str], comparisons: Sequence[Comparison]) -> list[str]:
    """Word, case, times and change, as far as it has them, and last what is to be said of it."""
    run = f"{short(comparisons[entry.run - 1].other)}: " if len(comparisons) > 1 else ""
    start = [entry.word, f"{run}{described(entry.row, names)}"]
    base, other = median(entry.base), median(entry.other)
    if base is None or other is None or entry.percent is None:
        return [*start, one_line(entry.note)]
    emulated = " (emulated)" if entry.row["device"] == "cpu" else ""
    change, interval = f"{cells.signed(entry.percent[0])} %", cells.interval(entry)
    between = f"{change} ({interval})" if interval else change
    note = "" if entry.word == Word.INCONCLUSIVE else one_line(entry.note)  # what to do about those is told once
    return [*start, f"{exact(base)} to {exact(other)} µs{emulated}", between, note]


def _lone(comparisons: Sequence[Comparison], console: Console) -> None:
    for comparison in comparisons:
        for rows, run in ((comparison.only_base, comparison.base), (comparison.only_other, comparison.other)):
            told = [described(row, comparison.varying) for row in rows[:3]]
            more = [f"{len(rows) - 3:,} more"] if len(rows) > 3 else []
            if rows:
                _say(console, f"Only in {short(run)}: {listed([*('; '.join(told),), *more])}.", "dim")


def _padded(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))


def _say(console: Console, text: str, style: str = "") -> None:
    """One line as it is: no markup, and wrapped by the terminal, so that a pipe gets it whole."""
    if text:
        console.print(Text(text, style=style), soft_wrap=True)
