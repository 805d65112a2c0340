"""Which figures make a point: decided by what varies. Pure: no drawing here.

Cases of different devices or families never share a figure, of different dtypes never a panel.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from runner.report.table import constant, parameters, records, timed, varying
from runner.report.text import EMULATED, count, listed, one_line, size_of, value_of

MOST_PANELS = 6

APART = ("kernel", "size", "dtype", "seed", "device")
"""Parameters that are never averaged away, nor an axis of their own."""


@dataclass(frozen=True)
class Panel:
    """One pair of axes: its title, and rows of which each is one point."""

    title: str
    rows: list[dict[str, Any]]


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
    """

    stem: str
    kind: Literal["lines", "bars"]
    x: str
    y: str
    title: str
    notes: str
    panels: tuple[Panel, ...]

    @property
    def emulated(self) -> bool:
        """Whether the times are those of the CPU device."""
        return bool(self.panels[0].rows[0]["device"] == "cpu")


def choose(frame: pd.DataFrame) -> list[Plot]:
    """The figures of a run, most telling first."""
    right = timed(frame)
    right.attrs = frame.attrs
    groups = list(right.groupby(["device", "family"], dropna=False, sort=False))
    plots: list[Plot] = []
    for (device, family), group in groups:
        group.attrs = frame.attrs
        suffix = _slug(f"-{device}-{family}") if len(groups) > 1 else ""
        about = f" ({family})" if family and len(groups) > 1 else ""
        plots += _of_group(group, suffix, about)
    return plots


def line_name(row: dict[str, Any], *, finish: bool) -> str:
    """What a line or bar is called: the kernel, with its finish where that differs within the figure."""
    return one_line(str(row["kernel"]), 28) + (f" ({row['finish']})" if finish and row["finish"] else "")


def _of_group(group: pd.DataFrame, suffix: str, about: str) -> list[Plot]:
    cuda = bool((group["device"] != "cpu").all())
    bandwidth = cuda and bool(group["gbps"].notna().all())
    plots: list[Plot] = []
    several = len(group["size"].dropna().unique()) > 1
    if several:
        sized = group[group["size"].notna() & (group["size"] > 0)]
        sized.attrs = group.attrs
        quantities = ["gbps", "median_us"] if bandwidth else ["median_us"]
        plots += [_lines(sized, "size", y, suffix, about) for y in quantities]
    last = group[group["size"] == group["size"].max()] if group["size"].notna().any() else group
    last.attrs = group.attrs
    if len(last["kernel"].unique()) > 1 and not several:
        plots.append(_bars(last, suffix, about))
    faceted = _facets(group)[0] if several else []
    by = [n for n in _told_apart(last) if n not in (*APART, *faceted)]
    return plots + [_lines(last, x, "gbps" if bandwidth else "median_us", suffix, about) for x in by]


def _lines(group: pd.DataFrame, x: str, y: str, suffix: str, about: str) -> Plot:
    facets, rest = _facets(group) if x == "size" else ([], [n for n in _told_apart(group) if n not in (*APART, x)])
    attrs, group = group.attrs, group[[value_of(x, row) != "" for row in records(group)]]
    group.attrs = attrs
    panels = tuple(
        Panel(title, _best(rows, ["kernel", "finish", "size", "rows", "cols", x]))
        for title, rows in _split(group, facets)
    )
    what = "Bandwidth" if y == "gbps" else "Emulated time of one launch" if _emulated(group) else "Time of one launch"
    at = f" at {size_of(records(group)[0])}" if x != "size" and group["size"].notna().all() else ""
    stem = f"{'bandwidth' if y == 'gbps' else 'time'}-by-{_slug(x)}{suffix}"
    unread = [name for name in facets if any(value_of(name, row) == "" for row in records(group))]
    band = "Band: quartiles." + (f" Kernels without {listed(unread)} are the same in all panels." if unread else "")
    return Plot(stem, "lines", x, y, f"{what} by {x}{at}{about}", _notes(group, rest, band), panels)


def _bars(group: pd.DataFrame, suffix: str, about: str) -> Plot:
    rest = [n for n in _told_apart(group) if n not in APART]
    panels = tuple(
        Panel(title, sorted(_best(rows, ["kernel", "finish"]), key=lambda row: row["median_us"]))
        for title, rows in _split(group, [])
    )
    what = "Emulated time of one launch" if _emulated(group) else "Time of one launch"
    at = f" at {size_of(records(group)[0])}" if group["size"].notna().all() else ""
    notes = _notes(group, rest, "Thin line: quartiles.")
    return Plot(f"time-by-kernel{suffix}", "bars", "kernel", "median_us", f"{what} by kernel{at}{about}", notes, panels)


def _emulated(group: pd.DataFrame) -> bool:
    return bool((group["device"] == "cpu").any())


def _told_apart(group: pd.DataFrame) -> list[str]:
    """Parameters with several values among the kernels that read them, constants of one kernel left out."""
    shared = [name for name in varying(group) if name in parameters(group)]
    return [n for n in shared if len({value_of(n, row) for row in records(group)} - {""}) > 1]


def _facets(group: pd.DataFrame) -> tuple[list[str], list[str]]:
    """The parameters that get panels, as long as those are few, and the rest, of which each point takes the fastest."""
    panels = max(1, group["dtype"].nunique())
    facets: list[str] = []
    rest: list[str] = []
    for name in _told_apart(group):
        if name in APART:
            continue
        values = len({value_of(name, row) for row in records(group)} - {""})
        if name != "block" and panels * values <= MOST_PANELS:
            panels, facets = panels * values, [*facets, name]
        else:
            rest.append(name)
    return facets, rest


def _split(group: pd.DataFrame, facets: list[str]) -> list[tuple[str, pd.DataFrame]]:
    """The rows of each panel. A kernel that does not read a facet is the same in all its panels, so it is in each."""
    parts = [("", group)]
    for name in ["dtype", *facets]:
        values = [v for v in dict.fromkeys(value_of(name, row) for row in records(group)) if v]
        if name != "dtype":
            values = sorted(values, key=_natural)
        if len(values) > 1:
            parts = [
                (f"{title}, {name} {value}".removeprefix(", "), chosen)
                for title, rows in parts
                for value in values
                if not (chosen := rows[[value_of(name, row) in (value, "") for row in records(rows)]]).empty
            ]
    return parts


def _best(rows: pd.DataFrame, point: list[str]) -> list[dict[str, Any]]:
    """One row a point: the fastest of those that differ in nothing that the figure shows."""
    point = list(dict.fromkeys(point))
    return records(rows.loc[rows.groupby(point, dropna=False, sort=False)["median_us"].idxmin()])


def _notes(group: pd.DataFrame, rest: list[str], band: str) -> str:
    fixed = [
        f"{name} {value_of(name, records(group)[0])}" for name in constant(group) if name not in ("kernel", "size")
    ]
    taken = f"Each point: the fastest {listed(rest)}." if rest else ""
    finishes = [str(finish) for finish in group["finish"].unique() if finish]
    finish = "host: the host adds partial sums, outside the time; device: the launch leaves the whole result."
    words = [
        f"{EMULATED[0].upper()}{EMULATED[1:]}." if _emulated(group) else "",
        band,
        taken,
        f"Same in all: {', '.join(fixed)}." if fixed else "",
        f"In brackets, the finish ({finish.rstrip('.')})." if len(finishes) > 1 else "",
        f"{count(len(group), 'case')}.",
    ]
    return " ".join(word for word in words if word)


def _natural(text: str) -> tuple[int, ...] | tuple[float, str]:
    numbers = re.findall(r"\d+", text)
    return (0.0, text) if not numbers else (1, *(int(number) for number in numbers))


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]+", "-", text).rstrip("-")
