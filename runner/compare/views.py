"""A comparison in sentences, as an exit status, in the terminal, as CSV, and as one page that needs no network."""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from runner import statistics as rule
from runner.compare.causes import Causes, changed_sources
from runner.compare.changes import Change, Comparison, Word
from runner.compare.code import changed_code, changed_lines, line_sentence, line_table
from runner.compare.runs import Row, varying
from runner.display.console import say, say_table
from runner.display.table import Cell, Line, Table
from runner.display.text import absent, count, described, exact, listed, one_line, value_of
from runner.record.ranking import IDLE
from runner.report.terminal import STYLES

if TYPE_CHECKING:
    from runner.compare.figure import Picture

Entry = tuple[int, Change]  # the number of the compared run, counted from 1, and the change of a case in it

WORSE, UNDECIDED = 1, 3  # exit statuses; 0: nothing is worse, 2: a usage error
DECIDED = frozenset((Word.SLOWER, Word.FASTER, Word.SAME, Word.ONLY_OTHER))
CHANGED_TIMES = (Word.FASTER, Word.SLOWER)
COUNTED_IF_ANY = (Word.INCONCLUSIVE, Word.FIXED, Word.FAILED, Word.NOT_COMPARED)
ONLY_RESULTS = "Times of the CPU device are emulated and not compared. Its cases count as the same if both pass."

MAX_CASES, MAX_CAUSES, MAX_KERNELS, MAX_LINES = 20, 12, 8, 8  # in the terminal
MAX_LONE = 500  # in the page

WORD_STYLES = {
    Word.BROKEN: ("bold red", "bad"), Word.SLOWER: ("red", "slow"), Word.INCONCLUSIVE: ("yellow", ""),
    Word.FIXED: ("green", "good"), Word.FASTER: ("green", "good"), Word.SAME: ("", "level"),
    Word.NOT_COMPARED: ("", "idle"),
}  # fmt: skip
"""The styles of a word in the terminal and in the page."""

QUIET = frozenset((Word.SAME, Word.NOT_COMPARED, Word.ONLY_BASE, Word.ONLY_OTHER))
"""Words whose cases are not listed in the terminal."""

TIMES = ("base_median_us", "median_us", "change_percent")
CSV_COLUMNS = ("base_status", "status", *TIMES, "low_percent", "high_percent", "threshold_percent", "word", "note")
PAGE_COLUMNS = ("word", *TIMES, "low_percent to high_percent", "threshold_percent", "note")


def entries(comparisons: Sequence[Comparison]) -> list[Entry]:
    """List the changes of all cases, the worst first; cases that only one run has come last."""
    numbered = [(number, change) for number, compared in enumerate(comparisons, 1) for change in compared.changes]
    # Rounded, so that equal changes stay in the order of the table.
    return sorted(numbered, key=lambda entry: (list(Word).index(entry[1].word), -round(entry[1].size, 9)))


def show(
    comparisons: Sequence[Comparison], cases: Sequence[Entry], causes: Causes, files: Sequence[Path], console: Console
) -> None:
    """Print the verdicts, the causes, the worst cases, and the files that were written."""
    for comparison in comparisons:
        say(console, headline(comparison), STYLES[level(comparison)])
        _show_some(console, kernels(comparison), MAX_KERNELS, " changed.", "more kernel")
        for remark in remarks(comparison):
            say(console, f"  {remark}", "yellow")
    _show_causes(causes, comparisons, console)
    for comparison in comparisons:
        if lines := list(map(line_sentence, changed_lines(comparison))):
            say(console, f"Lines whose cost changed in {comparison.other.short}:", "bold")
            _show_some(console, lines, MAX_LINES, ": --html writes all of them.", "more line")
    for comparison in comparisons:
        if code := changed_code(comparison):
            say(console, f"Machine code in {comparison.other.short}, against the baseline's:", "bold")
            advice = "--html shows which instructions."
            _show_some(console, [changed.sentence for changed in code], MAX_LINES, advice)
    _show_cases(comparisons, cases, console)
    for comparison in comparisons:
        for run, rows in _lone(comparison):
            names = "; ".join(described(row, comparison.varying) for row in rows[:3])
            more = [f"{len(rows) - 3:,} more"] if len(rows) > 3 else []
            say(console, f"Only in {run}: {listed([names, *more])}.", "dim")
    for path in files:
        say(console, f"Written: {path}")


def page(comparisons: Sequence[Comparison], cases: Sequence[Entry], causes: Causes, picture: Picture | None) -> bytes:
    """Render the page. The same comparison gives the same bytes."""
    from runner.report.page import template  # noqa: PLC0415 - Jinja would slow a comparison without a page

    names, base = _varying(comparisons), comparisons[0].base.short
    others = [comparison.other.short for comparison in comparisons]
    same = [entry for entry in cases if entry[1].word is Word.SAME]
    rest = [entry for entry in cases if entry[1].word not in (Word.SAME, Word.ONLY_BASE, Word.ONLY_OTHER)]
    differing = [(c.kind, one_line(c.name, 80), *(one_line(v, 160) for v in c.values)) for c in causes.differing]
    context: dict[str, Any] = {
        "title": f"{listed(others)} against {base}",
        "verdicts": [(level(c), headline(c), kernels(c), remarks(c)) for c in comparisons],
        "banner": listed(causes.surroundings()),
        "problems": [
            (_anchor((number, c)), described(c.row, names), others[number - 1], one_line(c.note, 1500))
            for number, c in rest
            if c.word is Word.BROKEN
        ],
        "causes": Table.of(["kind", "what", base, *others], differing),
        "same_facts": causes.same,
        "diffs": [(c.other.short, d) for c in comparisons for d in changed_sources(c.base, c.other) if d.diff],
        "lines": [(c.other.short, line_table(lines)) for c in comparisons if (lines := changed_lines(c))],
        "codes": [(c.other.short, code) for c in comparisons if (code := changed_code(c))],
        "picture": picture,
        "changes": _table(rest, comparisons, names),
        "same": _table(same, comparisons, names),
        "lone": [
            (run, [f"{described(row, c.varying)}: {str(row['status']).replace('_', ' ')}" for row in rows[:MAX_LONE]],
             len(rows))
            for c in comparisons
            for run, rows in _lone(c)
        ],
        "rule": rule,
    }  # fmt: skip
    return template("compare.html", "runner.compare", "runner.report").render(context).encode()


def as_csv(comparisons: Sequence[Comparison], cases: Iterable[Entry]) -> bytes:
    """Format all cases as CSV."""
    base = comparisons[0].base
    parameters = [name for name in base.parameters if name != "device"]
    parameters[parameters.index("size") + 1 : 0] = ["rows", "cols"]
    rows = []
    for number, change in cases:
        case, *values = ("" if absent(change.row[n]) else change.row[n] for n in ("case", *parameters, "device"))
        pair, runs = change.pair, (comparisons[number - 1].other.name, base.name)
        numbers = [_median(pair.base), _median(pair.other), *(change.percent or [None] * 4)]
        digits = ["" if number is None or math.isnan(number) else f"{number:.6g}" for number in numbers]
        same = pair.same_code if pair.base and pair.other else ""
        states = [row.get("status", "") for row in (pair.base, pair.other)]
        rows.append([case, *runs, *values, *states, *digits, change.word.value, change.note, same])
    heads = ["case", "run", "baseline", *parameters, "device", *CSV_COLUMNS, "same_binary"]
    return Table.of(heads, (map(str, row) for row in rows)).csv().encode(errors="surrogateescape")


def level(comparison: Comparison) -> str:
    """Return the result as a style of the page: `bad`, `good` or `none`."""
    words = {change.word for change in comparison.common}
    if words & {Word.BROKEN, Word.SLOWER}:
        return "bad"
    return "good" if words <= {Word.FASTER, Word.SAME} else "none"


def headline(comparison: Comparison) -> str:
    """Summarize, as in `B against A, 192 common cases: none broken, 48 faster, 0 slower, 144 same`."""
    numbers = Counter(change.word for change in comparison.changes)
    timed = not all(map(_only_checked, comparison.common))
    parts = [f"{numbers[Word.BROKEN]:,} BROKEN" if numbers[Word.BROKEN] else "none broken"]
    parts += [f"{numbers[word]:,} {word}" for word in (*(CHANGED_TIMES if timed else ()), Word.SAME)]
    parts += [f"{numbers[word]:,} {word}" for word in COUNTED_IF_ANY if numbers[word]]
    base, other = comparison.base.short, comparison.other.short
    alone = [f"{count(len(rows), 'case')} only in {name}" for name, rows in _lone(comparison)]
    start = f"{other} against {base}, {count(len(comparison.common), 'common case')}: {', '.join(parts)}."
    return f"{start} {listed(alone)}." if alone else start


def kernels(comparison: Comparison) -> list[str]:
    """Write a sentence on each kernel with a faster or slower case, the largest change first.

    As in `reduceShfl: 1.14x faster (geometric mean of its 12 cases, from 1.05x faster to 1.30x faster)`.
    """
    ratios: dict[str, list[float]] = {}
    for change in comparison.changes:
        if change.decision:
            ratios.setdefault(str(change.row["kernel"]), []).append(change.decision.change)
    changed = {str(change.row["kernel"]) for word in CHANGED_TIMES for change in comparison.of(word)}
    means = {name: statistics.geometric_mean(ratios[name]) for name in ratios if name in changed}
    ordered = sorted(means.items(), key=lambda item: -abs(math.log(item[1])))
    return [f"{one_line(name, 60)}: {_times(mean)} ({_range(mean, ratios[name])})." for name, mean in ordered]


def remarks(comparison: Comparison) -> list[str]:
    """List the limits of the comparison, and what to do about them."""
    advice = Counter(change.advice for change in comparison.of(Word.INCONCLUSIVE)).most_common(3)
    todo = [f"{count(n, 'inconclusive case')}: {one_line(text, 200)}." for text, n in advice if text]
    by = comparison.base.criterion
    if not by.is_time:
        start = f"Compared by {by.label}, as {comparison.base.short} ranks its cases"
        todo.insert(0, f"{start}: slower means worse, and so does a positive change.")
    return [*todo, *_cautions(comparison), *_noise(comparison)]


def exit_status(comparisons: Iterable[Comparison], *, strict: bool) -> int:
    """0 if nothing is worse, 1 if a case is slower or broken, 3 if `strict` and a correct case is now undecided."""
    changes = [change for comparison in comparisons for change in comparison.changes]
    if any(change.word in (Word.BROKEN, Word.SLOWER) for change in changes):
        return WORSE
    undecided = any(c.word not in DECIDED and c.pair.base["status"] == "ok" for c in changes)
    return UNDECIDED if strict and undecided else 0


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


def _show_some(console: Console, lines: Sequence[str], most: int, end: str, noun: str = "") -> None:
    """Print the first lines, indented, and how many more of the noun there are; without a noun, always the end."""
    for line in lines[:most]:
        say(console, f"  {line}")
    left_out = len(lines) - most
    if left_out > 0 or not noun:
        more = count(left_out, noun) if noun else f"{left_out:,} more; " if left_out > 0 else ""
        say(console, f"  {more}{end}", "dim")


def _show_cases(comparisons: Sequence[Comparison], cases: Sequence[Entry], console: Console) -> None:
    shown = [entry for entry in cases if entry[1].word not in QUIET]
    names = _varying(comparisons)
    rows, styles = [], []
    for number, change in shown[:MAX_CASES]:
        comparison = comparisons[number - 1]
        run = f"{comparison.other.short}: " if len(comparisons) > 1 else ""
        rows.append((change.word.value, f"{run}{described(change.row, names)}", *_numbers(change, comparison)))
        styles.append(WORD_STYLES.get(change.word, ("", ""))[0])
    if shown:
        say_table(console, Table.of(("word", "case", "times", "change", "note"), rows, styles), heads=False)
    if len(shown) > MAX_CASES:
        say(console, f"{count(len(shown) - MAX_CASES, 'more case')}: --html or --csv writes all of them.", "dim")


def _numbers(change: Change, comparison: Comparison) -> tuple[str, str, str]:
    """Format times (or the baseline's criterion), change and note of a case; empty if it lacks them."""
    base, other = _median(change.pair.base), _median(change.pair.other)
    if base is None or other is None or change.percent is None:
        return "", "", one_line(change.note)
    by, interval = comparison.base.criterion, _interval(change)
    between = f"{_signed(change.percent[0])} %{f' ({interval})' if interval else ''}"
    note = "" if change.word is Word.INCONCLUSIVE else one_line(change.note)  # `remarks` gives the advice once
    if by.is_time:
        return f"{exact(base)} to {exact(other)} µs", between, note
    now_by = replace(by, constants=comparison.other.criterion.constants)
    was, now = by.value(change.pair.base, base), now_by.value(change.pair.other, other)
    return f"{was:.4g} to {now:.4g} {by.unit or by.name}", between, note


def _table(cases: Iterable[Entry], comparisons: Sequence[Comparison], parameters: Sequence[str]) -> Table:
    """The page's table of common cases, without empty columns."""
    names = [*parameters, *(["run"] if len(comparisons) > 1 else []), *PAGE_COLUMNS]
    lines = []
    for number, change in cases:
        pair, percent = change.pair, change.percent
        results = {
            "run": Cell(comparisons[number - 1].other.short),
            "word": Cell(change.word, WORD_STYLES.get(change.word, ("", ""))[1]),
            "base_median_us": Cell(_exact(_median(pair.base))),
            "median_us": Cell(_exact(_median(pair.other))),
            "change_percent": Cell(_signed(percent[0]) if percent else ""),
            "low_percent to high_percent": Cell(_interval(change)),
            "threshold_percent": Cell(f"{percent[3]:.1f}" if percent else ""),
            # The advice of an inconclusive case, because its interval has its own column.
            "note": Cell(one_line(change.advice or change.reason, 110)),
        }
        own = [Cell(one_line(value_of(name, change.row), 80)) for name in parameters]  # one may be called `word`
        cells = [*own, *(results[name] for name in names[len(own) :])]
        lines.append(Line(_anchor((number, change)), cells))
    return Table(names, lines).filled("kernel", "word")


def _anchor(entry: Entry) -> str:
    """The HTML id of a case's line, made from the case's id, so that links stay valid after a rebuild."""
    number, row = entry[0], entry[1].row
    mark = re.sub(r"[^A-Za-z0-9_-]", "-", str(row["case"]))[:60]
    return f"case-{mark}-{one_line(str(row['device']), 8) or 'any'}-{number}"


def _varying(comparisons: Sequence[Comparison]) -> list[str]:
    rows = [change.row for comparison in comparisons for change in comparison.common]
    return varying(rows, comparisons[0].base.parameters)


def _median(row: Row) -> float | None:
    """A case's time in µs; `None` if the case is not correct."""
    return float(row["median_us"]) if row and row["status"] == "ok" and not absent(row["median_us"]) else None


def _exact(us: float | None) -> str:
    return "" if us is None else exact(us)


def _interval(change: Change) -> str:
    """The ends of the interval of a change, in percent; empty without an interval."""
    if change.percent is None or math.isnan(change.percent[1]):
        return ""
    return f"{_signed(change.percent[1])} to {_signed(change.percent[2])}"


def _signed(percent: float) -> str:
    """Format a change in percent: `+3.2`, `-12.0`, and `0.0` without a sign."""
    return re.sub(r"^[+-](0\.0)$", r"\1", f"{percent:+,.1f}")


def _lone(comparison: Comparison) -> list[tuple[str, list[Row]]]:
    """The cases that only one of the runs has, with the run's name."""
    words = ((Word.ONLY_BASE, comparison.base), (Word.ONLY_OTHER, comparison.other))
    return [(run.short, [c.row for c in changes]) for word, run in words if (changes := comparison.of(word))]


def _only_checked(change: Change) -> bool:
    """Whether the CPU device ran a common case, so that only results are compared."""
    return bool(change.pair.base["emulated"] or change.pair.other["emulated"])


def _times(change: float) -> str:
    """Describe a ratio of times: `1.14x faster`; below 5 % in percent."""
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
    checked = [change for change in changes if _only_checked(change)]
    cautions = [ONLY_RESULTS] if checked else []
    if n := sum(change.word is Word.SAME and bool(change.reason) for change in checked):
        gave = "case gave another result" if n == 1 else "cases gave other results"
        cautions.append(f"{n:,} {gave}, within the tolerance of the reference. The notes say which.")
    if len(checked) < len(changes) and not any(change.decision for change in changes):
        cautions.append(f"No case has comparable times in both {base} and {other}.")
    if n := comparison.without_samples:
        has = "has" if n == 1 else "have"
        cautions.append(f"{count(n, 'time')} {has} no samples in the folder: the table's median counts as one round.")
    if n := sum(change.row["status"] not in ("ok", *IDLE) for change in comparison.of(Word.ONLY_OTHER)):
        cautions.append(f"{count(n, 'failed case')} {'is' if n == 1 else 'are'} only in {other}.")
    if n := sum(change.pair.base["status"] in IDLE or change.pair.other["status"] in IDLE for change in changes):
        cautions.append(f"{count(n, 'common case')} ran in only one of the runs, or in neither.")
    return cautions


def _noise(comparison: Comparison) -> list[str]:
    """The A/A check: how much the times of unchanged cases differ; an empty list without such cases."""
    sizes = [change.size for change in comparison.changes if change.alike]
    if not sizes:
        return []
    typical, most = (100 * math.expm1(size) for size in (statistics.median(sizes), max(sizes)))
    percent = f"{typical:.1f} % typically and {most:.1f} % at most" if len(sizes) > 1 else f"{most:.1f} %"
    have, their = ("has", "Its") if len(sizes) == 1 else ("have", "Their")
    same = f"{count(len(sizes), 'case')} {have} the same machine code, launch and environment in both runs"
    return [f"{same}. {their} times differ by {percent}: the noise of this comparison."]
