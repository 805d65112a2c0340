"""The page of a comparison: one file that opens anywhere and asks the network for nothing."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from runner.compare import cells, sources, verdict
from runner.compare.causes import Causes
from runner.compare.changes import Comparison, Word
from runner.compare.difference import ENOUGH_ROUNDS, LEAST, MANY_ROUNDS, SAME_WITHIN
from runner.compare.entries import Entry
from runner.compare.figure import Picture
from runner.compare.verdict import short
from runner.report.page import template
from runner.report.text import EMULATED, count, described, listed, one_line

MOST_PROBLEMS, MOST_LONE = 100, 500
OPEN_LINES = 60  # of a diff: a longer one is folded


def render(
    comparisons: Sequence[Comparison], entries: Sequence[Entry], causes: Causes, picture: Picture | None
) -> bytes:
    """The page, as bytes that are the same whenever the comparison is."""
    page = template("compare.html", "runner.compare", "runner.report")
    return page.render(_context(comparisons, entries, causes, picture)).encode()


def _context(
    comparisons: Sequence[Comparison], entries: Sequence[Entry], causes: Causes, picture: Picture | None
) -> dict[str, Any]:
    base = comparisons[0].base
    compared = [base, *(comparison.other for comparison in comparisons)]
    common = [entry for entry in entries if not entry.alone]
    names = cells.columns(common, base)
    same = [entry for entry in common if entry.word == Word.SAME]
    rest = [entry for entry in common if entry.word != Word.SAME]
    emulated = any(entry.row["device"] == "cpu" for entry in common)
    return {
        "title": f"{listed([short(comparison.other) for comparison in comparisons])} against {short(base)}",
        "verdicts": [_verdict(comparison) for comparison in comparisons],
        "emulated": EMULATED if emulated else "",
        "banner": _banner(causes),
        "problems": _problems(entries, comparisons, names),
        "causes": cells.differing(causes, compared),
        "same_facts": causes.same,
        "diffs": [(short(found.other), diff) for found in comparisons for diff in _diffs(found)],
        "open_lines": OPEN_LINES,
        "picture": _picture(picture),
        "changes": cells.changes(rest, comparisons, names),
        "same": cells.changes(same, comparisons, names),
        "lone": [part for comparison in comparisons for part in _lone(comparison)],
        "most_problems": MOST_PROBLEMS,
        "rule": {**_rule("cuda"), "emulated": _rule("cpu"), "many": MANY_ROUNDS, "enough": ENOUGH_ROUNDS},
        "styled": dict.fromkeys((*cells.LEFT, "kind", "what", *map(short, compared)), "left"),
    }


def _rule(kind: str) -> dict[str, str]:
    """The differences that matter on a kind of device, as the page tells them."""
    least = LEAST[kind]
    told = {"known": least.known, "unsure": least.unsure, "same": SAME_WITHIN * least.known}
    return {name: f"{100 * value:g} %" for name, value in told.items()}


def _verdict(comparison: Comparison) -> dict[str, Any]:
    return {
        "level": verdict.level(comparison),
        "headline": verdict.headline(comparison),
        "kernels": [verdict.sentence(kernel) for kernel in verdict.kernels(comparison)],
        "cautions": [*verdict.advice(comparison), *verdict.cautions(comparison), *_noise(comparison)],
    }


def _noise(comparison: Comparison) -> list[str]:
    return [text] if (text := verdict.of_the_same_code(comparison)) else []


def _banner(causes: Causes) -> str:
    kinds = list(dict.fromkeys(cause.kind for cause in causes.telling()))
    if not kinds:
        return ""
    return f"The runs differ in {listed(kinds)}: what changed need not be the kernels' doing. See what differs, below."


def _problems(entries: Sequence[Entry], comparisons: Sequence[Comparison], names: list[str]) -> list[dict[str, str]]:
    """The cases that were right and are not any more."""
    several = len(comparisons) > 1
    return [
        {
            "case": described(entry.row, names),
            "run": f"in {short(comparisons[entry.run - 1].other)}" if several else "",
            "reason": one_line(entry.note, 1500),
            "anchor": cells.anchor(entry),
        }
        for entry in entries
        if entry.word == Word.BROKEN
    ]


def _diffs(comparison: Comparison) -> list[sources.FileChange]:
    return [found for found in sources.changed(comparison.base, comparison.other) if found.diff]


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
            "title": f"{count(len(rows), 'case')} only in {short(run)}, not in {short(against)}",
            "cases": [f"{described(row, names)}: {str(row['status']).replace('_', ' ')}" for row in rows[:MOST_LONE]],
            "more": max(0, len(rows) - MOST_LONE),
        }
        for rows, run, against in ((comparison.only_base, base, other), (comparison.only_other, other, base))
        if rows
    ]
