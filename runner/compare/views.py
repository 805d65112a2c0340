"""A comparison in the terminal, and as one page that opens anywhere and asks the network for nothing."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from runner import statistics
from runner.compare import tables, verdict
from runner.compare.causes import Causes, changed_sources
from runner.compare.changes import Comparison, Word
from runner.compare.tables import Entry, median
from runner.report.text import count, described, exact, listed, one_line

if TYPE_CHECKING:
    from runner.compare.figure import Picture

MOST_CASES, MOST_CAUSES, MOST_KERNELS = 20, 12, 8  # in the terminal
MOST_PROBLEMS, MOST_LONE = 100, 500  # in the page
OPEN_LINES = 60  # of a diff; a longer one is folded

STYLES = {"good": "bold green", "bad": "bold red", "none": "bold yellow"}
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
        _say(console, verdict.headline(comparison), STYLES[verdict.level(comparison)])
        found = verdict.kernels(comparison)
        for sentence in found[:MOST_KERNELS]:
            _say(console, f"  {sentence}")
        if len(found) > MOST_KERNELS:
            _say(console, f"  {count(len(found) - MOST_KERNELS, 'more kernel')} changed.", "dim")
        for remark in verdict.remarks(comparison):
            _say(console, f"  {remark}", "yellow")
    _show_causes(causes, comparisons, console)
    _show_cases(comparisons, entries, console)
    for comparison in comparisons:
        for run, rows in _lone(comparison):
            cases = "; ".join(described(row, comparison.varying) for row in rows[:3])
            more = [f"{len(rows) - 3:,} more"] if len(rows) > 3 else []
            _say(console, f"Only in {run}: {listed([cases, *more])}.", "dim")
    for path in files:
        _say(console, f"Written: {path}")


def page(comparisons: Sequence[Comparison], entries: Sequence[Entry], causes: Causes, picture: Picture | None) -> bytes:
    """The page, as bytes that are the same whenever the comparison is."""
    from runner.report.page import template  # noqa: PLC0415 - Jinja would slow a comparison without a page

    context = _context(comparisons, entries, causes, picture)
    return template("compare.html", "runner.compare", "runner.report").render(context).encode()


def _show_causes(causes: Causes, comparisons: Sequence[Comparison], console: Console) -> None:
    if not causes.differing:
        _say(console, "Nothing differs between the runs, as far as their folders tell.")
        return
    names = [comparisons[0].base.short, *(comparison.other.short for comparison in comparisons)]
    _say(console, "What differs, the likeliest cause first:", "bold")
    for cause in causes.differing[:MOST_CAUSES]:
        values = [f"{one_line(v, 60)} in {n}" for n, v in zip(names, cause.values, strict=True) if v]
        what = cause.kind if cause.kind == cause.name else f"{cause.kind}: {one_line(cause.name, 60)}"
        _say(console, f"  {what}: {'; '.join(values)}")
    if len(causes.differing) > MOST_CAUSES:
        _say(console, f"  {count(len(causes.differing) - MOST_CAUSES, 'more difference')}.", "dim")


def _show_cases(comparisons: Sequence[Comparison], entries: Sequence[Entry], console: Console) -> None:
    """Print the cases that need more than to be counted, the worst first."""
    shown = [entry for entry in entries if entry[1].word not in QUIET]
    names = tables.columns(comparisons)
    lines = [_line(entry, names, comparisons) for entry in shown[:MOST_CASES]]
    widths = [max((cell_len(line[n]) for line in lines if n < len(line) - 1), default=0) for n in range(4)]
    for (_, change), line in zip(shown, lines, strict=False):
        padded = [set_cell_size(text, width) for text, width in zip(line[:-1], widths, strict=False)]
        _say(console, "  ".join([*padded, line[-1]]).rstrip(), OF_WORD.get(change.word, ""))
    if len(shown) > MOST_CASES:
        _say(console, f"{count(len(shown) - MOST_CASES, 'more case')}: --html or --csv writes all of them.", "dim")


def _line(entry: Entry, names: list[str], comparisons: Sequence[Comparison]) -> list[str]:
    """Word, case, times and change, as far as the case has them, and last the note."""
    number, change = entry
    run = f"{comparisons[number - 1].other.short}: " if len(comparisons) > 1 else ""
    start = [change.word.value, f"{run}{described(change.row, names)}"]
    base, other = median(change.pair.base), median(change.pair.other)
    if base is None or other is None or change.percent is None:
        return [*start, one_line(change.note)]
    percent, interval = f"{tables.signed(change.percent[0])} %", tables.interval(change)
    between = f"{percent} ({interval})" if interval else percent
    note = "" if change.word is Word.INCONCLUSIVE else one_line(change.note)  # the verdict has the advice once
    return [*start, f"{exact(base)} to {exact(other)} µs", between, note]


def _say(console: Console, text: str, style: str = "") -> None:
    """Print one line as it is: no markup, and wrapped by the terminal, so that a pipe gets it whole."""
    console.print(Text(text, style=style), soft_wrap=True)


def _context(
    comparisons: Sequence[Comparison], entries: Sequence[Entry], causes: Causes, picture: Picture | None
) -> dict[str, Any]:
    base = comparisons[0].base
    compared = [base, *(comparison.other for comparison in comparisons)]
    names = tables.columns(comparisons)
    same = [entry for entry in entries if entry[1].word is Word.SAME]
    rest = [entry for entry in entries if entry[1].word not in (Word.SAME, Word.ONLY_BASE, Word.ONLY_OTHER)]
    return {
        "title": f"{listed([comparison.other.short for comparison in comparisons])} against {base.short}",
        "comparisons": comparisons,
        "verdict": verdict,
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
        "rule": statistics,
        "styled": dict.fromkeys((*tables.LEFT, "kind", "what", *(run.short for run in compared)), "left"),
    }  # fmt: skip


def _lone(comparison: Comparison) -> list[tuple[str, list[dict[str, Any]]]]:
    """The cases that only one of the runs has, by the name of the run."""
    words = ((Word.ONLY_BASE, comparison.base), (Word.ONLY_OTHER, comparison.other))
    return [(run.short, [c.row for c in changes]) for word, run in words if (changes := comparison.of(word))]
