"""A comparison as one page that needs no network: of one run in full, of several as a matrix with folded pairs."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from runner import statistics as rule
from runner.compare import counted, matrix, views
from runner.compare.causes import Causes, changed_sources
from runner.compare.changes import Comparison, Word
from runner.compare.code import ChangedCode, changed_code
from runner.compare.views import TREND_STYLES, WORD_STYLES, Entry, anchor, interval, median, signed
from runner.display.table import Cell, Line, Table
from runner.display.text import described, exact, limited, listed, one_line, plain, value_of
from runner.report.page import template

if TYPE_CHECKING:
    from runner.compare.figure import Picture

MAX_LONE = 500
COLUMNS = (
    "word", "base_median_us", "median_us", "change_percent", "low_percent to high_percent", "threshold_percent",
    "counted", "counted_change", "note",
)  # fmt: skip


@dataclass(frozen=True)
class Part:
    """What the page says of one run."""

    run: str
    level: str
    headline: str
    kernels: list[str]
    remarks: list[str]
    lines: Table  # whose cost changed
    codes: list[ChangedCode]
    changes: Table
    same: Table
    lone: list[tuple[str, list[str], int]]  # a run's name, its own cases, and their number


def page(
    comparisons: Sequence[Comparison],
    cases: Sequence[Entry],
    causes: Causes,
    left_out: Sequence[str],
    picture: Picture | None,
) -> bytes:
    """Render the page. The same comparison gives the same bytes."""
    names, base = views.varying_in(comparisons), comparisons[0].base.short
    others = [comparison.other.short for comparison in comparisons]
    parts = [_part(comparisons, number, cases, names) for number in range(1, len(comparisons) + 1)]
    several = len(parts) > 1
    differing = [(c.kind, one_line(c.name, 80), *(one_line(v, 160) for v in c.values)) for c in causes.differing]
    first = parts[0]
    summary: tuple[str, str, list[str], list[str]]
    summary = (matrix.level(comparisons), matrix.verdict(comparisons, others), [], matrix.remarks(comparisons, others))
    context: dict[str, Any] = {
        "title": f"{listed(limited(others, 3))} against {base}",
        "whole": lambda text: _whole(text, [base, *others]),
        "verdict": summary if several else (first.level, first.headline, first.kernels, first.remarks),
        "banner": listed(causes.surroundings()),
        "left_out": left_out,
        "problems": [
            (anchor(c, 0 if several else number), described(c.row, names), others[number - 1], one_line(c.note, 1500))
            for number, c in cases
            if c.word is Word.BROKEN
        ],
        "matrix": matrix.table(comparisons, cases, base, others) if several else None,
        "parameters": len(names),
        "parts": parts,
        "causes": Table.of(["kind", "what", base, *others], differing),
        "same_facts": causes.same,
        "diffs": [(c.other.short, d) for c in comparisons for d in changed_sources(c.base, c.other) if d.diff],
        "picture": picture,
        "rule": rule,
    }
    return template("compare.html", "runner.compare", "runner.report").render(context).encode()


def _part(comparisons: Sequence[Comparison], number: int, cases: Sequence[Entry], names: Sequence[str]) -> Part:
    comparison = comparisons[number - 1]
    own = [entry for entry in cases if entry[0] == number]
    same = [e for e in own if e[1].word is Word.SAME and not views.counts_of(comparisons, e)]
    rest = [e for e in own if e not in same and e[1].word not in (Word.ONLY_BASE, Word.ONLY_OTHER)]
    return Part(
        run=comparison.other.short,
        level=views.level(comparison),
        headline=views.headline(comparison),
        kernels=views.kernels(comparison),
        remarks=views.remarks(comparison),
        lines=_lines(comparison),
        codes=changed_code(comparison),
        changes=_table(rest, comparisons, names),
        same=_table(same, comparisons, names),
        lone=[
            (run, [f"{described(row, comparison.varying)}: {str(row['status']).replace('_', ' ')}" for row in
                   rows[:MAX_LONE]], len(rows))
            for run, rows in views.lone(comparison)
        ],
    )  # fmt: skip


def _lines(comparison: Comparison) -> Table:
    """The table of lines whose cost changed."""
    names = [name for name in comparison.varying if name != "kernel"]
    rows = {str(change.row["case"]): described(change.row, names).partition(", ")[2] for change in comparison.common}
    lines = []
    for line in counted.groups(comparison.counts):
        first, own = line.counts[0], limited([name for case in line.cases if (name := rows.get(case))], 4)
        word = Cell(line.trend, TREND_STYLES.get(line.trend, ("", "level"))[1])
        texts = (line.values, line.place, line.accesses, one_line(first.text, 120))
        lines.append(Line("", [word, *map(Cell, texts), Cell("; ".join(own)), Cell(f"{len(line.cases)}")]))
    heads = ["word", "before -> now", "line", "access", "source", "which cases", "cases"]
    return Table(heads, lines).filled("word")


def _table(cases: Iterable[Entry], comparisons: Sequence[Comparison], parameters: Sequence[str]) -> Table:
    """The table of a run's cases, without empty columns."""
    names = [*parameters, *COLUMNS]
    lines = []
    for number, change in cases:
        percent, counts = change.percent, views.counts_of(comparisons, (number, change))
        trend = counted.trend(counts)
        results = {
            "word": Cell(change.word, WORD_STYLES.get(change.word, ("", ""))[1]),
            "base_median_us": Cell(_exact(median(change.pair.base))),
            "median_us": Cell(_exact(median(change.pair.other))),
            "change_percent": Cell(signed(percent[0]) if percent else ""),
            "low_percent to high_percent": Cell(interval(change)),
            "threshold_percent": Cell(f"{percent[3]:.1f}" if percent else ""),
            "counted": Cell(trend, {"worse": "slow", "better": "good"}.get(trend, "")),
            "counted_change": Cell("; ".join(f"{g.place}: {g.values}" for g in counted.groups(counts))),
            # The advice of an inconclusive case, because its interval has its own column.
            "note": Cell(one_line(change.advice or change.reason, 110)),
        }
        own = [Cell(one_line(value_of(name, change.row), 80)) for name in parameters]  # one may be called `word`
        lines.append(Line(anchor(change, number), [*own, *(results[name] for name in COLUMNS)]))
    return Table(names, lines).filled("kernel", "word")


def _exact(us: float | None) -> str:
    return "" if us is None or math.isnan(us) else exact(us)


def _whole(text: str, names: Sequence[str]) -> Markup:
    """The text, with names of runs that break between their folders, and not inside a date."""
    pattern = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True) if re.search("[-/]", name))
    if not pattern:
        return escape(plain(text))
    pieces = re.split(f"((?:{pattern})[.,:;]?)", plain(text))  # no line begins with a comma
    return Markup("").join(
        Markup("").join(Markup('<span class="run">{}</span>').format(part) for part in re.findall("[^/]+/?", piece))
        if n % 2 else escape(piece)
        for n, piece in enumerate(pieces)
    )  # fmt: skip
