"""Drawings of docs/kernels.md that show an idea rather than a measurement: folding, a halo, and who waits where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure

from kernel_page.sheet import EDGE, Sheet, heading
from runner.report.figures.style import CRIMSON, PALE, SEGMENTS, saved

BLUE, AMBER = SEGMENTS[0], SEGMENTS[2]
DIGIT = 7.0

LOOKS: dict[str, dict[str, Any]] = {
    "idle": {"facecolor": "#f1f1f2", "edgecolor": "#cfcfcf", "zorder": 1},
    "live": {"facecolor": "#cfe4f3", "edgecolor": BLUE, "linewidth": 0.9, "zorder": 2},
    "halo": {"facecolor": "#fbe8c8", "edgecolor": AMBER, "linewidth": 0.9, "hatch": "////", "zorder": 2},
    "bad": {"facecolor": "#fff4f6", "edgecolor": CRIMSON, "linewidth": 1.4, "linestyle": (0, (2.5, 1.5)), "zorder": 3},
    "stays": {"edgecolor": "#8f8f8f", "linewidth": 1.1, "linestyle": (0, (1, 1.7)), "zorder": 1},
    "added": {"edgecolor": BLUE, "linewidth": 1.3, "zorder": 1.2},
    "added head": {"facecolor": BLUE, "zorder": 1.2},
    "loaded": {"edgecolor": "#8f8f8f", "linewidth": 1.1, "zorder": 1},
    "loaded head": {"facecolor": "#8f8f8f", "zorder": 1},
}


@dataclass(frozen=True)
class Fold:
    """One step of a block's folding: place t of the first `adders` takes up what place t + half holds."""

    active: int
    half: int
    adders: int


def folds(block: int) -> list[Fold]:
    """The steps of the kernels' loop, whatever the number of threads."""
    steps = []
    active = block
    while active > 1:
        half = (active + 1) // 2
        steps.append(Fold(active, half, active // 2))
        active = half
    return steps


def sums(block: int) -> list[list[int]]:
    """How many elements each place holds the sum of: at first, and after each step."""
    held = [[1] * block]
    for step in folds(block):
        before = held[-1]
        held.append([n + (before[t + step.half] if t < step.adders else 0) for t, n in enumerate(before)])
    return held


def folding(blocks: Sequence[int] = (16, 11)) -> bytes:
    """The folding of blocks of some sizes, side by side, as SVG."""
    notes = (
        f"Blocks of {' and '.join(map(str, blocks))} threads; larger ones fold in the same way. A number: how many "
        "elements the place holds the sum of. Arrow: added. Dotted: stays. Grey: no longer needed. Between two rows "
        "all threads meet at a barrier."
    )
    return saved(lambda: _folding(blocks, notes), png=False)[0]


def _folding(blocks: Sequence[int], notes: str) -> Figure:
    sheet = Sheet(LOOKS)
    side, fall = 0.27, 0.36
    top = heading(
        sheet, "Folding a block: the upper half is added onto the lower one, until one place is left", notes, 9.2
    )
    left, lowest = EDGE, top
    for block in blocks:
        x = left + 0.78
        sheet.words((left, top + 0.12), f"{block} threads", 9.5, fontweight="bold")
        for t in range(block):
            sheet.number((x + (t + 0.5) * side, top + 0.32), t, DIGIT, PALE)
        sheet.words((x - 0.08, top + 0.32), "thread", 7.5, ha="right", color=PALE)
        steps, y = folds(block), top + 0.42
        for number, held in enumerate(sums(block)):
            active = steps[number].active if number < len(steps) else 1
            for t, n in enumerate(held):
                sheet.box((x + t * side, y), side, side, "live" if t < active else "idle")
                if t < active:
                    sheet.number((x + (t + 0.5) * side, y + side / 2), n, DIGIT)
            sheet.words((x - 0.08, y + side / 2), f"{active} active", 7.5, ha="right", color=PALE)
            for t in range(steps[number].half) if number < len(steps) else ():
                start, end = (y + side, y + side + fall - 0.015)
                middle = x + (t + 0.5) * side
                sheet.line("stays", (middle, start), (middle, end))
                if t < steps[number].adders:
                    sheet.arrow((middle + steps[number].half * side, start), (middle, end), "added")
            y += side + fall
        lowest = max(lowest, y - fall)
        left = x + block * side + 0.35
    return sheet.figure(left - 0.35 + EDGE, lowest + EDGE)


@dataclass(frozen=True)
class Cell:
    """An element of a stencil's tile.

    Attributes:
        place: In the tile.
        element: Of the array, counted from the block's first.
        thread: That loads it.
    """

    place: int
    element: int
    thread: int

    @property
    def halo(self) -> bool:
        """Whether another block writes the output of this element."""
        return self.element != self.thread


def tile(block: int, radius: int) -> list[Cell]:
    """Who loads which element, as the kernels do it: each thread its own, and the first few both ends as well."""
    cells = [Cell(t + radius, t, t) for t in range(block)]
    for t in range(radius):
        cells += [Cell(t, t - radius, t), Cell(t + radius + block, t + block, t)]
    return sorted(cells, key=lambda cell: cell.place)


def halo(block: int = 8, radius: int = 4, reader: int = 3) -> bytes:
    """A stencil's tile with its halo, and what one thread reads of it, as SVG."""
    notes = (
        f"A block of {block} threads; larger ones do the same. Hatched: the halo, of which the first {radius} threads "
        f"load two elements each. Arrows below: what thread {reader} reads, {radius} elements on each side "
        "but not its own."
    )
    return saved(lambda: _halo(block, radius, reader, notes), png=False)[0]


def _halo(block: int, radius: int, reader: int, notes: str) -> Figure:
    sheet = Sheet(LOOKS)
    side, gap, left = 0.4, 0.12, 1.55
    top = heading(sheet, "A stencil's tile in shared memory, with its halo", notes, 8.2) + 0.1
    rows = {"in": top, "thread": top + 0.62, "tile": top + 0.8, "out": top + 2.1}

    def middle(cell: Cell) -> float:
        return left + (cell.place + 0.5) * side + gap * ((cell.place >= radius) + (cell.place >= radius + block))

    cells = tile(block, radius)
    for name, y in (("in[first + ...]", rows["in"]), ("tile[...]", rows["tile"]), ("out[first + ...]", rows["out"])):
        sheet.words((left - 0.12, y + side / 2), name, 9, ha="right")
    sheet.words((left - 0.12, rows["thread"] - 0.06), "loaded by thread", 8, ha="right", color=PALE)
    sheet.words((left - 0.12, rows["tile"] + side + 0.14), "times coefficient", 8, ha="right", color=PALE)
    for cell in cells:
        x, look = middle(cell), "halo" if cell.halo else "live"
        for y, text in ((rows["in"], f"{cell.element:+d}" if cell.element else "0"), (rows["tile"], str(cell.place))):
            sheet.box((x - side / 2, y), side, side, look)
            sheet.words((x, y + side / 2), text, 8, ha="center", bbox=_PLATE if cell.halo else None)
        sheet.arrow((x, rows["in"] + side), (x, rows["tile"] - 0.015), "loaded")
        sheet.words((x + 0.05, rows["thread"] - 0.06), str(cell.thread), 7.5, color=PALE)
        if not cell.halo:
            sheet.box((x - side / 2, rows["out"]), side, side, "live" if cell.thread == reader else "idle")
            sheet.words((x, rows["out"] + side / 2), f"{cell.element:+d}" if cell.element else "0", 8, ha="center")
    (own,) = (cell for cell in cells if not cell.halo and cell.thread == reader)
    for cell in cells:
        distance = cell.place - own.place
        if distance and abs(distance) <= radius:
            text = f"{'+' if distance > 0 else '−'}c[{abs(distance)}]"  # noqa: RUF001 - a minus is meant
            sheet.words((middle(cell), rows["tile"] + side + 0.14), text, 7.5, ha="center")
            end = (middle(own) + distance * 0.035, rows["out"] - 0.015)
            sheet.arrow((middle(cell), rows["tile"] + side + 0.25), end, "added")
    return sheet.figure(middle(cells[-1]) + side / 2 + EDGE, rows["out"] + side + EDGE)


_PLATE = {"facecolor": "white", "edgecolor": "none", "pad": 1.2}


@dataclass(frozen=True)
class Who:
    """Lanes that do something, such as calling; those among `bad` break the rule."""

    does: str
    lanes: frozenset[int]
    bad: frozenset[int] = frozenset()


def waiting(title: str, panels: Sequence[tuple[str, Sequence[Who]]]) -> bytes:
    """Which lanes of a warp do what, a row a deed, below the words of each panel; as SVG."""
    return saved(lambda: _waiting(title, panels), png=False)[0]


def _waiting(title: str, panels: Sequence[tuple[str, Sequence[Who]]]) -> Figure:
    sheet = Sheet(LOOKS)
    side, left = 0.23, 1.95
    notes = "The first warp's 32 lanes. Blue: does it. Grey: does not. Dashed crimson: breaks the rule."
    y = heading(sheet, title, notes, left + 32 * side) + 0.14
    for words, rows in panels:
        sheet.words((EDGE, y), words, 9.5, fontweight="bold")
        y += 0.18
        for row in rows:
            sheet.words((left - 0.1, y + side / 2), row.does, 8, ha="right")
            for lane in range(32):
                look = "bad" if lane in row.bad else "live" if lane in row.lanes else "idle"
                sheet.box((left + lane * side, y), side, side, look)
                if look != "idle":
                    sheet.number(
                        (left + (lane + 0.5) * side, y + side / 2), lane, 6.5, CRIMSON if look == "bad" else BLUE
                    )
            y += side + 0.07
        y += 0.22
    return sheet.figure(left + 32 * side + EDGE, y - 0.29 + EDGE)
