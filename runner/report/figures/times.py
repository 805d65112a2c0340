"""Which times and bandwidths make a figure: lines against a parameter, or a bar for each case where there is one size.

Cases of different devices or families never share a figure, and cases of different dtypes never share a panel.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from runner.report.figures.axes import positions
from runner.report.figures.figure import Row, Run
from runner.report.figures.time_charts import Bars, Lines, Panel, Times
from runner.report.table import records, timed
from runner.report.text import PAIRS, absent, count, explained, listed, one_line, size_of, slug, value_of

MOST_BARS, MOST_LINES, MOST_PANELS = 24, 10, 6
FEW = 3
"""Values of a parameter up to which each has bars of its own. More of them are drawn as a line."""

APART = ("kernel", "size", "dtype", "seed", "device")
"""Parameters that no point combines, and that are no axis of a figure of their own."""

FINISHES = (
    "In brackets, the finish. host: the host adds partial sums, which is not timed; device: the launch leaves the "
    "whole result."
)


def figures(run: Run) -> list[Times]:
    """The figures of times of a run, most telling first."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in records(timed(run.measured)):
        groups.setdefault((str(row["device"]), str(row["family"])), []).append(row)
    # A single block that shuffles once takes as long as any launch. Its picture is that of the lanes.
    groups = {
        key: rows
        for key, rows in groups.items()
        if not all(row["shuffle"] and row["grid"] == "1" and row["received"] for row in rows)
    }
    found: list[Times] = []
    for (device, family), rows in groups.items():
        several = len(groups) > 1
        suffix, about = f"-{slug(f'{device}-{family}')}" * several, f" ({family})" if family and several else ""
        found += Choice(run, rows, suffix, about).figures()
    return found


@dataclass(frozen=True)
class Choice:
    """Chooses the figures of one family; their stems end with the suffix, their titles with `about`."""

    run: Run
    all: list[Row]
    suffix: str
    about: str

    def figures(self) -> Iterator[Times]:
        """Lines against the size, or bars at one size, and lines against what else varies at the largest size."""
        sizes = {row["size"] for row in self.all if not absent(row["size"])}
        last = [row for row in self.all if row["size"] == max(sizes)] if sizes else self.all
        free = self._free(last)
        best = "median_us" if any(absent(row["gbps"]) for row in self.all) else "gbps"
        shown: list[str] = []  # parameters that a figure has already
        if len(sizes) > 1:
            sized = [row for row in self.all if not absent(row["size"]) and row["size"] > 0]
            for y in dict.fromkeys((best, "median_us")):
                yield self._lines(sized, "size", y)
            shown = self._facets(self.all)
        else:
            named = self._named(last)
            if named or len(_values(last, "kernel")) > 1:
                yield self._bars(last, named)
            shown = [name for name in named if len(_values(last, name)) <= 2]
        for x in free:
            if x not in shown:
                wavefronts = self._wavefronts(last, x)
                yield self._lines(last, x, "median_us" if wavefronts else best, wavefronts)

    def _free(self, rows: list[Row], *but: str) -> list[str]:
        """The parameters with several values that may be an axis, panels, or combined in a point."""
        return [name for name in self.run.names if name not in (*APART, *but) and len(_values(rows, name)) > 1]

    def _named(self, rows: list[Row]) -> tuple[str, ...]:
        """The parameters by which every case can have a bar of its own; none if that would be too many bars."""
        names, dtypes = self._free(rows), len(_values(rows, "dtype")) > 1
        alike = dtypes == (len(_values(rows, "kernel")) == 1) and len(_values(rows, "seed")) < 2
        few = len(rows) <= MOST_BARS and all(len(_values(rows, name)) <= FEW for name in names)
        return (*names, *(["dtype"] if dtypes else [])) if alike and few else ()

    def _wavefronts(self, rows: list[Row], x: str) -> list[str]:
        """The wavefronts that change with a kernel's own parameter, where nothing else varies.

        Where something else varies, a point is the fastest of several cases, and its wavefronts say nothing.
        """
        own = x in self.run.frame.attrs.get("further", [])
        if not own or self._free(rows, x) or len(_values(rows, "dtype")) > 1:
            return []
        return [name for name in PAIRS["wavefronts ld/st"] if len(_values(rows, name)) > 1]

    def _facets(self, rows: list[Row]) -> list[str]:
        """The parameters that get panels, as long as these are few."""
        panels, own = max(1, len(_values(rows, "dtype"))), []
        for name in self._free(rows, "block"):
            if (many := panels * len(_values(rows, name))) <= MOST_PANELS:
                panels = many
                own.append(name)
        return own

    def _lines(self, rows: list[Row], x: str, y: str, wavefronts: list[str] | None = None) -> Lines:
        own = self._facets(rows) if x == "size" else []
        rest = self._free(rows, x, *own)
        rows = [row for row in rows if value_of(x, row)]
        panels = [Panel(title, _fastest(part, ("kernel", "finish", "size", x))) for title, part in _split(rows, own)]
        unread = [name for name in own if any(not value_of(name, row) for row in rows)]
        pale = _slower([row for panel in panels for row in panel.rows])
        slower = listed([one_line(kernel, 40) for kernel in pale])
        notes = [
            "Wavefronts: passes through shared memory that one request of a warp takes." if wavefronts else "",
            "Band: quartiles.",
            f"Kernels without {listed(unread)} are the same in all panels." if unread else "",
            f"Thin and grey: all but the {MOST_LINES} fastest: {slower}." if pale else "",
        ]
        if wavefronts:
            (first,) = panels
            panels = [Panel("time", first.rows)]
            for name in wavefronts:
                known = [row for row in first.rows if not absent(row[name])]
                panels.append(Panel(f"wavefronts of a shared {name.split('_')[1]}", known, name))
        what = "Bandwidth" if y == "gbps" else "Time of one launch"
        return Lines(
            stem=f"{'bandwidth' if y == 'gbps' else 'time'}-by-{slug(x)}{self.suffix}",
            title=f"{what} by {x}{'' if x == 'size' else _at(rows)}{self.about}",
            caption=_caption(rows, rest, notes),
            panels=tuple(panels),
            run=self.run,
            x=x,
            y=y,
            pale=pale,
        )

    def _bars(self, rows: list[Row], named: tuple[str, ...]) -> Bars:
        parts = [("", rows)] if "dtype" in named else _split(rows, [])
        chosen = [(title, _fastest(part, ("kernel", "finish", *named))) for title, part in parts]
        panels = [Panel(title, sorted(part, key=lambda row: float(row["median_us"]))) for title, part in chosen]
        words = explained([row for panel in panels for row in panel.rows])
        by = "dtype" if "dtype" in named else "kernel"
        return Bars(
            stem=f"time-by-{by}{self.suffix}",
            title=f"Time of one launch by {by}{_at(rows)}{self.about}",
            caption=_caption(rows, self._free(rows, *named), ["Thin line: quartiles.", words[:1].upper() + words[1:]]),
            panels=tuple(panels),
            run=self.run,
            named=named,
        )


def _caption(rows: list[Row], rest: list[str], notes: list[str]) -> str:
    words = [
        *notes,
        f"Each point: the fastest {listed(rest)}." if rest else "",
        FINISHES if len(_values(rows, "finish")) > 1 else "",
        f"{count(len(rows), 'case')}.",
    ]
    return " ".join(word for word in words if word)


def _at(rows: list[Row]) -> str:
    return f" at {size_of(rows[0])}" if rows and not any(absent(row["size"]) for row in rows) else ""


def _slower(rows: list[Row]) -> tuple[str, ...]:
    """The kernels beyond the fastest at the largest size. A kernel without a case of that size comes last."""
    largest = max((row["size"] for row in rows if not absent(row["size"])), default=None)
    best: dict[str, float] = {}
    for row in rows:
        there = largest is None or (not absent(row["size"]) and row["size"] == largest)
        best[row["kernel"]] = min(row["median_us"] if there else math.inf, best.get(row["kernel"], math.inf))
    return tuple(sorted(best, key=lambda kernel: best[kernel])[MOST_LINES:])


def _values(rows: list[Row], name: str) -> list[str]:
    """The values of a parameter, in the order of the rows. A kernel that does not read it adds none."""
    return [value for value in dict.fromkeys(value_of(name, row) for row in rows) if value]


def _split(rows: list[Row], names: list[str]) -> list[tuple[str, list[Row]]]:
    """The title and the rows of each panel: one for each dtype and each value of the given parameters.

    A kernel that does not read a parameter is the same in all its panels, so it is in each of them.
    """
    parts = [("", rows)]
    for name in ["dtype", *names]:
        places = positions(rows, name)
        found = _values(rows, name) if name == "dtype" else sorted(_values(rows, name), key=lambda v: places[v])
        if len(found) > 1:
            parts = [
                (f"{title}, {name} {value}".removeprefix(", "), chosen)
                for title, own in parts
                for value in found
                if (chosen := [row for row in own if value_of(name, row) in (value, "")])
            ]
    return parts


def _fastest(rows: list[Row], names: tuple[str, ...]) -> list[Row]:
    """The fastest row of each combination of values."""
    found: dict[tuple[str, ...], Row] = {}
    for row in rows:
        key = tuple(value_of(name, row) for name in names)
        if key not in found or row["median_us"] < found[key]["median_us"]:
            found[key] = row
    return list(found.values())
