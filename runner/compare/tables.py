"""The table of a comparison, from which terminal, page and CSV are made: one entry a case and compared run."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from runner.compare.causes import Causes
from runner.compare.changes import ORDER, Change, Comparison, Word
from runner.compare.runs import Row, Run, varying
from runner.report.cells import Cell, Line, Table
from runner.report.text import absent, exact, one_line, value_of

ONLY_BASE, ONLY_OTHER = "only in baseline", "only in run"
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


@dataclass(frozen=True)
class Entry:
    """A case in one of the compared runs.

    Attributes:
        run: The number of the compared run, counted from 1.
        word: The word for the case.
        base: Its row in the baseline; `None` if the baseline lacks it.
        other: Its row in the run; `None` if the run lacks it.
        change: What became of it; only if both runs have it.
    """

    run: int
    word: str
    base: Row | None
    other: Row | None
    change: Change | None = None

    @property
    def row(self) -> Row:
        """Its parameters, from the run that has it."""
        return self.other or self.base or {}

    @property
    def note(self) -> str:
        """Why the word holds, and what to do about it."""
        return self.change.note if self.change else ""

    @property
    def brief(self) -> str:
        """The note for a table: what to do about an inconclusive case, because the interval has its own column."""
        return self.change.advice or self.change.reason if self.change else ""

    @property
    def percent(self) -> tuple[float, float, float] | None:
        """The change of the time and the ends of its interval, in percent: below zero the run is faster."""
        d = self.change.decision if self.change else None
        return (100 * (d.change - 1), 100 * (d.low - 1), 100 * (d.high - 1)) if d else None

    @property
    def threshold_percent(self) -> float | None:
        """The change that counts, in percent."""
        d = self.change.decision if self.change else None
        return 100 * d.threshold if d else None


def entries(comparisons: Sequence[Comparison]) -> list[Entry]:
    """All entries, the worst first; cases that only one run has come last."""
    changes = [(number, change) for number, found in enumerate(comparisons, 1) for change in found.changes]
    changes.sort(key=lambda item: (ORDER[item[1].word], -round(item[1].size, 9)))
    common = [Entry(number, c.word.value, c.pair.base, c.pair.other, c) for number, c in changes]
    lost = [Entry(n, ONLY_BASE, row, None) for n, found in enumerate(comparisons, 1) for row in found.only_base]
    new = [Entry(n, ONLY_OTHER, None, row) for n, found in enumerate(comparisons, 1) for row in found.only_other]
    return [*common, *lost, *new]


def median(row: Row | None) -> float | None:
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
    for entry in found:
        cells = ["" if absent(entry.row[name]) else entry.row[name] for name in ("case", *parameters, "device")]
        names = [comparisons[entry.run - 1].other.name, base.name]
        lines.writerow([cells[0], *names, *cells[1:], *_of_csv(entry)])
    return target.getvalue()


def changes(found: Iterable[Entry], comparisons: Sequence[Comparison], parameters: Sequence[str]) -> Table:
    """The page's table of some cases that both runs have, without empty columns."""
    runs = ["run"] if len(comparisons) > 1 else []
    names = [*parameters, *runs, "word", *NUMBERS, "note"]
    lines = [(entry, [_cell(name, entry, comparisons) for name in names]) for entry in found]
    kept = [n for n, name in enumerate(names) if name in ("kernel", "word") or any(cells[n].text for _, cells in lines)]
    return Table(
        [names[n] for n in kept],
        [Line(anchor(entry), _words(entry, parameters), [cells[n] for n in kept]) for entry, cells in lines],
    )


def differing(found: Causes, compared: Sequence[Run]) -> Table:
    """The page's table of what differs between the runs, a column a run."""
    lines = [
        Line("", "", [Cell(c.kind), Cell(one_line(c.name, 80)), *(Cell(one_line(value, 160)) for value in c.values)])
        for c in found.differing
    ]
    return Table(["kind", "what", *(run.short for run in compared)], lines)


def anchor(entry: Entry) -> str:
    """The id of a case's line. It follows from the case's own id, so that a link to it outlives a rebuild."""
    mark = re.sub(r"[^A-Za-z0-9_-]", "-", str(entry.row["case"]))[:60]
    return f"case-{mark}-{one_line(str(entry.row['device']), 8) or 'any'}-{entry.run}"


def columns(found: Iterable[Entry], base: Run) -> list[str]:
    """The parameters that vary among some cases."""
    return varying([entry.row for entry in found], base.parameters)


def interval(entry: Entry) -> str:
    """The ends of the interval of a change, in percent; empty if there is none."""
    _, low, high = entry.percent or (math.nan, math.nan, math.nan)
    return "" if math.isnan(low) else f"{signed(low)} to {signed(high)}"


def signed(percent: float) -> str:
    """A change in percent: `+3.2`, `-12.0`, and `0.0` without a sign."""
    return re.sub(r"^[+-](0\.0)$", r"\1", f"{percent:+,.1f}")


def _of_csv(entry: Entry) -> list[Any]:
    percent = entry.percent or (None, None, None)
    numbers = [median(entry.base), median(entry.other), *percent, entry.threshold_percent]
    states = [row["status"] if row else "" for row in (entry.base, entry.other)]
    same = entry.change.pair.same_code if entry.change else ""
    return [*states, *map(_digits, numbers), entry.word, entry.note, same]


def _digits(number: float | None) -> str:
    return "" if number is None or math.isnan(number) else f"{number:.6g}"


def _cell(name: str, entry: Entry, comparisons: Sequence[Comparison]) -> Cell:
    match name:
        case "run":
            return Cell(comparisons[entry.run - 1].other.short)
        case "word":
            return Cell(entry.word, kind=STYLES.get(Word(entry.word), ""))
        case "note":
            return Cell(one_line(entry.brief, 110))
        case "base_median_us" | "median_us":
            row = entry.base if name.startswith("base") else entry.other
            number = None if entry.row["emulated"] else median(row)  # side by side they would invite comparison
            return Cell("") if number is None else Cell(exact(number), f"{number:.9g}")
        case "size":
            return Cell(value_of(name, entry.row), "" if absent(entry.row["size"]) else str(entry.row["size"]))
        case "threshold_percent":
            threshold = entry.threshold_percent
            return Cell("") if threshold is None else Cell(f"{threshold:.1f}", f"{threshold:.6g}")
        case "change_percent":
            return Cell(signed(entry.percent[0]), f"{entry.percent[0]:.6g}") if entry.percent else Cell("")
        case "low_percent to high_percent":
            return Cell(interval(entry), _digits(entry.percent[1] if entry.percent else None))
        case _:
            return Cell(one_line(value_of(name, entry.row), 80))


def _words(entry: Entry, parameters: Sequence[str]) -> str:
    """What the filter matches as whole words; a size is also found by its digits."""
    pairs = [f"{name}={value}" for name in parameters if (value := value_of(name, entry.row))]
    size = [] if absent(entry.row["size"]) else [f"size={entry.row['size']}"]
    words = (*pairs, *size, f"word={entry.word}")
    return " ".join(one_line(word, 80).replace(" ", "_") for word in words).lower()
