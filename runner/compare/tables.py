"""The table of a comparison, from which terminal, page and CSV are made: one entry a case and compared run."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Sequence

from runner.compare.causes import Causes
from runner.compare.changes import ORDER, Change, Comparison, Word
from runner.compare.runs import Row, Run, varying
from runner.report.cells import Cell, Line, Table
from runner.report.text import absent, exact, one_line, value_of

Entry = tuple[int, Change]
"""The number of the compared run, counted from 1, and what became of a case in it."""

OF_CSV = (
    *("base_status", "status", "base_median_us", "median_us", "change_percent", "low_percent", "high_percent"),
    *("threshold_percent", "word", "note", "same_binary"),
)
INTERVAL = "low_percent to high_percent"
NUMBERS = ("base_median_us", "median_us", "change_percent", INTERVAL, "threshold_percent")
LEFT = frozenset(("kernel", "run", "word", "note", "device", "dtype"))
STYLES = {
    Word.BROKEN: "bad", Word.SLOWER: "slow", Word.FIXED: "good", Word.FASTER: "good", Word.SAME: "level",
    Word.NOT_COMPARED: "idle",
}  # fmt: skip


def entries(comparisons: Sequence[Comparison]) -> list[Entry]:
    """All entries, the worst first; cases that only one run has come last."""
    found = [(number, change) for number, compared in enumerate(comparisons, 1) for change in compared.changes]
    # Rounded, so that equal changes stay in the order of the table.
    return sorted(found, key=lambda entry: (ORDER[entry[1].word], -round(entry[1].size, 9)))


def median(row: Row) -> float | None:
    """A case's time in microseconds; `None` for a case that is not right."""
    return float(row["median_us"]) if row and row["status"] == "ok" and not absent(row["median_us"]) else None


def written(comparisons: Sequence[Comparison], found: Iterable[Entry]) -> str:
    """The table as CSV."""
    base = comparisons[0].base
    parameters = [name for name in base.parameters if name != "device"]
    parameters[parameters.index("size") + 1 : 0] = ["rows", "cols"]
    target = io.StringIO()
    lines = csv.writer(target, lineterminator="\n")
    lines.writerow(["case", "run", "baseline", *parameters, "device", *OF_CSV])
    for number, change in found:
        case, *values = ("" if absent(change.row[n]) else change.row[n] for n in ("case", *parameters, "device"))
        pair = change.pair
        states = [row.get("status", "") for row in (pair.base, pair.other)]
        numbers = [median(pair.base), median(pair.other), *(change.percent or (None, None, None, None))]
        same = pair.same_code if pair.base and pair.other else ""
        own = [*states, *map(_digits, numbers), change.word.value, change.note, same]
        lines.writerow([case, comparisons[number - 1].other.name, base.name, *values, *own])
    return target.getvalue()


def changes(found: Iterable[Entry], comparisons: Sequence[Comparison], parameters: Sequence[str]) -> Table:
    """The page's table of some cases that both runs have, without empty columns."""
    runs = ["run"] if len(comparisons) > 1 else []
    names = [*parameters, *runs, "word", *NUMBERS, "note"]
    lines = [(entry, [_cell(name, entry, comparisons) for name in names]) for entry in found]
    kept = [n for n, name in enumerate(names) if name in ("kernel", "word") or any(cells[n].text for _, cells in lines)]
    return Table(
        [names[n] for n in kept],
        [Line(anchor(entry), _words(entry[1], parameters), [cells[n] for n in kept]) for entry, cells in lines],
    )


def differing(found: Causes, compared: Sequence[Run]) -> Table:
    """The page's table of what differs between the runs, a column a run."""
    rows = [(c.kind, one_line(c.name, 80), *(one_line(value, 160) for value in c.values)) for c in found.differing]
    lines = [Line("", "", [Cell(text) for text in row]) for row in rows]
    return Table(["kind", "what", *(run.short for run in compared)], lines)


def anchor(entry: Entry) -> str:
    """The id of a case's line. It follows from the case's own id, so that a link to it outlives a rebuild."""
    number, row = entry[0], entry[1].row
    mark = re.sub(r"[^A-Za-z0-9_-]", "-", str(row["case"]))[:60]
    return f"case-{mark}-{one_line(str(row['device']), 8) or 'any'}-{number}"


def columns(comparisons: Sequence[Comparison]) -> list[str]:
    """The parameters that vary among the common cases."""
    rows = [change.row for comparison in comparisons for change in comparison.common]
    return varying(rows, comparisons[0].base.parameters)


def interval(change: Change) -> str:
    """The ends of the interval of a change, in percent; empty if there is none."""
    _, low, high, _ = change.percent or (math.nan,) * 4
    return "" if math.isnan(low) else f"{signed(low)} to {signed(high)}"


def signed(percent: float) -> str:
    """A change in percent: `+3.2`, `-12.0`, and `0.0` without a sign."""
    return re.sub(r"^[+-](0\.0)$", r"\1", f"{percent:+,.1f}")


def _digits(number: float | None) -> str:
    return "" if number is None or math.isnan(number) else f"{number:.6g}"


def _cell(name: str, entry: Entry, comparisons: Sequence[Comparison]) -> Cell:
    number, change = entry
    percent, row = change.percent, change.row
    match name:
        case "run":
            return Cell(comparisons[number - 1].other.short)
        case "word":
            return Cell(change.word, kind=STYLES.get(change.word, ""))
        case "note":  # the advice of an inconclusive case, because its interval has its own column
            return Cell(one_line(change.advice or change.reason, 110))
        case "base_median_us" | "median_us":
            us = median(change.pair.base if name.startswith("base") else change.pair.other)
            # Emulated times side by side would invite comparison.
            return Cell("") if us is None or row["emulated"] else Cell(exact(us), f"{us:.9g}")
        case "size":
            return Cell(value_of(name, row), "" if absent(row["size"]) else str(row["size"]))
        case "change_percent":
            return Cell(signed(percent[0]), _digits(percent[0])) if percent else Cell("")
        case "low_percent to high_percent":
            return Cell(interval(change), _digits(percent[1])) if percent else Cell("")
        case "threshold_percent":
            return Cell(f"{percent[3]:.1f}", _digits(percent[3])) if percent else Cell("")
        case _:
            return Cell(one_line(value_of(name, row), 80))


def _words(change: Change, parameters: Sequence[str]) -> str:
    """What the filter matches as whole words; a size is also found by its digits."""
    pairs = [f"{name}={value}" for name in parameters if (value := value_of(name, change.row))]
    size = [] if absent(change.row["size"]) else [f"size={change.row['size']}"]
    words = (*pairs, *size, f"word={change.word}")
    return " ".join(one_line(word, 80).replace(" ", "_") for word in words).lower()
