"""A comparison as results for a CI system: what `runner.ci` writes as JUnit XML, SARIF and annotations.

What makes `runner compare` exit with 1 or 3 is a failure; what only predicts a slower kernel is a warning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from runner import __version__
from runner.ci.places import Sources, repository
from runner.ci.results import CaseResult, Finding, Level, Outcome, Results, merged, time_of
from runner.compare import counted, views
from runner.compare.changes import Change, Comparison, Word
from runner.compare.counted import Trend
from runner.display.table import Table, escaped
from runner.display.text import described, one_line

RULES = {Word.BROKEN: "broken", Word.SLOWER: "slower"}
"""The rules of the words that fail a comparison; with --strict, other undecided ones fail as `undecided`."""

PASSED = (Word.FASTER, Word.SAME, Word.FIXED, Word.INCONCLUSIVE, Word.ONLY_OTHER)
MAX_ROWS = 50  # of the summary's table
HEADS = ("word", "case", "times", "change", "note")


def results(
    comparisons: Sequence[Comparison],
    left_out: Sequence[str],
    *,
    strict: bool = False,
    fail_on_counted: bool = False,
    root: Path | None = None,
) -> Results:
    """The results of a comparison.

    Args:
        comparisons: One for each run that is compared with the baseline.
        left_out: Sentences on runs that could not be compared.
        strict: Whether an undecided case fails, and a run that is left out.
        fail_on_counted: Whether a costlier line is an error.
        root: The folder to which paths are relative; by default the repository's.
    """
    base, several = root or repository(), len(comparisons) > 1
    cases: list[CaseResult] = []
    findings: list[Finding] = []
    for comparison in comparisons:
        sources = Sources(comparison.other.folder, base)
        run = f" in {comparison.other.name}" if several else ""
        cases += [_case(change, comparison, run, strict=strict) for change in comparison.changes]
        for change in comparison.changes:
            findings += _findings(change, comparison, sources, strict=strict)
        costlier = [group for group in counted.groups(comparison.counts) if group.trend is Trend.WORSE]
        findings += _costlier(costlier, sources, Level.ERROR if fail_on_counted else Level.WARNING)
        if fail_on_counted:
            failed = (Outcome.FAILED, "costlier_line")
            cases += [CaseResult(g.counts[0].kernel, f"{g.counts[0].place}{run}", *failed, str(g)) for g in costlier]
    if strict:
        cases += [CaseResult("compare", sentence, Outcome.FAILED, "undecided", sentence) for sentence in left_out]
        findings += [Finding("undecided", Level.WARNING, sentence, ()) for sentence in left_out]
    markdown = "\n\n".join([*map(_markdown, comparisons), *map(escaped, left_out)])
    return Results("compare", __version__, tuple(cases), merged(findings), markdown)


def _is_undecided(change: Change) -> bool:
    """Whether --strict makes the command fail because of this case."""
    return change.word not in (*views.DECIDED, *RULES) and change.pair.base.get("status") == "ok"


def _case(change: Change, comparison: Comparison, run: str, *, strict: bool) -> CaseResult:
    row = change.row
    kernel, label = str(row["kernel"]), f"{_label(change, comparison)}{run}"
    us, column = time_of(row)
    words = one_line(": ".join(filter(None, (change.word.value, _measured(change, comparison), change.note))), 2000)
    undecided = strict and _is_undecided(change)
    if change.word in RULES or undecided:
        kind = RULES.get(change.word, "undecided")
        return CaseResult(kernel, label, Outcome.FAILED, kind, words, us=us, timed_as=column)
    if change.word in PASSED:
        return CaseResult(kernel, label, Outcome.PASSED, remark=words, us=us, timed_as=column)
    return CaseResult(kernel, label, Outcome.SKIPPED, reason=words, us=us, timed_as=column)


def _findings(change: Change, comparison: Comparison, sources: Sources, *, strict: bool) -> Iterator[Finding]:
    kernel, words = str(change.row["kernel"]), f"{change.row['kernel']}, {_label(change, comparison)}"
    measured = _measured(change, comparison)
    message = one_line(": ".join(filter(None, (words, change.word.value, measured, change.note))), 2000)
    if change.word is Word.BROKEN:
        yield Finding("broken", Level.ERROR, message, sources.places(change.reason, kernel) or sources.kernel(kernel))
    elif change.word is Word.SLOWER:
        yield Finding("slower", Level.ERROR, message, sources.kernel(kernel))
    elif strict and _is_undecided(change):
        yield Finding("undecided", Level.WARNING, message, sources.kernel(kernel))


def _costlier(costlier: Iterable[counted.Group], sources: Sources, level: Level) -> Iterator[Finding]:
    """Findings on lines whose counted cost got worse."""
    for group in costlier:
        first = group.counts[0]
        places = sources.places(first.place, first.kernel) or sources.kernel(first.kernel)
        yield Finding("costlier_line", level, str(group), places)


def _label(change: Change, comparison: Comparison) -> str:
    """The parameters of a case that vary, or all of them if none does, and its device."""
    names = [name for name in comparison.varying if name != "kernel"]
    names = names or [name for name in comparison.base.parameters if name not in ("kernel", "seed", "device")]
    return described(change.row, [*names, "device"]).partition(", ")[2]


def _measured(change: Change, comparison: Comparison) -> str:
    return " ".join(filter(None, views.numbers(change, comparison)[:2])) if change.decision else ""


def _markdown(comparison: Comparison) -> str:
    """The verdict, and the cases that changed, as Markdown."""
    shown = [c for _, c in views.entries([comparison]) if c.word not in (Word.SAME, Word.NOT_COMPARED)]
    shown = [c for c in shown if c.pair.base and c.pair.other]
    names = views.varying_in([comparison])
    rows = [(c.word.value, described(c.row, names), *views.numbers(c, comparison)) for c in shown[:MAX_ROWS]]
    parts = [f"### {escaped(views.headline(comparison))}"]
    parts += ["\n".join(f"- {escaped(line)}" for line in lines) for lines in [views.remarks(comparison)] if lines]
    parts += [Table.of(HEADS, rows).markdown()] if rows else []
    parts += [f"{len(shown) - MAX_ROWS} more cases changed."] if len(shown) > MAX_ROWS else []
    return "\n\n".join(parts)
