"""A comparison in sentences, as an exit status and as CSV; the texts that terminal, page and matrix share."""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from runner.compare import counted
from runner.compare.changes import Change, Comparison, Word
from runner.compare.counted import Trend
from runner.compare.runs import Row, varying
from runner.display.table import Table
from runner.display.text import absent, count, exact, listed, one_line
from runner.record.ranking import IDLE

Entry = tuple[int, Change]  # the number of the compared run, counted from 1, and the change of a case in it

WORSE, UNDECIDED = 1, 3  # exit statuses; 0: nothing is worse, 2: a usage error
DECIDED = frozenset((Word.SLOWER, Word.FASTER, Word.SAME, Word.ONLY_OTHER))
CHANGED_TIMES = (Word.FASTER, Word.SLOWER)
COUNTED_IF_ANY = (Word.INCONCLUSIVE, Word.FIXED, Word.FAILED, Word.NOT_COMPARED)
ONLY_RESULTS = "Times of the CPU device are emulated and not compared. Its cases count as the same if both pass."
PREDICTED = "Counted from the addresses that the lanes use: this predicts memory work, not time."

WORD_STYLES = {
    Word.BROKEN: ("bold red", "bad"), Word.SLOWER: ("red", "slow"), Word.INCONCLUSIVE: ("yellow", ""),
    Word.FIXED: ("green", "good"), Word.FASTER: ("green", "good"), Word.SAME: ("", "level"),
    Word.NOT_COMPARED: ("", "idle"),
}  # fmt: skip
"""The styles of a word in the terminal and in the page."""

TREND_STYLES = {Trend.WORSE: ("red", "slow"), Trend.BETTER: ("green", "good")}
"""The same of what was counted; other words have none."""

TIMES = ("base_median_us", "median_us", "change_percent")
CSV_COLUMNS = ("base_status", "status", *TIMES, "low_percent", "high_percent", "threshold_percent", "word", "note")


def entries(comparisons: Sequence[Comparison]) -> list[Entry]:
    """List the changes of all cases, the worst first; cases that only one run has come last."""
    numbered = [(number, change) for number, compared in enumerate(comparisons, 1) for change in compared.changes]

    def key(entry: Entry) -> tuple[int, float, int]:
        order = ["worse", "mixed", "better", "changed", ""].index(counted.trend(counts_of(comparisons, entry)))
        return list(Word).index(entry[1].word), -round(entry[1].size, 9), order  # rounded: equal ones stay in order

    return sorted(numbered, key=key)


def counts_of(comparisons: Sequence[Comparison], entry: Entry) -> list[counted.Count]:
    """What was counted and changed in a case."""
    number, change = entry
    return comparisons[number - 1].counts_by_case.get(str(change.row["case"]), [])


def as_csv(comparisons: Sequence[Comparison], cases: Iterable[Entry]) -> bytes:
    """Format all cases as CSV."""
    base = comparisons[0].base
    parameters = [name for name in base.parameters if name != "device"]
    parameters[parameters.index("size") + 1 : 0] = ["rows", "cols"]
    rows = []
    for number, change in cases:
        counts = counts_of(comparisons, (number, change))
        case, *values = ("" if absent(change.row[n]) else change.row[n] for n in ("case", *parameters, "device"))
        pair, runs = change.pair, (comparisons[number - 1].other.name, base.name)
        numbers = [median(pair.base), median(pair.other), *(change.percent or [None] * 4)]
        digits = ["" if number is None or math.isnan(number) else f"{number:.6g}" for number in numbers]
        same = pair.same_code if pair.base and pair.other else ""
        states = [row.get("status", "") for row in (pair.base, pair.other)]
        rows.append([case, *runs, *values, *states, *digits, change.word.value, change.note, same])
        rows[-1] += [counted.trend(counts), "; ".join(map(str, counts))]
    heads = ["case", "run", "baseline", *parameters, "device", *CSV_COLUMNS, "same_binary", "counted", "counted_change"]
    return Table.of(heads, (map(str, row) for row in rows)).csv().encode(errors="surrogateescape")


def level(comparison: Comparison) -> str:
    """Return the result as a style of the page: `bad`, `good` or `none`."""
    words = {change.word for change in comparison.common}
    trend = counted.trend(comparison.counts) if comparison.is_counted else ""
    if words & {Word.BROKEN, Word.SLOWER} or trend == Trend.WORSE:
        return "bad"
    if trend not in ("", Trend.BETTER):
        return "none"
    return "good" if words <= {Word.FASTER, Word.SAME} else "none"


def headline(comparison: Comparison) -> str:
    """Summarize, as in `B against A, 192 common cases: none broken, 48 faster, 0 slower, 144 same`.

    Without times, what was counted comes first: `B against A: k.cu:6: 31.5 -> 4 sectors a request in 2 cases (better).`
    """
    numbers = Counter(change.word for change in comparison.changes)
    timed = not all(map(_only_checked, comparison.common))
    parts = [f"{numbers[Word.BROKEN]:,} BROKEN" if numbers[Word.BROKEN] else "none broken"]
    parts += [f"{numbers[word]:,} {word}" for word in (*(CHANGED_TIMES if timed else ()), Word.SAME)]
    parts += [f"{numbers[word]:,} {word}" for word in COUNTED_IF_ANY if numbers[word]]
    base, other = comparison.base.short, comparison.other.short
    alone = [f"{count(len(rows), 'case')} only in {name}" for name, rows in lone(comparison)]
    cases, outcome = count(len(comparison.common), "common case"), ", ".join(parts)
    lead = counted.lead(comparison.counts)
    if comparison.is_counted:
        said = f"{other} against {base}: {lead}. {cases}: {outcome}."
    else:
        said = f"{other} against {base}, {cases}: {outcome}." + (f" Counted: {lead}." if lead else "")
    return f"{said} {listed(alone)}." if alone else said


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
    predicted = [PREDICTED] if comparison.counts else []
    return [*predicted, *todo, *_cautions(comparison), *_noise(comparison)]


def exit_status(comparisons: Sequence[Comparison], *, strict: bool, fail_on_counted: bool = False) -> int:
    """0 if nothing is worse, 1 if a case is slower or broken, 3 if `strict` and a correct case is now undecided.

    With `fail_on_counted`, it is 1 as well if what was counted got worse.
    """
    if fail_on_counted and any(each.trend is Trend.WORSE for c in comparisons for each in c.counts):
        return WORSE
    changes = [change for comparison in comparisons for change in comparison.changes]
    if any(change.word in (Word.BROKEN, Word.SLOWER) for change in changes):
        return WORSE
    undecided = any(c.word not in DECIDED and c.pair.base["status"] == "ok" for c in changes)
    return UNDECIDED if strict and undecided else 0


def amount(comparison: Comparison, change: Change, *, of_base: bool) -> str:
    """Format a case's time, or the value of the baseline's criterion; empty without a time."""
    row = change.pair.base if of_base else change.pair.other
    us, by = median(row), comparison.base.criterion
    if us is None or by.is_time:
        return "" if us is None else f"{exact(us)} µs"
    own = by if of_base else replace(by, constants=comparison.other.criterion.constants)
    return f"{own.value(row, us):.4g} {by.unit or by.name}"


def numbers(change: Change, comparison: Comparison) -> tuple[str, str, str]:
    """Format times (or the baseline's criterion), change and note of a case; empty if it lacks them."""
    before, now = (amount(comparison, change, of_base=of_base) for of_base in (True, False))
    if not before or not now or change.percent is None:
        return "", "", one_line(change.note)
    ends, unit = interval(change), now[now.index(" ") :]
    between = f"{signed(change.percent[0])} %{f' ({ends})' if ends else ''}"
    note = "" if change.word is Word.INCONCLUSIVE else one_line(change.note)  # `remarks` gives the advice once
    return f"{before.removesuffix(unit)} to {now}", between, note


def varying_in(comparisons: Sequence[Comparison]) -> list[str]:
    """The parameters that vary among common cases."""
    rows = [change.row for comparison in comparisons for change in comparison.common]
    return varying(rows, comparisons[0].base.parameters)


def median(row: Row) -> float | None:
    """A case's time in µs; `None` if the case is not correct."""
    return float(row["median_us"]) if row and row["status"] == "ok" and not absent(row["median_us"]) else None


def interval(change: Change) -> str:
    """Format the ends of the interval of a change, in percent; empty without an interval."""
    if change.percent is None or math.isnan(change.percent[1]):
        return ""
    return f"{signed(change.percent[1])} to {signed(change.percent[2])}"


def signed(percent: float) -> str:
    """Format a change in percent: `+3.2`, `-12.0`, and `0.0` without a sign."""
    return re.sub(r"^[+-](0\.0)$", r"\1", f"{percent:+,.1f}")


def anchor(change: Change, number: int = 0) -> str:
    """The HTML id of a case's line, made from the case's id, so that links stay valid after a rebuild."""
    mark = re.sub(r"[^A-Za-z0-9_-]", "-", str(change.row["case"]))[:60]
    return f"case-{mark}-{one_line(str(change.row['device']), 8) or 'any'}-{number}"


def lone(comparison: Comparison) -> list[tuple[str, list[Row]]]:
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
