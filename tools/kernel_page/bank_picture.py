"""Drawing what a warp's request to memory costs: a row a wavefront of shared memory, or the sectors of global memory.

`runner.kernel.access` says which lane is served where; here it is drawn, as SVG.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure

from kernel_page.sheet import EDGE, Sheet, heading
from runner.kernel.access import BANKS, SECTOR
from runner.report.figures.style import PALE, SEGMENTS, saved

LEFT, WIDE, HIGH, LOW = 0.98, 0.25, 0.25, 0.165
"""Room for the names of rows; a cell; a row's height, and that of many rows. In inches."""

DIGIT = 7.0
"""The size of numbers: one for all, as each size writes all its digits into the file."""

LINE = 130
"""Characters of an access's words that fit into a line."""

FEW = 8
"""Up to so many rows are drawn high."""

LOOKS: dict[str, dict[str, Any]] = {
    "idle": {"facecolor": "#f1f1f2", "edgecolor": "#8a8a8a", "linewidth": 0.8, "zorder": 1},
    "grid": {"edgecolor": "#d0d0d0", "linewidth": 0.6, "zorder": 1.5},
    "served": {"facecolor": "#cfe4f3", "edgecolor": SEGMENTS[0], "linewidth": 0.9, "zorder": 2},
}

Cells = Sequence[tuple[int, ...]]


@dataclass(frozen=True)
class Request:
    """One request of a warp.

    Attributes:
        title: What it is and costs, such as `load: 32 wavefronts`.
        access: The element that a thread accesses, as the YAML declares it.
        rows: Of shared memory, which lanes each of the 32 banks serves: a row a wavefront, as `access.served` gives it.
        sectors: Of global memory, which lanes want each element of a sector, by the sector's number, as
            `access.touched` gives it.
    """

    title: str
    access: str
    rows: Sequence[Cells] = ()
    sectors: Mapping[int, Cells] | None = None


@dataclass(frozen=True)
class _Row:
    """A row of cells in groups, with words at its left."""

    name: str
    groups: Sequence[Cells]


def svg(requests: Iterable[Request], title: str, notes: str = "") -> bytes:
    """The picture of some requests, one below the other, as SVG."""
    given = list(requests)
    return saved(lambda: draw(given, title, notes), png=False)[0]


def draw(requests: Sequence[Request], title: str, notes: str) -> Figure:
    """The figure of some requests."""
    sheet = Sheet(LOOKS)
    y = heading(sheet, title, notes, LEFT + BANKS * WIDE + EDGE) + 0.12
    right = 0.0
    for request in requests:
        sheet.words((EDGE, y), request.title, 9.5, fontweight="bold")
        lines = textwrap.wrap(request.access, LINE)
        for number, line in enumerate(lines):
            sheet.words((EDGE, y + 0.18 + 0.15 * number), line, 8, color=PALE)
        y += 0.36 + 0.15 * (len(lines) - 1)
        if request.sectors is None:
            rows, apart = list(_of_banks(request.rows)), 0.0
            y = _bank_numbers(sheet, y) if request is requests[0] else y  # the others stand below
        else:
            rows, apart = list(_of_sectors(request.sectors)), 0.05
        end, y = _rows(sheet, rows, y, apart)
        right = max(right, end)
        y += 0.32
    return sheet.figure(right + EDGE, y - 0.32 + EDGE)


def _of_banks(rows: Sequence[Cells]) -> Iterator[_Row]:
    for number, row in enumerate(rows, 1):
        yield _Row(f"wavefront {number}" if number == 1 or len(rows) <= FEW else str(number), [row])


def _of_sectors(sectors: Mapping[int, Cells]) -> Iterator[_Row]:
    """As many sectors in a row as hold 32 elements."""
    numbers = list(sectors)
    each = len(sectors[numbers[0]]) if numbers else BANKS
    for start in range(0, len(numbers), BANKS // each):
        own = numbers[start : start + BANKS // each]
        yield _Row(f"byte {SECTOR * own[0]:,}", [sectors[number] for number in own])


def _bank_numbers(sheet: Sheet, y: float) -> float:
    sheet.words((LEFT - 0.08, y + 0.06), "bank", 7.5, ha="right", color=PALE)
    for bank in range(BANKS):
        sheet.number((LEFT + (bank + 0.5) * WIDE, y + 0.06), bank, DIGIT, PALE)
    return y + 0.15


def _rows(sheet: Sheet, rows: Sequence[_Row], top: float, apart: float) -> tuple[float, float]:
    """Rows of cells below each other; returns their right and lower ends."""
    high = HIGH if len(rows) <= FEW else LOW
    right = LEFT
    for number, row in enumerate(rows):
        y = top + number * (high + apart)
        if row.name.isdecimal():
            sheet.number((LEFT - 0.15, y + high / 2), int(row.name), DIGIT, PALE)
        else:
            sheet.words((LEFT - 0.08, y + high / 2), row.name, 7.5, ha="right", color=PALE)
        x = LEFT
        for group in row.groups:
            end = x + len(group) * WIDE
            sheet.box((x, y), end - x, high, "idle")
            for place in range(1, len(group)) if apart or not number else ():  # rows that touch have lines in common
                below = y + (high if apart else len(rows) * high)
                sheet.line("grid", (x + place * WIDE, y), (x + place * WIDE, below))
            for place, lanes in enumerate(group):
                if lanes:
                    sheet.box((x + place * WIDE, y), WIDE, high, "served")
                    _lanes(sheet, (x + place * WIDE, y), high, lanes, followed=any(group[place + 1 :]))
            right = max(right, end)
            x = end + apart * 1.6
    return right, top + len(rows) * (high + apart) - apart


def _lanes(sheet: Sheet, corner: tuple[float, float], high: float, lanes: tuple[int, ...], *, followed: bool) -> None:
    """The lanes of a cell; where no other cell follows, the words may stand beside it."""
    middle = corner[1] + high / 2
    if len(lanes) == 1:
        sheet.number((corner[0] + WIDE / 2, middle), lanes[0], DIGIT)
    elif not followed:
        sheet.words((corner[0] + WIDE + 0.06, middle), f"lanes {_ranges(lanes)}", 7.5)
    else:
        text = "\n".join(map(str, lanes)) if len(lanes) == 2 and high == HIGH else f"{len(lanes)}×"  # noqa: RUF001 - times
        sheet.words((corner[0] + WIDE / 2, middle), text, 6, ha="center", linespacing=0.95)


def _ranges(lanes: tuple[int, ...]) -> str:
    """Numbers as people list them: `0-31`, `3`, `1, 5`."""
    runs: list[list[int]] = []
    for lane in lanes:
        if runs and lane == runs[-1][-1] + 1:
            runs[-1].append(lane)
        else:
            runs.append([lane])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
