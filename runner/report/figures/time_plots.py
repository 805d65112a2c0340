"""Which figures of times make a point: decided by what varies. Pure: no drawing here.

Cases of different devices or families never share a figure, of different dtypes never a panel.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pandas as pd

from runner.report.figures.facets import APART, best, facets, split, told_apart
from runner.report.figures.plots import Panel, Plot
from runner.report.table import constant, parameters, records, timed
from runner.report.text import EMULATED, PAIRS, absent, count, explained, listed, size_of, slug, value_of

MOST_BARS = 24
MOST_LINES = 10
FEW = 3
"""Values of a parameter up to which each gets bars of its own; more of them are a line's business."""


def time_plots(frame: pd.DataFrame, *, others: bool) -> list[Plot]:
    """The figures of times of a run, most telling first; `others` says whether the run has figures of another kind."""
    right = timed(frame)
    right.attrs = frame.attrs
    single = (right["shuffle"] != "") & (right["grid"] == "1")
    groups = list(right.groupby(["device", "family"], dropna=False, sort=False))
    # The launch of a single block that shuffles once takes as long as a launch does: its time says nothing.
    telling = [group for group in groups if not single[group[1].index].all()]
    return _of_time(telling if telling or others else groups, frame.attrs)


def _of_time(groups: list[tuple[Any, pd.DataFrame]], attrs: dict[Any, Any]) -> list[Plot]:
    plots: list[Plot] = []
    for (device, family), group in groups:
        group.attrs = attrs
        suffix = f"-{slug(f'{device}-{family}')}" if len(groups) > 1 else ""
        about = f" ({family})" if family and len(groups) > 1 else ""
        plots += _of_group(group, suffix, about)
    return plots


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
    named = _named(last)
    if (len(last["kernel"].unique()) > 1 or named) and not several:
        plots.append(_bars(last, named, suffix, about))
    faceted = facets(group)[0] if several else []
    by = [n for n in told_apart(last) if n not in (*APART, *faceted) and (n not in named or _values(last, n) > 2)]
    for x in by:
        wavefronts = _wavefronts(last, x)
        plot = _lines(last, x, "gbps" if bandwidth and not wavefronts else "median_us", suffix, about)
        plots.append(_with_wavefronts(plot, wavefronts))
    return plots


def _values(group: pd.DataFrame, name: str) -> int:
    return len({value_of(name, row) for row in records(group)} - {""})


def _named(group: pd.DataFrame) -> tuple[str, ...]:
    """The parameters by which every case can have a bar of its own; none if that would be too many, or a ladder."""
    names = [n for n in told_apart(group) if n not in APART]
    one_kernel, dtypes = _values(group, "kernel") == 1, _values(group, "dtype") > 1
    if len(group) > MOST_BARS or _values(group, "seed") > 1 or dtypes != one_kernel:
        return ()
    return (*names, *(["dtype"] if dtypes else [])) if all(_values(group, n) <= FEW for n in names) else ()


def _wavefronts(group: pd.DataFrame, x: str) -> list[str]:
    """The wavefronts, of loads and stores, that change with a parameter of the kernels' own and with nothing else.

    Where another parameter varies, a point is the fastest of several cases, and its wavefronts say nothing.
    """
    if x not in group.attrs.get("further", []) or [n for n in told_apart(group) if n not in (*APART, x)]:
        return []
    return [name for name in PAIRS["wavefronts ld/st"] if len(group[name].dropna().unique()) > 1]


def _with_wavefronts(plot: Plot, names: list[str]) -> Plot:
    """The figure with a panel beside the time for the wavefronts, which are what the time should follow."""
    rows = plot.panels[0].rows
    if not names or len(plot.panels) > 1:
        return plot
    further = [
        Panel(f"wavefronts of a shared {name.split('_')[1]}", known, name)
        for name in names
        if (known := [row for row in rows if not absent(row[name])])
    ]
    note = f"Wavefronts: how often shared memory is gone to for one request of a warp. {plot.notes}"
    return replace(plot, panels=(Panel("time", rows), *further), notes=note)


def _lines(group: pd.DataFrame, x: str, y: str, suffix: str, about: str) -> Plot:
    apart, rest = facets(group) if x == "size" else ([], [n for n in told_apart(group) if n not in (*APART, x)])
    attrs, group = group.attrs, group[[value_of(x, row) != "" for row in records(group)]]
    group.attrs = attrs
    panels = tuple(
        Panel(title, best(rows, ["kernel", "finish", "size", "rows", "cols", x])) for title, rows in split(group, apart)
    )
    what = "Bandwidth" if y == "gbps" else "Emulated time of one launch" if _emulated(group) else "Time of one launch"
    at = f" at {size_of(records(group)[0])}" if x != "size" and group["size"].notna().all() else ""
    stem = f"{'bandwidth' if y == 'gbps' else 'time'}-by-{slug(x)}{suffix}"
    told = tuple(parameters(group))
    unread = [name for name in apart if any(value_of(name, row) == "" for row in records(group))]
    band = "Band: quartiles." + (f" Kernels without {listed(unread)} are the same in all panels." if unread else "")
    pale = _slower(panels)
    band += f" Thin and grey: all but the {MOST_LINES} fastest." if pale else ""
    notes = _notes(group, rest, band)
    return Plot(stem, "lines", x, y, f"{what} by {x}{at}{about}", notes, panels, told, pale=pale)


def _slower(panels: tuple[Panel, ...]) -> tuple[str, ...]:
    """The kernels beyond the fastest of the largest size, where they are too many to tell apart."""
    rows = [row for panel in panels for row in panel.rows]
    largest = max((row["size"] for row in rows if not absent(row["size"])), default=None)
    fastest: dict[str, float] = {}
    for row in rows:
        # A kernel that has no case at the largest size comes last.
        time = row["median_us"] if largest is None or (not absent(row["size"]) and row["size"] == largest) else math.inf
        fastest[row["kernel"]] = min(time, fastest.get(row["kernel"], math.inf))
    return tuple(sorted(fastest, key=lambda kernel: fastest[kernel])[MOST_LINES:])


def _bars(group: pd.DataFrame, named: tuple[str, ...], suffix: str, about: str) -> Plot:
    rest = [n for n in told_apart(group) if n not in (*APART, *named)]
    parts = [("", group)] if "dtype" in named else split(group, [])
    panels = tuple(
        Panel(title, sorted(best(rows, ["kernel", "finish", *named]), key=lambda row: row["median_us"]))
        for title, rows in parts
    )
    what = "Emulated time of one launch" if _emulated(group) else "Time of one launch"
    at = f" at {size_of(records(group)[0])}" if group["size"].notna().all() else ""
    beside = explained([row for panel in panels for row in panel.rows])
    notes = (
        " ".join(["Thin line: quartiles.", f"{beside[:1].upper()}{beside[1:]}"]) if beside else "Thin line: quartiles."
    )
    notes = _notes(group, rest, notes)
    told = tuple(parameters(group))
    by = "dtype" if "dtype" in named else "kernel"
    title = f"{what} by {by}{at}{about}"
    return Plot(f"time-by-{by}{suffix}", "bars", "kernel", "median_us", title, notes, panels, told, named)


def _emulated(group: pd.DataFrame) -> bool:
    return bool((group["device"] == "cpu").any())


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
