"""What a figure of the report is."""

from __future__ import annotations

import csv
import io
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

import pandas as pd
from matplotlib.figure import Figure as Drawing

from runner.report.figures.style import Stroke, saved, strokes
from runner.report.ratio import Ratio
from runner.report.table import parameters
from runner.report.text import absent

Row = dict[str, Any]
Section = Literal["times", "shape", "baseline", "lanes", "raw"]


@dataclass(frozen=True)
class Run:
    """The results that figures are made from.

    Attributes:
        path: The run folder.
        frame: Its table, as `report.table.load` returns it.
        ratios: The speed-up of each case that has one, by its row.
    """

    path: Path
    frame: pd.DataFrame
    ratios: Mapping[int, Ratio]

    @property
    def measured(self) -> pd.DataFrame:
        """The rows whose times are those of hardware. Emulated times get no figure."""
        return self.frame[~self.frame["emulated"].astype(bool)]

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters, in the order in which a reader wants them."""
        return tuple(parameters(self.frame))

    @cached_property
    def looks(self) -> dict[str, Stroke]:
        """How each kernel is drawn in all figures."""
        return strokes([str(kernel) for kernel in self.frame["kernel"].unique()])


@dataclass(frozen=True)
class Figure(ABC):
    """A figure. It is chosen first and drawn later: making one draws nothing.

    Attributes:
        section: The section of the page in which it stands.
        stem: The name of its files, without the ending.
        title: What it shows.
        caption: What a reader must know to read it right.
    """

    section: ClassVar[Section]
    stem: str
    title: str
    caption: str

    @abstractmethod
    def rows(self) -> list[Row]:
        """The numbers that it shows: the rows of the CSV beside it."""

    @abstractmethod
    def draw(self) -> Drawing | bytes:
        """The drawing, or the SVG itself."""


@dataclass(frozen=True)
class Drawn:
    """A drawn figure: what the page shows and the folder keeps. Without pixels, `png` is empty."""

    section: Section
    stem: str
    title: str
    caption: str
    svg: bytes
    png: bytes
    rows: list[Row]

    @property
    def files(self) -> dict[str, bytes]:
        """The content of each file, by its ending."""
        found = {"svg": self.svg, "png": self.png, "csv": as_csv(self.rows)}
        return {ending: content for ending, content in found.items() if content}


def drawn(figure: Figure, stem: str) -> Drawn:
    """Draw a figure. The same figure gives the same bytes."""
    svg, png = saved(figure.draw)
    return Drawn(figure.section, stem, figure.title, figure.caption, svg, png, figure.rows())


def of_case(row: Row, run: Run) -> Row:
    """The columns that identify a case, for a figure's CSV."""
    names = ("case", "kernel", *run.names, "rows", "cols", "finish")
    return {name: row.get(name) for name in dict.fromkeys(names)}


def as_csv(rows: list[Row]) -> bytes:
    """The rows as CSV, without the columns that are empty in all of them."""
    names = dict.fromkeys(name for row in rows for name in row)
    kept = [name for name in names if any(not absent(row.get(name)) for row in rows)]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(kept)
    writer.writerows([_written(row.get(name)) for name in kept] for row in rows)
    return stream.getvalue().encode("utf-8", errors="replace")


def _written(value: Any) -> str:
    if absent(value):
        return ""
    return f"{value:.9g}" if isinstance(value, float) else str(value)
