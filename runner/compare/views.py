"""A comparison in the terminal, and as one page that opens anywhere and asks the network for nothing."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from runner.compare import tables, verdict
from runner.compare.causes import Causes, changed_sources
from runner.compare.changes import Comparison, Word
from runner.compare.tables import Entry, median
from runner.report.text import count, described, exact, listed, one_line
from runner.statistics import ENOUGH_ROUNDS, MANY_ROUNDS, THRESHOLD, THRESHOLD_FEW_ROUNDS, WIDEST_TIE

if TYPE_CHECKING:
    from runner.compare.figure import Picture

MOST_CASES, MOST_CAUSES, MOST_KERNELS = 20, 12, 8  # in the terminal
MOST_PROBLEMS, MOST_LONE = 100, 500  # in the page
OPEN_LINES = 60  # of a diff; a longer one is folded

STYLES = {"good": "bold green", "bad": "bold red", "none": "bold yellow"}
OF_WORD = {
    Word.BROKEN: "bold red", Word.SLOWER: "red", Word.INCONCLUSIVE: "yellow", Word.FIXED: "green", Word.FASTER: "green",
}  # fmt: skip
QUIET = frozenset((Word.SAME, Word.NOT_COMPARED))
"""Words that the terminal only counts."""


def show(
    comparisons: Sequence[Comparison], entries: Sequence[Entry], causes: Causes, files: Sequence[Path], console: Console
) -> None:
    """Print the verdict, what differs, the worst cases, and the files that were written."""
    for comparison in comparisons:
        _say(console, verdict.headline(comparison), STYLES[verdict.level(comparison)])
        found = verdict.kernels(comparison)
        for kernel in found[:MOST_KERNELS]:
            _say(console, f"  {verdict.sentence(kernel)}")
        if len(found) > MOST_KERNELS:
            _say(console, f"  {count(len(found) - MOST_KERNELS, 'more kernel')} changed.", "dim")
        for remark in verdict.remarks(comparison):
            _say(console, f"  {remark}", "yellow")
    _show_causes(causes, comparisons, console)
    _show_cases(comparisons, entries, console)
    for comparison in comparisons:
        _show_lone(comparison, console)
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
    shown = [entry for entry in entries if not (entry.change is None or entry.word in QUIET)]
    if not shown:
        return
    names = tables.columns([entry for entry in entries if entry.change], comparisons[0].base)
    lines = [_line(entry, names, comparisons) for entry in shown[:MOST_CASES]]
    widths = [max((cell_len(line[n]) for line in lines if n < len(line) - 1), default=0) for n in range(4)]
    for entry, line in zip(shown, lines, strict=False):
        padded = [set_cell_size(text, width) for text, width in zip(line[:-1], widths, strict=False)]
        _say(console, "  ".join([*padded, line[-1]]).rstrip(), OF_WORD.get(Word(entry.word), ""))
    if len(shown) > MOST_CASES:
        _say(console, f"{count(len(shown) - MOST_CASES, 'more case')}: --html or --csv writes all of them.", "dim")


def _line(entry: Entry, names: list[str], comparisons: Sequence[Comparison]) -> list[str]:
    """Word, case, times and change, as far as the case has them, and last the note."""
    run = f"{comparisons[entry.run - 1].other.short}: " if len(comparisons) > 1 else ""
    start = [entry.word, f"{run}{described(entry.row, names)}"]
    base, other = median(entry.base), median(entry.other)
    if base is None or other is None or entry.percent is None:
        return [*start, one_line(entry.note)]
    change, interval = f"{tables.signed(entry.percent[0])} %", tables.interval(entry)
    between = f"{change} ({interval})" if interval else change
    note = "" if entry.word == Word.INCONCLUSIVE else one_line(entry.note)  # the verdict has the advice once
    return [*start, f"{exact(base)} to {exact(other)} µs", between, note]


def _show_lone(comparison: Comparison, console: Console) -> None:
    for rows, run in ((comparison.only_base, comparison.base), (comparison.only_other, comparison.other)):
        cases = [described(row, comparison.varying) for row in rows[:3]]
        more = [f"{len(rows) - 3:,} more"] if len(rows) > 3 else []
        if rows:
            _say(console, f"Only in {run.short}: {listed([*('; '.join(cases),), *more])}.", "dim")


def _say(console: Console, text: str, style: str = "") -> None:
    """Print one line as it is: no markup, and wrapped by the terminal, so that a pipe gets it whole."""
    console.print(Text(text, style=style), soft_wrap=True)


def _context(
    comparisons: Sequence[Comparison], entries: Sequence[Entry], causes: Causes, picture: Picture | None
) -> dict[str, Any]:
    base = comparisons[0].base
    compared = [base, *(comparison.other for comparison in comparisons)]
    common = [entry for entry in entries if entry.change]
    names = tables.columns(common, base)
    same = [entry for entry in common if entry.word == Word.SAME]
    rest = [entry for entry in common if entry.word != Word.SAME]
    return {
        "title": f"{listed([comparison.other.short for comparison in comparisons])} against {base.short}",
        "verdicts": [_verdict(comparison) for comparison in comparisons],
        "banner": listed(causes.surroundings()),
        "problems": _problems(common, comparisons, names),
        "causes": tables.differing(causes, compared),
        "same_facts": causes.same,
        "diffs": [
            (found.other.short, change)
            for found in comparisons
            for change in changed_sources(found.base, found.other)
            if change.diff
        ],
        "open_lines": OPEN_LINES,
        "picture": _picture(picture),
        "changes": tables.changes(rest, comparisons, names),
        "same": tables.changes(same, comparisons, names),
        "lone": [part for comparison in comparisons for part in _lone(comparison)],
        "most_problems": MOST_PROBLEMS,
        "rule": {
            "threshold": f"{100 * THRESHOLD:g} %",
            "few_rounds": f"{100 * THRESHOLD_FEW_ROUNDS:g} %",
            "widest": f"{100 * WIDEST_TIE:g} %",
            "many": MANY_ROUNDS,
            "enough": ENOUGH_ROUNDS,
        },
        "styled": dict.fromkeys((*tables.LEFT, "kind", "what", *(run.short for run in compared)), "left"),
    }


def _verdict(comparison: Comparison) -> dict[str, Any]:
    return {
        "level": verdict.level(comparison),
        "headline": verdict.headline(comparison),
        "kernels": [verdict.sentence(kernel) for kernel in verdict.kernels(comparison)],
        "remarks": verdict.remarks(comparison),
    }


def _problems(common: Sequence[Entry], comparisons: Sequence[Comparison], names: list[str]) -> list[dict[str, str]]:
    """The cases that were right in the baseline and failed in a run."""
    several = len(comparisons) > 1
    return [
        {
            "case": described(entry.row, names),
            "run": f"in {comparisons[entry.run - 1].other.short}" if several else "",
            "reason": one_line(entry.note, 1500),
            "anchor": tables.anchor(entry),
        }
        for entry in common
        if entry.word == Word.BROKEN
    ]


def _picture(picture: Picture | None) -> dict[str, str] | None:
    if picture is None:
        return None
    data = base64.b64encode(picture.content).decode()
    return {"title": picture.title, "note": picture.note, "data": f"data:{picture.mime};base64,{data}"}


def _lone(comparison: Comparison) -> list[dict[str, Any]]:
    """The cases that only one of the runs has."""
    base, other = comparison.base, comparison.other
    names = comparison.varying
    return [
        {
            "title": f"{count(len(rows), 'case')} only in {run.short}, not in {against.short}",
            "cases": [f"{described(row, names)}: {str(row['status']).replace('_', ' ')}" for row in rows[:MOST_LONE]],
            "more": max(0, len(rows) - MOST_LONE),
        }
        for rows, run, against in ((comparison.only_base, base, other), (comparison.only_other, other, base))
        if rows
    ]
