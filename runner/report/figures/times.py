"""The figures of times and bandwidths: lines against a parameter, or one bar per case if there is a single size.

Cases of different devices or families never share a figure, and cases of different dtypes never share a panel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from runner.display.text import (
    PAIRS,
    absent,
    brief,
    costs,
    costs_legend,
    count,
    exact,
    listed,
    one_line,
    rough,
    sentences,
    size_of,
    slug,
    value_of,
)
from runner.kernel.metrics import Criterion
from runner.report.figures import chart
from runner.report.figures.chart import PALE, Chart, Look
from runner.report.figures.figure import Figure, Results, Row, View, group, positions, rows_axis, sorted_values, x_axis
from runner.report.tables import limits

MAX_BARS, MAX_PANELS = 24, 6
MAX_BAR_VALUES = 3  # a parameter with at most this many values is drawn as bars, otherwise as a line

APART = ("kernel", "size", "dtype", "seed", "device")
"""Parameters whose values are never combined in a point, and that have no figure of their own."""

TIMES = ("median_us", "q1_us", "q3_us", "gbps", "percent_peak", "percent_copy")
LIMIT_DASHES = {"peak": (6, 3), "copy": (1, 2)}

BETTER = {"lower": "less is better", "higher": "more is better"}
LABELS = {"gbps": "gbps (GB/s, more is better)", "median_us": "median_us (µs, less is better)"}


@dataclass(frozen=True)
class TimesPanel:
    """A pair of axes of a figure."""

    title: str
    rows: list[Row]  # one per point
    y: str = ""  # the column on the y axis; empty for the figure's


@dataclass(frozen=True)
class Times(Figure):
    """What lines and bars have in common."""

    panels: tuple[TimesPanel, ...]
    results: Results

    @cached_property
    def every(self) -> list[Row]:
        """The rows of all panels."""
        return [row for panel in self.panels for row in panel.rows]

    @cached_property
    def finishes(self) -> set[str]:
        """The finishes: where partial results are combined."""
        return {row["finish"] for row in self.every}

    def rows(self) -> list[Row]:
        """One row per point."""
        return [
            {
                "panel": panel.title,
                **self.results.identity(row),
                **{name: row[name] for name in (*TIMES, panel.y) if name},
                **({"speedup": ratio.times, "baseline": row["baseline"]} if ratio else {}),
            }
            for panel in self.panels
            for row in panel.rows
            for ratio in [self.results.ratios.get(row["row"])]
        ]

    def quartiles(self, row: Row, y: str) -> tuple[float, float]:
        """The quartiles in the unit of the y axis; the value twice if they are unknown."""
        chosen = self.results.run.criterion
        by = chosen if y == chosen.name else Criterion(y)
        if absent(row["q1_us"]) or absent(row["q3_us"]) or row["q1_us"] <= 0:
            return row[y], row[y]
        ends = [by.value(row, row[name]) for name in ("q1_us", "q3_us")]
        low, high = sorted(row[y] if end is None else end for end in ends)
        return low, high

    def name(self, row: Row) -> str:
        """The name of a line or bar: the kernel, with its finish if finishes differ."""
        words = [row["finish"]] if row["finish"] and len(self.finishes) > 1 else []
        words += ["ceiling"] if row["ceiling"] == "True" else []
        return one_line(str(row["kernel"]), 28) + (f" ({', '.join(words)})" if words else "")

    def _where(self, x: str) -> View:
        """The title, and the size, family, device and place that all points have in common."""
        names = [name for name in ("size", "family", "device", "place") if name != x]
        common = {name: {row[name] for row in self.every} for name in names}
        where = {name: min(v) for name, v in common.items() if len(v) == 1 and not absent(min(v))}
        return {"title": self.title, "where": where}


@dataclass(frozen=True)
class LineChart(Times):
    """One line per kernel, of column `y` against column `x`."""

    x: str
    y: str
    panels_by: str = ""

    @property
    def view(self) -> View:
        """The same axes for the page's chart."""
        return {"x": self.x, "y": self.panels[0].y or self.y, "panels": self.panels_by, **self._where(self.x)}

    def as_chart(self) -> Chart:
        """The panels, and a legend for all of them."""
        number, places = len(self.panels), positions(self.every, self.x)
        x = x_axis(places, self.x, 11 if number == 1 else 6)
        panels = []
        for panel in self.panels:
            y, rows = panel.y or self.y, panel.rows if panel.y else self.every
            bounds = limits(rows) if y == "gbps" else {}
            rules = [
                chart.Rule(gbps, Look(PALE, dash=(0, LIMIT_DASHES[name]), width=1.1), f"{name} {gbps:,.0f} GB/s")
                for name, gbps in bounds.items()
            ]
            marks = [*self._lines(panel, y, places), *rules]
            panels.append(chart.Panel(one_line(panel.title, 60), x, self._axis(y, rows, bounds), marks))
        return Chart(panels, min(2, number), 2.7 if number > 1 else 3.6, legend="ends")

    def _axis(self, y: str, rows: list[Row], bounds: dict[str, float]) -> chart.Axis:
        ends = [value for row in rows for value in (row[y], *self.quartiles(row, y))] + list(bounds.values())
        low, high = min(ends), max(ends)
        by = self.results.run.criterion
        own = f"{y} ({f'{by.unit}, ' if by.unit else ''}{BETTER[by.better]})" if y == by.name else ""
        label = LABELS.get(y, own or "per request (less is better)")
        if y == "median_us" and (self.x == "size" or high > 4 * low):
            return chart.Axis(label, low / 1.15, high * 1.15, log=True)
        return chart.Axis(label, 0, high * 1.06)

    def _lines(self, panel: TimesPanel, y: str, places: dict[str, float]) -> Iterator[chart.Mark]:
        ordered = sorted(panel.rows, key=lambda row: places[value_of(self.x, row)])
        for name, rows in group(ordered, self.name).items():
            x, look = [places[value_of(self.x, row)] for row in rows], self.results.look(rows[0])
            low, high = zip(*(self.quartiles(row, y) for row in rows), strict=True)
            yield chart.Band(x, low, high, look.colour)
            yield chart.Line(x, [row[y] for row in rows], look, name)


@dataclass(frozen=True)
class BarChart(Times):
    """One bar per case, the fastest on top, labelled by the kernel and the values of the `named` parameters."""

    named: tuple[str, ...]

    @property
    def view(self) -> View:
        """The same axes for the page's chart."""
        x = "dtype" if "dtype" in self.named else "kernel"
        return {"x": x, "y": "median_us", "panels": "", **self._where(x)}

    def as_chart(self) -> Chart:
        """The panels below one another, the numbers of each bar at the right."""
        most = max(len(panel.rows) for panel in self.panels)
        end = 1.02 * max(max(self.quartiles(row, "median_us")[1], row["median_us"]) for row in self.every)
        return Chart([self._panel(panel, end) for panel in self.panels], 1, 0.32 * most + 0.75)

    def _panel(self, panel: TimesPanel, end: float) -> chart.Panel:
        rows, places = panel.rows, range(len(panel.rows))
        low, high = zip(*(self.quartiles(row, "median_us") for row in rows), strict=True)
        colours = [self.results.look(row).colour for row in rows]
        marks: list[chart.Mark] = [
            chart.Bars(places, [row["median_us"] for row in rows], colours, height=0.62, alpha=0.85),
            chart.Whiskers(places, low, high, ["#000000"], across=True),
            *(chart.Note(1.01, place, self._numbers(row), pin="beside") for place, row in enumerate(rows)),
        ]
        x, y = chart.Axis(LABELS["median_us"], 0, end), rows_axis(map(self._bar_name, rows))
        return chart.Panel(one_line(panel.title, 60), x, y, marks)

    def _bar_name(self, row: Row) -> str:
        pairs = [(name, value_of(name, row)) for name in self.named]
        return ", ".join([self.name(row), *(v if name == "dtype" else f"{name} {v}" for name, v in pairs if v)])

    def _numbers(self, row: Row) -> str:
        ratio = self.results.ratios.get(row["row"])
        words = [
            f"{exact(row['median_us'])} µs",
            "" if absent(row["gbps"]) else f"{rough(row['gbps'])} GB/s",
            f"{ratio.times:.2f}x against {one_line(row['baseline'], 20)}" if ratio else "",
            costs(row),
        ]
        return ", ".join(filter(None, words))


def figures(results: Results) -> list[Times]:
    """Choose the figures of times of a run."""
    rows = results.run.measured.rows
    groups = group(rows, lambda row: (str(row["device"]), str(row["place"]), str(row["family"])))
    # The time of a single block that shuffles once is that of any launch; lane pictures show these cases.
    timed = {
        key: rows
        for key, rows in groups.items()
        if not all(row["shuffle"] and row["grid"] == "1" and row["received"] for row in rows)
    }
    chosen: list[Times] = []
    for key, rows in timed.items():
        suffix = f"-{slug('-'.join(filter(None, key)))}" if len(timed) > 1 else ""
        about = ", ".join(filter(None, key[1:])) if suffix else ""
        chosen += Choice(results, rows, suffix, f" ({about})" if about else "").figures()
    return chosen


@dataclass(frozen=True)
class Choice:
    """Chooses the figures of one family."""

    results: Results
    all: list[Row]
    suffix: str  # of stems
    about: str  # end of titles

    def figures(self) -> Iterator[Times]:
        """Lines against the size, or bars at a single size; and lines against each other parameter at the largest."""
        sizes = {row["size"] for row in self.all if not absent(row["size"])}
        last = [row for row in self.all if row["size"] == max(sizes)] if sizes else self.all
        by = self.results.run.criterion
        usual = "median_us" if any(absent(row["gbps"]) for row in self.all) else "gbps"
        best = usual if by.is_time or any(absent(row.get(by.name)) for row in self.all) else by.name
        if len(sizes) > 1:
            sized = [row for row in self.all if not absent(row["size"]) and row["size"] > 0]
            for y in dict.fromkeys((best, usual, "median_us")):
                yield self._lines(sized, "size", y)
            shown = self._facets(self.all)
        else:
            named = self._named(last)
            if named or len(_values(last, "kernel")) > 1:
                yield self._bars(last, named)
            shown = [name for name in named if len(_values(last, name)) <= 2]
        for x in self._free(last):
            if x not in shown:
                wavefronts = self._wavefronts(last, x)
                yield self._lines(last, x, "median_us" if wavefronts else best, wavefronts)

    def _free(self, rows: list[Row], *but: str) -> list[str]:
        """The parameters with several values, except those in `APART` and `but`."""
        names = (name for name in self.results.run.parameters if name not in (*APART, *but))
        return [name for name in names if len(_values(rows, name)) > 1]

    def _named(self, rows: list[Row]) -> tuple[str, ...]:
        """The parameters that label one bar per case; empty if that would be too many bars."""
        names, dtypes = self._free(rows), len(_values(rows, "dtype")) > 1
        alike = dtypes == (len(_values(rows, "kernel")) == 1) and len(_values(rows, "seed")) < 2
        few = len(rows) <= MAX_BARS and all(len(_values(rows, name)) <= MAX_BAR_VALUES for name in names)
        return (*names, *(["dtype"] if dtypes else [])) if alike and few else ()

    def _wavefronts(self, rows: list[Row], x: str) -> list[str]:
        """The wavefront columns that change with a kernel's own parameter, if nothing else varies.

        Otherwise a point is the fastest of several cases, and its wavefronts do not depend on `x` alone.
        """
        if x not in self.results.run.own_parameters or self._free(rows, x) or len(_values(rows, "dtype")) > 1:
            return []
        return [name for name in PAIRS["wavefronts ld/st"] if len(_values(rows, name)) > 1]

    def _facets(self, rows: list[Row]) -> list[str]:
        """The parameters that are split into panels, up to `MAX_PANELS` panels."""
        panels, facets = max(1, len(_values(rows, "dtype"))), []
        for name in self._free(rows, "block"):
            if (many := panels * len(_values(rows, name))) <= MAX_PANELS:
                panels = many
                facets.append(name)
        return facets

    def _lines(self, rows: list[Row], x: str, y: str, wavefronts: list[str] | None = None) -> LineChart:
        facets = self._facets(rows) if x == "size" else []
        combined = self._free(rows, x, *facets)
        rows = [row for row in rows if value_of(x, row)]
        parts = _split(rows, facets)
        panels = [TimesPanel(title, _fastest(part, ("kernel", "finish", "size", x))) for title, part in parts]
        unread = [name for name in facets if any(not value_of(name, row) for row in rows)]
        caption = sentences(
            "Wavefronts: passes through shared memory that one request of a warp takes." if wavefronts else "",
            "Band: quartiles.",
            f"Kernels without {listed(unread)} are the same in all panels." if unread else "",
            _caption(rows, combined),
        )
        if wavefronts:
            panels = [TimesPanel("time", panels[0].rows)]
            for name in wavefronts:
                known = [row for row in panels[0].rows if not absent(row[name])]
                panels.append(TimesPanel(f"wavefronts of a shared {name.split('_')[1]}", known, name))
        split = [name for name in ("dtype", *facets) if len(_values(rows, name)) > 1] if len(panels) > 1 else []
        names = {"gbps": ("bandwidth", "Bandwidth"), "median_us": ("time", "Time of one launch")}
        short, long = names.get(y, (slug(y), y))
        title = f"{long} by {x}{'' if x == 'size' else _at_size(rows)}{self.about}"
        stem = f"{short}-by-{slug(x)}{self.suffix}"
        return LineChart("times", stem, title, caption, tuple(panels), self.results, x, y, split[0] if split else "")

    def _bars(self, rows: list[Row], named: tuple[str, ...]) -> BarChart:
        parts = [("", rows)] if "dtype" in named else _split(rows, [])
        chosen = [(title, _fastest(part, ("kernel", "finish", *named))) for title, part in parts]
        panels = tuple(TimesPanel(title, sorted(part, key=_order)) for title, part in chosen)
        drawn = [row for panel in panels for row in panel.rows]
        legend, by = costs_legend(drawn), "dtype" if "dtype" in named else "kernel"
        has_ratio = any(row["row"] in self.results.ratios for row in drawn)
        caption = sentences(
            "Thin line: quartiles.",
            "against: the baseline's case with the same parameters." if has_ratio else "",
            legend[:1].upper() + legend[1:],
            _caption(rows, self._free(rows, *named)),
        )
        title = f"Time of one launch by {by}{_at_size(rows)}{self.about}"
        return BarChart("times", f"time-by-{by}{self.suffix}", title, caption, panels, self.results, named)


def _caption(rows: list[Row], combined: list[str]) -> str:
    finishes = "In brackets, the finish. host: the host sums the partial results, which is not timed."
    return sentences(
        f"Each point: the best {listed(combined)}." if combined else "",
        finishes if len(_values(rows, "finish")) > 1 else "",
        f"{count(len(rows), 'case')}.",
    )


def _at_size(rows: list[Row]) -> str:
    return f" at {size_of(rows[0])}" if rows and not any(absent(row["size"]) for row in rows) else ""


def _values(rows: list[Row], name: str) -> list[str]:
    """The values of a parameter, in the order of the rows, without empty ones of kernels that do not read it."""
    return [value for value in dict.fromkeys(value_of(name, row) for row in rows) if value]


def _split(rows: list[Row], names: list[str]) -> list[tuple[str, list[Row]]]:
    """Split rows into panels by dtype and the given parameters. Returns title and rows of each panel.

    A kernel that does not read a parameter appears in all of its panels.
    """
    parts = [("", rows)]
    for name in ["dtype", *names]:
        values = _values(rows, name) if name == "dtype" else sorted_values(rows, name)
        if len(values) > 1:
            parts = [
                (f"{title}, {name} {brief(name, value)}".removeprefix(", "), chosen)
                for title, own in parts
                for value in values
                if (chosen := [row for row in own if value_of(name, row) in (value, "")])
            ]
    return parts


def _fastest(rows: list[Row], names: tuple[str, ...]) -> list[Row]:
    slowest_first = sorted(rows, key=_order, reverse=True)
    best = {tuple(value_of(name, row) for name in names): row["row"] for row in slowest_first}
    chosen = set(best.values())
    return [row for row in rows if row["row"] in chosen]


def _order(row: Row) -> tuple[bool, float]:
    """The sort key of a case: the run's criterion; cases without it come last."""
    unranked = absent(row["cost"])
    return unranked, float(row["median_us"] if unranked else row["cost"])
