"""Which cases' raw samples deserve a look: those whose spread is large. Reads samples/; no drawing here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from runner import samples
from runner.folder import RunFolder
from runner.report.table import records, timed, varying
from runner.report.text import EMULATED, absent, count, described, listed, rough, slug
from runner.statistics import Samples

IQR_PERCENT, ROUNDS_PERCENT = 5.0, 2.0
"""A spread is large from here on: the quartiles' distance in percent of the median, and that between the rounds."""

MOST, FEWEST = 6, 10
"""Cases that are drawn; samples that are worth a figure."""

Row = dict[str, Any]


@dataclass(frozen=True)
class RawPlot:
    """One figure: all samples of a case.

    Attributes:
        stem: the file's name without its ending.
        title: the case.
        notes: why it is drawn, and what a reader must know to read it right.
        row: the case.
        samples: in the order of taking, of type `SAMPLE`.
    """

    stem: str
    title: str
    notes: str
    row: Row
    samples: Samples

    @property
    def place(self) -> Literal["raw"]:
        """The part of the page that it belongs to."""
        return "raw"

    @property
    def emulated(self) -> bool:
        """Whether the times are those of the CPU device."""
        return bool(self.row["device"] == "cpu")

    @property
    def reading(self) -> str:
        """The figure in words, for those who cannot see it."""
        us = self.samples["us"]
        rounds = count(len(np.unique(self.samples["round"])), "round")
        return (
            f"{count(len(us), 'sample')} of {rounds}, from {rough(us.min())} to {rough(us.max())} µs, "
            f"median {rough(self.row['median_us'])} µs. {self.notes}"
        )


def wide_cases(path: Path, frame: pd.DataFrame) -> list[RawPlot]:
    """The cases with the largest spread whose samples can be read, the worst first."""
    names = varying(frame)
    wide = sorted((row for row in records(timed(frame)) if _width(row) > 1), key=_width, reverse=True)
    found: list[tuple[Row, Samples]] = []
    for row in wide:
        if len(found) < MOST and (taken := _read(path, row)) is not None:
            found.append((row, taken))
    return [_plot(row, taken, names, place, len(wide)) for place, (row, taken) in enumerate(found, 1)]


def _iqr_percent(row: Row) -> float:
    if absent(row["q1_us"]) or absent(row["q3_us"]):
        return 0.0
    return 100 * float(row["q3_us"] - row["q1_us"]) / float(row["median_us"])


def _rounds_percent(row: Row) -> float:
    return 0.0 if absent(row["round_spread_percent"]) else float(row["round_spread_percent"])


def _width(row: Row) -> float:
    """How many times its limit the larger of the two spreads is."""
    return max(_iqr_percent(row) / IQR_PERCENT, _rounds_percent(row) / ROUNDS_PERCENT)


def _read(path: Path, row: Row) -> Samples | None:
    """The samples of a case; None where they are missing, torn, too few, or not what this version writes."""
    job = str(row.get("job", ""))
    if not job.isdecimal() or slug(str(row["case"])) != row["case"]:
        return None
    found = samples.read(RunFolder(path).samples(row["case"], int(job)))
    return found if found is not None and len(found) >= FEWEST else None


def _plot(row: Row, taken: Samples, names: list[str], place: int, wide: int) -> RawPlot:
    emulated, throttled = row["device"] == "cpu", int(taken["throttled"].sum())
    why = [
        f"quartiles {_iqr_percent(row):.1f} % of the median apart" if _iqr_percent(row) > IQR_PERCENT else "",
        f"rounds differ by {_rounds_percent(row):.1f} %" if _rounds_percent(row) > ROUNDS_PERCENT else "",
    ]
    notes = [
        f"{EMULATED[0].upper()}{EMULATED[1:]}." if emulated else "",
        f"Large spread: {listed([word for word in why if word])}.",
        f"{count(len(taken), 'sample')}.",
        f"Crosses: {count(throttled, 'sample')} of a throttled GPU." if throttled else "",
        f"Number {place} of {wide:,} such cases, the widest first{f'; {MOST} are drawn' if wide > MOST else ''}."
        if wide > 1
        else "",
    ]
    return RawPlot(
        stem=f"samples-{row['case']}-{row['job']}",
        title=f"{'Emulated samples' if emulated else 'Samples'} of {described(row, names)}",
        notes=" ".join(note for note in notes if note),
        row=row,
        samples=taken,
    )
