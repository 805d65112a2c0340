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
    beside,
    brief,
    count,
    exact,
    explained,
    listed,
    one_line,
    rough,
    size_of,
    slug,
    value_of,
)
from runner.kernel.metrics import Criterion
from runner.report.figures import chart
from runner.report.figures.chart import PALE, Chart
from runner.report.figures.figure import CEILING, ChartFigure, Results, Row, Stroke, View, positions, x_axis

MOST_BARS, MOST_PANELS = 24, 6
FEW = 3  # a parameter with at most this many values is drawn as bars, otherwise as a line

APART = ("kernel", "size", "dtype", "seed", "device")
"""Parameters whose values are never combined in a point, and that have no figure of their own."""

TIMES = ("median_us", "q1_us", "q3_us", "gbps", "percent_peak", "percent_copy")
LIMITS = {"percent_peak": ("peak", (6, 3)), "percent_copy": ("copy", (1, 2))}
"""The name of each limit of the bandwidth, and its dashes."""

BETTER = {"lower": "less is better", "higher": "more is better"}
LABELS = {"gbps": "gbps (GB/s, more is better)", "median_us": "median_us (µs, less is better)"}


@dataclass(frozen=True)
class TimesPanel:
    """A pair of axes of a figure."""

    title: str
    rows: list[Row]  # one per point
    y: str = ""  # the column on the y axis; empty for the figure's


@dataclass(frozen=True)
class Times(ChartFigure):
    """What lines and bars have in common."""

    section = "times"
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
            for row, ratio in ((row, self.results.ratios.get(row["row"])) for row in panel.rows)
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
        words = [row["finish"]] if len(self.finishes) > 1 and row["finish"] else []
        words += ["ceiling"] if row["ceiling"] == "True" else []
        return one_line(str(row["kernel"]), 28) + (f" ({', '.join(words)})" if words else "")

    def _where(self, x: str) -> View:
        """The title, and the size, family, device and place that all points have in common."""
        names = [name for name in ("size", "family", "device", "place") if name != x]
        common = {name: {row[name] for row in self.every} for name in names}
        where = {name: min(of) for name, of in common.items() if len(of) == 1 and not absent(min(of))}
        return {"title": self.title, "where": where}

    def stroke(self, row: Row) -> Stroke:
        """The stroke of a case's kernel."""
        return CEILING if row["ceiling"] == "True" else self.results.looks[row["kernel"]]


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
        panels = []
        for panel in self.panels:
            y, rows = panel.y or self.y, panel.rows if panel.y else self.every
            bounds = limits(rows) if y == "gbps" else {}
            rules = [
                chart.Rule(
                    limit, chart.Look(PALE, dash=(0, LIMITS[of][1]), width=1.1), f"{LIMITS[of][0]} {limit:,.0f} GB/s"
                )
                for of, limit in bounds.items()
            ]
            x = x_axis(places, self.x, 11 if number == 1 else 6)
            marks = [*self._lines(panel, y, places), *rules]
            panels.append(chart.Panel(one_line(panel.title, 60), x, self._axis(y, rows, bounds), marks))
        return Chart(panels, min(2, number), 2.7 if number > 1 else 3.6, legend="ends")

    def _axis(self, y: str, rows: list[Row], bounds: dict[str, float]) -> chart.Axis:
        found = [value for row in rows for value in (row[y], *self.quartiles(row, y))] + list(bounds.values())
        low, high = min(found), max(found)
        by = self.results.run.criterion
        own = f"{y} ({f'{by.unit}, ' if by.unit else ''}{BETTER[by.better]})" if y == by.name else ""
        label = LABELS.get(y, own or "per request (less is better)")
        if y == "median_us" and (self.x == "size" or high > 4 * low):
            return chart.Axis(label, low / 1.15, high * 1.15, log=True)
        return chart.Axis(label, 0, high * 1.06)

    def _lines(self, panel: TimesPanel, y: str, places: dict[str, float]) -> Iterator[chart.Mark]:
        lines: dict[str, list[Row]] = {}
        for row in sorted(panel.rows, key=lambda row: places[value_of(self.x, row)]):
            lines.setdefault(self.name(row), []).append(row)
        for name, own in lines.items():
            x, look = [places[value_of(self.x, row)] for row in own], self.stroke(own[0]).look()
            low, high = zip(*(self.quartiles(row, y) for row in own), strict=True)
            yield chart.Band(x, low, high, look.colour)
            yield chart.Line(x, [row[y] for row in own], look, name)


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
        rows, at = panel.rows, range(len(panel.rows))
        low, high = zip(*(self.quartiles(row, "median_us") for row in rows), strict=True)
        colours = [self.stroke(row).colour for row in rows]
        marks: list[chart.Mark] = [
            chart.Bars(at, [row["median_us"] for row in rows], colours, height=0.62, alpha=0.85),
            chart.Whiskers(at, low, high, ["#000000"], across=True),
            *(chart.Note(1.01, place, self._numbers(row), pin="beside") for place, row in enumerate(rows)),
        ]
        names = [(place, self._bar_name(row)) for place, row in enumerate(rows)]
        y = chart.Axis("", len(rows) - 0.4, -0.6, ticks=names, bare=True)
        return chart.Panel(one_line(panel.title, 60), chart.Axis(LABELS["median_us"], 0, end), y, marks)

    def _bar_name(self, row: Row) -> str:
        pairs = [(name, value_of(name, row)) for name in self.named]
        return ", ".join([self.name(row), *(v if name == "dtype" else f"{name} {v}" for name, v in pairs if v)])

    def _numbers(self, row: Row) -> str:
        ratio = self.results.ratios.get(row["row"])
        words = [
            f"{exact(row['median_us'])} µs",
            "" if absent(row["gbps"]) else f"{rough(row['gbps'])} GB/s",
            f"{ratio.times:.2f}x against {one_line(row['baseline'], 20)}" if ratio else "",
            beside(row),
        ]
        return ", ".join(filter(None, words))


def figures(results: Results) -> list[Times]:
    """Choose the figures of times of a run."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in results.run.measured.rows:
        groups.setdefault((str(row["device"]), str(row["place"]), str(row["family"])), []).append(row)
    # The time of a single block that shuffles once is that of any launch; lane pictures show these cases.
    timed = {
        key: rows
        for key, rows in groups.items()
        if not all(row["shuffle"] and row["grid"] == "1" and row["received"] for row in rows)
    }
    found: list[Times] = []
    for key, rows in timed.items():
        suffix = f"-{slug('-'.join(filter(None, key)))}" if len(timed) > 1 else ""
        about = ", ".join(filter(None, key[1:])) if suffix else ""
        found += Choice(results, rows, suffix, f" ({about})" if about else "").figures()
    return found


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
        return [name for name in self.results.names if name not in (*APART, *but) and len(_values(rows, name)) > 1]

    def _named(self, rows: list[Row]) -> tuple[str, ...]:
        """The parameters that label one bar per case; empty if that would be too many bars."""
        names, dtypes = self._free(rows), len(_values(rows, "dtype")) > 1
        alike = dtypes == (len(_values(rows, "kernel")) == 1) and len(_values(rows, "seed")) < 2
        few = len(rows) <= MOST_BARS and all(len(_values(rows, name)) <= FEW for name in names)
        return (*names, *(["dtype"] if dtypes else [])) if alike and few else ()

    def _wavefronts(self, rows: list[Row], x: str) -> list[str]:
        """The wavefront columns that change with a kernel's own parameter, if nothing else varies.

        Otherwise a point is the fastest of several cases, and its wavefronts do not depend on `x` alone.
        """
        own = x in self.results.run.own_parameters
        if not own or self._free(rows, x) or len(_values(rows, "dtype")) > 1:
            return []
        return [name for name in PAIRS["wavefronts ld/st"] if len(_values(rows, name)) > 1]

    def _facets(self, rows: list[Row]) -> list[str]:
        """The parameters that are split into panels, up to `MOST_PANELS` panels."""
        panels, own = max(1, len(_values(rows, "dtype"))), []
        for name in self._free(rows, "block"):
            if (many := panels * len(_values(rows, name))) <= MOST_PANELS:
                panels = many
                own.append(name)
        return own

    def _lines(self, rows: list[Row], x: str, y: str, wavefronts: list[str] | None = None) -> LineChart:
        own = self._facets(rows) if x == "size" else []
        rest = self._free(rows, x, *own)
        rows = [row for row in rows if value_of(x, row)]
        panels = [
            TimesPanel(title, _fastest(part, ("kernel", "finish", "size", x))) for title, part in _split(rows, own)
        ]
        unread = [name for name in own if any(not value_of(name, row) for row in rows)]
        notes = [
            "Wavefronts: passes through shared memory that one request of a warp takes." if wavefronts else "",
            "Band: quartiles.",
            f"Kernels without {listed(unread)} are the same in all panels." if unread else "",
        ]
        if wavefronts:
            panels = [TimesPanel("time", panels[0].rows)]
            for name in wavefronts:
                known = [row for row in panels[0].rows if not absent(row[name])]
                panels.append(TimesPanel(f"wavefronts of a shared {name.split('_')[1]}", known, name))
        by = next((name for name in ("dtype", *own) if len(_values(rows, name)) > 1), "") if len(panels) > 1 else ""
        names = {"gbps": ("bandwidth", "Bandwidth"), "median_us": ("time", "Time of one launch")}
        short, long = names.get(y, (slug(y), y))
        title = f"{long} by {x}{'' if x == 'size' else _at(rows)}{self.about}"
        stem, caption = f"{short}-by-{slug(x)}{self.suffix}", _caption(rows, rest, notes)
        return LineChart(stem, title, caption, tuple(panels), self.results, x, y, by)

    def _bars(self, rows: list[Row], named: tuple[str, ...]) -> BarChart:
        parts = [("", rows)] if "dtype" in named else _split(rows, [])
        chosen = [(title, _fastest(part, ("kernel", "finish", *named))) for title, part in parts]
        panels = [TimesPanel(title, sorted(part, key=_order)) for title, part in chosen]
        words = explained([row for panel in panels for row in panel.rows])
        by = "dtype" if "dtype" in named else "kernel"
        title = f"Time of one launch by {by}{_at(rows)}{self.about}"
        ratio = any(row["row"] in self.results.ratios for panel in panels for row in panel.rows)
        notes = [
            "Thin line: quartiles.",
            "against: the baseline's case with the same parameters." if ratio else "",
            words[:1].upper() + words[1:],
        ]
        caption = _caption(rows, self._free(rows, *named), notes)
        return BarChart(f"time-by-{by}{self.suffix}", title, caption, tuple(panels), self.results, named)


def _caption(rows: list[Row], rest: list[str], notes: list[str]) -> str:
    finishes = "In brackets, the finish. host: the host sums the partial results, which is not timed."
    words = [
        *notes,
        f"Each point: the best {listed(rest)}." if rest else "",
        finishes if len(_values(rows, "finish")) > 1 else "",
        f"{count(len(rows), 'case')}.",
    ]
    return " ".join(filter(None, words))


def _at(rows: list[Row]) -> str:
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
        places, found = positions(rows, name), _values(rows, name)
        if name != "dtype":
            found.sort(key=lambda value: places[value])
        if len(found) > 1:
            parts = [
                (f"{title}, {name} {brief(name, value)}".removeprefix(", "), chosen)
                for title, own in parts
                for value in found
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


def limits(rows: list[Row]) -> dict[str, float]:
    """The bandwidth in GB/s that is 100 % of each column in `LIMITS`, unless rows disagree by more than rounding."""
    found = {}
    for column in LIMITS:
        known = sorted(100 * row["gbps"] / row[column] for row in rows if not absent(row[column]) and row[column] > 0)
        if known and known[-1] <= 1.03 * known[0]:
            found[column] = float(known[len(known) // 2])
    return found
