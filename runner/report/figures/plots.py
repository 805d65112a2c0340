"""What a figure of times holds: axes and rows, chosen by `time_plots`, drawn by `time_picture`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from runner.report.text import listed, one_line, value_of


@dataclass(frozen=True)
class Panel:
    """One pair of axes: its title, rows of which each is one point, and its y where that is not the figure's."""

    title: str
    rows: list[dict[str, Any]]
    y: str = ""


@dataclass(frozen=True)
class Plot:
    """One figure.

    Attributes:
        stem: the file's name without its ending.
        kind: lines over the column `x`, or one bar a kernel.
        x: the column on the x axis.
        y: `median_us` or `gbps`.
        title: what is shown.
        notes: what a reader must know to read it right.
        panels: small multiples; at least one.
        parameters: the parameters of the run, which tell its rows apart.
        named: the parameters whose values stand beside the kernel in a bar's name.
        pale: the kernels whose lines are grey, as there are too many to tell all apart.
    """

    stem: str
    kind: Literal["lines", "bars"]
    x: str
    y: str
    title: str
    notes: str
    panels: tuple[Panel, ...]
    parameters: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    pale: tuple[str, ...] = ()

    @property
    def place(self) -> Literal["times"]:
        """The part of the page that it belongs to."""
        return "times"

    @property
    def emulated(self) -> bool:
        """Whether the times are those of the CPU device."""
        return bool(self.panels[0].rows[0]["device"] == "cpu")

    @property
    def reading(self) -> str:
        """What it shows, for those who cannot see it; the table has every number."""
        kernels = list(dict.fromkeys(one_line(str(row["kernel"]), 40) for panel in self.panels for row in panel.rows))
        return f"{listed(kernels)}; the table of all cases has the numbers. {self.notes}"


def line_name(row: dict[str, Any], *, finish: bool) -> str:
    """What a line or bar is called: the kernel, with its finish where that differs within the figure."""
    return one_line(str(row["kernel"]), 28) + (f" ({row['finish']})" if finish and row["finish"] else "")


def bar_name(row: dict[str, Any], named: tuple[str, ...], *, finish: bool) -> str:
    """What a bar is called: as a line, and with the values that tell it from the kernel's other bars."""
    values = [(name, value_of(name, row)) for name in named]
    told = [value if name == "dtype" else f"{name} {value}" for name, value in values if value]
    return ", ".join([line_name(row, finish=finish), *told])
