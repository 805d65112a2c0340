"""What a figure of the report is, and what figures have in common.

Each kernel has the same colour and marker in all figures. The markers distinguish kernels without colour.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeVar
from urllib.parse import quote

from runner.display.text import absent, brief, one_line, power, value_of
from runner.record.ranking import Ratio
from runner.record.run import Run
from runner.report.figures.chart import COLOURS, DASHES, MARKERS, PALE, Axis, Chart, Look

Row = dict[str, Any]
View = dict[str, Any]
"""The initial state of the page's chart: its title, the columns on its axes, and the values common to its cases."""

Section = Literal["search", "times", "shape", "baseline", "lanes", "why", "energy", "raw", "gpus"]
Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")


@dataclass(frozen=True)
class Results:
    """The input of figures: a run, and the speed-ups of its cases by row number."""

    run: Run
    ratios: Mapping[int, Ratio]

    @cached_property
    def looks(self) -> dict[str, Look]:
        """How each kernel is drawn in all figures."""
        return looks(self.run.kernels)

    def look(self, row: Row) -> Look:
        """How a case is drawn: like its kernel, unless it is a ceiling of the others."""
        return Look(PALE, "", "-.") if row["ceiling"] == "True" else self.looks[row["kernel"]]

    def identity(self, row: Row) -> Row:
        """The columns that identify a case, for a figure's CSV."""
        return {name: row.get(name) for name in ("case", *self.run.parameters, "rows", "cols", "finish")}


@dataclass(frozen=True)
class Figure:
    """A figure of a section of the page. `draw` draws it; creating one does not.

    A figure sees a run's rows and records only: it opens no device and reads no time of day.
    """

    section: Section
    stem: str
    title: str
    caption: str
    table: Sequence[Row] = field(default=(), kw_only=True, repr=False)
    chart: Chart = field(default=Chart(()), kw_only=True, repr=False)
    files: Mapping[str, bytes] = field(default_factory=dict, kw_only=True, repr=False)
    """The content of each file by its extension, once drawn."""

    @property
    def view(self) -> View:
        """How the page's script shows the same; empty if it does not."""
        return {}

    @property
    def data(self) -> str:
        """The SVG as a data URL, for the page."""
        return data_url(self.files["svg"])

    def rows(self) -> list[Row]:
        """The figure's numbers: the rows of its CSV file."""
        return list(self.table)

    def as_chart(self) -> Chart:
        """What is to be seen."""
        return self.chart

    def picture(self) -> tuple[bytes, bytes]:
        """The figure as SVG and as PNG; the PNG may be empty."""
        from runner.report.figures.drawing import save  # noqa: PLC0415 - matplotlib would slow a page without figures

        return save(self.title, self.as_chart())


def draw(figure: Figure, picture: tuple[bytes, bytes] | None = None) -> Figure:
    """Draw a figure, unless its picture is given. The same figure gives the same bytes."""
    svg, png = picture or figure.picture()
    return replace(figure, files={"svg": svg, **({"png": png} if png else {}), "csv": as_csv(figure.rows())})


_TAG, _ATTRIBUTE = re.compile(b"<[^<>]*>"), re.compile(b'="([^"\']*)"')


def data_url(svg: bytes) -> str:
    """Encode an SVG as a data URL that may stand between double quotes in HTML: it has no `"` and no `&`.

    Base64 would be a third larger. A URL loses line breaks, so spaces replace them.
    """
    svg = _TAG.sub(lambda tag: _ATTRIBUTE.sub(rb"='\1'", tag[0]), b" ".join(svg.split()))
    return "data:image/svg+xml," + quote(svg, safe=" !'()*,-./:;<=>?@[]^_{|}~+$")


def as_csv(rows: list[Row]) -> bytes:
    """Format rows as CSV, without columns that are empty in all rows."""

    def cell(value: Any) -> str:
        return "" if absent(value) else f"{value:.9g}" if isinstance(value, float) else str(value)

    names = dict.fromkeys(name for row in rows for name in row)
    columns = [name for name in names if any(not absent(row.get(name)) for row in rows)]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerows([columns, *([cell(row.get(name)) for name in columns] for row in rows)])
    return stream.getvalue().encode("utf-8", errors="replace")


def looks(kernels: list[str]) -> dict[str, Look]:
    """Assign a colour, a marker and a dash to each kernel, in the order given."""
    return {
        kernel: Look(COLOURS[n % len(COLOURS)], MARKERS[n % len(MARKERS)], DASHES[n // len(COLOURS) % len(DASHES)])
        for n, kernel in enumerate(kernels)
    }


def group(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Group items by a key; groups and items stay in their order."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def positions(rows: list[Row], x: str) -> dict[str, float]:
    """Compute the x position of each value: log2 of a size; other values at 0, 1, 2, ..."""
    values = {value_of(x, row): row for row in rows}
    if x == "size" and len({row["size"] for row in values.values()}) == len(values):
        return {value: math.log2(row["size"] or 0.5) for value, row in values.items()}
    ordered = sorted(values, key=lambda value: _order(x, values[value]))
    return {value: float(place) for place, value in enumerate(ordered)}


def sorted_values(rows: list[Row], name: str) -> list[str]:
    """The values of a parameter in the order of their positions, without empty ones."""
    places = positions([row for row in rows if value_of(name, row)], name)
    return sorted(places, key=lambda value: places[value])


def x_axis(places: dict[str, float], x: str, most: int = 11, size: float = Axis.size) -> Axis:
    """The axis of a parameter whose values have these places; of sizes it has at most that many ticks."""
    low, high = min(places.values()), max(places.values())
    margin = 0.04 * (high - low) or 0.5
    shapes = all("x" in value for value in places)
    room = max(14, 90 // len(places))
    ticks = {place: one_line(brief(x, value), room) for value, place in places.items()}
    powers = [float(k) for k in range(math.ceil(low - 1e-9), math.floor(high + 1e-9) + 1)]
    if x == "size" and not shapes and len(powers) > 1:
        there = [k for k in powers if k in ticks]
        powers = there if len(there) > 1 else powers
        ticks = {k: power(2 ** int(k)) if k >= 0 else "0" for k in powers[:: 1 + (len(powers) - 1) // most]}
    names = {"size": f"size ({'rows x columns' if shapes else 'elements'})", "block": "block (threads)"}
    label = {**names, "width": "width (lanes)"}.get(x, one_line(x, 30))
    steep = sum(map(len, ticks.values())) > 5 * most
    return Axis(label, low - margin, high + margin, ticks=list(ticks.items()), steep=steep, size=size)


def rows_axis(names: Iterable[str]) -> Axis:
    """The vertical axis of named rows, the first on top."""
    ticks = list(enumerate(names))
    return Axis("", len(ticks) - 0.4, -0.6, ticks=ticks, bare=True)


def parse_integer(text: Any) -> int | None:
    """Parse an integer in decimal, hexadecimal, octal or binary; `None` if it is not one."""
    try:
        return int(str(text), 0)
    except ValueError:
        return None


def _order(x: str, row: Row) -> tuple[Any, ...]:
    value = row[x]
    if x == "size":
        return int(row["size"]), value_of(x, row)
    if x == "block":
        sides = [parse_integer(row[name]) for name in ("block_x", "block_y")]
        return math.prod(side or 1 for side in sides) if sides[0] else parse_integer(value) or -1, value
    number = value if isinstance(value, float) else parse_integer(value)
    return (1, 0, str(value)) if number is None else (0, number, "")
