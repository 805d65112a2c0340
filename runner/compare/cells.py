"""The tables of the page: which columns, and what stands in each cell. Pure: no HTML here."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from runner.compare.causes import Causes
from runner.compare.changes import Comparison, Word
from runner.compare.entries import Entry, median
from runner.compare.loading import Run, varying
from runner.compare.verdict import short
from runner.report.cells import Cell, Line, Table
from runner.report.text import absent, exact, one_line, value_of

INTERVAL = "low_percent to high_percent"
NUMBERS = ("base_median_us", "median_us", "change_percent", INTERVAL, "threshold_percent")
LEFT = frozenset(("kernel", "run", "word", "note", "device", "dtype"))
KINDS = {
    Word.BROKEN: "bad", Word.SLOWER: "slow", Word.FIXED: "good", Word.FASTER: "good", Word.SAME: "level",
    Word.NOT_COMPARED: "idle",
}  # fmt: skip


def changes(found: Iterable[Entry], comparisons: Sequence[Comparison], told: Sequence[str]) -> Table:
    """What is said of each of some cases that both runs have.

    Args:
        found: The cases, in their order.
        comparisons: Whose they are.
        told: The parameters that have a column, if any of the cases has a value of them.
    """
    runs = ["run"] if len(comparisons) > 1 else []
    names = [*told, *runs, "word", *NUMBERS, "note"]
    lines = [(entry, [_cell(name, entry, comparisons) for name in names]) for entry in found]
    kept = [n for n, name in enumerate(names) if name in ("kernel", "word") or any(cells[n].text for _, cells in lines)]
    return Table(
        [names[n] for n in kept],
        [Line(anchor(entry), _words(entry, told), [cells[n] for n in kept]) for entry, cells in lines],
    )


def differing(found: Causes, compared: Sequence[Run]) -> Table:
    """What differs between the runs, a column a run."""
    lines = [
        Line("", "", [Cell(c.kind), Cell(one_line(c.name, 80)), *(Cell(one_line(value, 160)) for value in c.values)])
        for c in found.differing
    ]
    return Table(["kind", "what", *(short(run) for run in compared)], lines)


def anchor(entry: Entry) -> str:
    """The id of a case's line, by the case's own id, so that a link to it outlives a rebuild."""
    mark = re.sub(r"[^A-Za-z0-9_-]", "-", str(entry.row["case"]))[:60]
    return f"case-{mark}-{one_line(str(entry.row['device']), 8) or 'any'}-{entry.run}"


def columns(found: Sequence[Entry], base: Run) -> list[str]:
    """The parameters that vary among some cases."""
    return varying([entry.row for entry in found], base.parameters)


def _cell(name: str, entry: Entry, comparisons: Sequence[Comparison]) -> Cell:
    match name:
        case "run":
            return Cell(short(comparisons[entry.run - 1].other))
        case "word":
            return Cell(entry.word, kind=KINDS.get(Word(entry.word), ""))
        case "note":
            return Cell(brief(entry))
        case "base_median_us" | "median_us":
            number = median(entry.base if name.startswith("base") else entry.other)
            return Cell("") if number is None else Cell(exact(number), f"{number:.9g}")
        case "change_percent" | "threshold_percent" | "low_percent to high_percent":
            return _percent(name, entry)
        case "size":
            return Cell(value_of(name, entry.row), "" if absent(entry.row["size"]) else str(entry.row["size"]))
        case _:
            return Cell(one_line(value_of(name, entry.row), 80))


def _percent(name: str, entry: Entry) -> Cell:
    if entry.decision is None or entry.percent is None:
        return Cell("")
    change, low, _ = entry.percent
    if name == "threshold_percent":
        return Cell(f"{100 * entry.decision.threshold:.1f}", f"{100 * entry.decision.threshold:.6g}")
    if name == "change_percent":
        return Cell(signed(change), f"{change:.6g}")
    return Cell(interval(entry), "" if math.isnan(low) else f"{low:.6g}")


def interval(entry: Entry) -> str:
    """The ends of the interval of a change, in percent; empty where there is none."""
    _, low, high = entry.percent or (math.nan, math.nan, math.nan)
    return "" if math.isnan(low) else f"{signed(low)} to {signed(high)}"


def signed(percent: float) -> str:
    """A change in percent: `+3.2`, `-12.0`, and `0.0` without a sign."""
    return re.sub(r"^[+-](0\.0)$", r"\1", f"{percent:+,.1f}")


def brief(entry: Entry) -> str:
    """The note in a table's cell: of an inconclusive case what to do, as the interval has a column of its own."""
    return one_line(entry.note.rpartition(": ")[2] if entry.word == Word.INCONCLUSIVE else entry.note, 110)


def _words(entry: Entry, told: Sequence[str]) -> str:
    """What the filter matches as whole words; a size is found by its digits too."""
    pairs = [f"{name}={value}" for name in told if (value := value_of(name, entry.row))]
    size = [] if absent(entry.row["size"]) else [f"size={entry.row['size']}"]
    words = (*pairs, *size, f"word={entry.word}")
    return " ".join(one_line(word, 80).replace(" ", "_") for word in words).lower()
