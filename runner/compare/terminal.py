"""A comparison in the terminal: of one run in sentences, of several as a matrix, the answer first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from runner.compare import counted, matrix
from runner.compare.causes import Causes
from runner.compare.changes import Comparison, Word
from runner.compare.code import changed_code
from runner.compare.views import (
    WORD_STYLES,
    Entry,
    headline,
    kernels,
    level,
    lone,
    numbers,
    remarks,
    varying_in,
)
from runner.display.console import say, say_table
from runner.display.table import Table
from runner.display.text import count, described, limited, listed, one_line
from runner.report.terminal import STYLES

MAX_CASES, MAX_CAUSES, MAX_KERNELS, MAX_LINES = 20, 12, 8, 8

QUIET = frozenset((Word.SAME, Word.NOT_COMPARED, Word.ONLY_BASE, Word.ONLY_OTHER))
"""Words whose cases are not listed."""


def show(
    comparisons: Sequence[Comparison],
    cases: Sequence[Entry],
    causes: Causes,
    left_out: Sequence[str],
    files: Sequence[Path],
    console: Console,
) -> None:
    """Print the verdict, the cases, the causes, what was left out, and the files that were written."""
    several = len(comparisons) > 1
    if several:
        _show_matrix(comparisons, cases, console)
    else:
        _show_verdict(comparisons[0], console)
    for sentence in left_out:
        say(console, sentence, "yellow")
    _show_causes(causes, comparisons, console)
    for comparison in comparisons:
        _show_lines(comparison, console)
    if not several:
        _show_code(comparisons[0], console)
        _show_cases(comparisons[0], cases, console)
        for run, rows in lone(comparisons[0]):
            names = limited([described(row, comparisons[0].varying) for row in rows], 3)
            say(console, f"Only in {run}: {listed(names)}.", "dim")
    for path in files:
        say(console, f"Written: {path}")


def _show_verdict(comparison: Comparison, console: Console) -> None:
    say(console, headline(comparison), STYLES[level(comparison)])
    _show_some(console, kernels(comparison), MAX_KERNELS, " changed.", "more kernel")
    for remark in remarks(comparison):
        say(console, f"  {remark}", "yellow")


def _show_matrix(comparisons: Sequence[Comparison], cases: Sequence[Entry], console: Console) -> None:
    """Print the verdict on all runs, and the runs that fit beside each other, in the order of the command line."""
    heads, base = matrix.heads(comparisons), comparisons[0].base.short
    say(console, matrix.verdict(comparisons, heads), STYLES[matrix.level(comparisons)])
    named = [(head, comparison.other.short) for head, comparison in zip(heads, comparisons, strict=True)]
    if legend := [f"{head} is {name}" for head, name in named if head != name]:
        say(console, f"  {listed(legend)}.")
    for remark in matrix.remarks(comparisons, heads):
        say(console, f"  {remark}", "yellow")
    table = matrix.table(comparisons, cases, base if len(base) <= matrix.MAX_HEAD else "baseline", heads)
    shown, left_out = matrix.fitting(Table(table.columns, table.lines[:MAX_CASES]), len(heads), console)
    say_table(console, shown)
    hints = [f"{listed(left_out)} would not fit into {console.width} columns"] if left_out else []
    if len(table.lines) > MAX_CASES:
        hints.append(count(len(table.lines) - MAX_CASES, "more case"))
    if hints:
        say(console, f"{'; '.join(hints)}: --html or --csv writes all of them.", "dim")


def _show_causes(causes: Causes, comparisons: Sequence[Comparison], console: Console) -> None:
    if not causes.differing:
        say(console, "The folders show no difference.")
        return
    names = [comparisons[0].base.short, *(comparison.other.short for comparison in comparisons)]
    say(console, "What differs, the likeliest cause first:", "bold")
    lines = []
    for cause in causes.differing:
        values = [f"{one_line(v, 60)} in {n}" for n, v in zip(names, cause.values, strict=True) if v]
        what = cause.kind if cause.kind == cause.name else f"{cause.kind}: {one_line(cause.name, 60)}"
        lines.append(f"{what}: {'; '.join(values)}")
    _show_some(console, lines, MAX_CAUSES, ".", "more difference")


def _show_lines(comparison: Comparison, console: Console) -> None:
    lines = counted.groups(comparison.counts)
    if lines:
        names = [name for name in comparison.varying if name != "kernel"]
        rows = {str(change.row["case"]): change.row for change in comparison.common}
        cases = {case: described(row, names).partition(", ")[2] for case, row in rows.items()}
        say(console, f"Lines whose cost changed in {comparison.other.short}:", "bold")
        _show_some(
            console, [line.line(cases) for line in lines], MAX_LINES, ": --html writes all of them.", "more line"
        )


def _show_code(comparison: Comparison, console: Console) -> None:
    if code := changed_code(comparison):
        say(console, f"Machine code in {comparison.other.short}, against the baseline's:", "bold")
        _show_some(console, [changed.sentence for changed in code], MAX_LINES, "--html shows which instructions.")


def _show_some(console: Console, lines: Sequence[str], most: int, end: str, noun: str = "") -> None:
    """Print the first lines, indented, and how many more of the noun there are; without a noun, always the end."""
    for line in lines[:most]:
        say(console, f"  {line}")
    left_out = len(lines) - most
    if left_out > 0 or not noun:
        more = count(left_out, noun) if noun else f"{left_out:,} more; " if left_out > 0 else ""
        say(console, f"  {more}{end}", "dim")


def _show_cases(comparison: Comparison, cases: Sequence[Entry], console: Console) -> None:
    shown = [change for _, change in cases if change.word not in QUIET]
    names = varying_in([comparison])
    rows, styles = [], []
    for change in shown[:MAX_CASES]:
        rows.append((change.word.value, described(change.row, names), *numbers(change, comparison)))
        styles.append(WORD_STYLES.get(change.word, ("", ""))[0])
    if shown:
        say_table(console, Table.of(("word", "case", "times", "change", "note"), rows, styles), heads=False)
    if len(shown) > MAX_CASES:
        say(console, f"{count(len(shown) - MAX_CASES, 'more case')}: --html or --csv writes all of them.", "dim")
