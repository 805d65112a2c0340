"""The squares, arrows and numbers of a laid-out step, each with the name of its look. Pure: no drawing here."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from runner.report.figures.digits import Number
from runner.report.figures.lanes.layout import Layout, Line, Square, number, tagged

HEAD = 0.08
"""Length of an arrow's head, in inches."""

STUB = (0.17, 0.27)
"""How far to the side and above an arrow starts whose source stands in no square of its line, in inches."""

Point = tuple[float, float]


@dataclass(frozen=True)
class Mark:
    """A shape: its look (segments are looks by their number, as text), its corners, and whether it is closed."""

    look: str
    corners: tuple[Point, ...]
    closed: bool = False


def marks(layout: Layout, left: float, top: float) -> Iterator[Mark]:
    """The shapes of a step whose upper left corner is given."""
    for line in layout.lines:
        upper, lower = top + line.top, top + line.top + layout.side + line.fall
        if tagged(layout.step):
            yield from _threads(layout, line, left, (upper, lower))
        for square in line.squares:
            fate, x = square.element.fate, left + square.x
            yield _box("square" if square.element.calls else "idle", x, upper, layout.side)
            yield _box(fate if fate in ("idle", "undefined", "beyond", "wrong") else "square", x, lower, layout.side)
            yield from _arrow(layout, line, square, left, (upper + layout.side, lower))


def numbers(layout: Layout, left: float, top: float) -> Iterator[Number]:
    """The numbers in the squares: who each element is, and below whose value it holds."""
    step, half = layout.step, layout.side / 2
    for line in layout.lines:
        upper, lower = top + line.top + half, top + line.top + 1.5 * layout.side + line.fall
        for square in line.squares:
            e, x = square.element, left + square.x + half
            yield Number(str(number(step, e.index)), (x, upper), "pale" if e.fate == "idle" else "plain")
            if e.fate in ("undefined", "beyond"):
                yield Number("?" if e.fate == "undefined" else "–", (x, lower), e.fate)  # noqa: RUF001
            else:
                text = "×" if e.got is None else str(number(step, e.got))  # noqa: RUF001 - a cross is meant
                yield Number(text, (x, lower), {"wrong": "wrong", "idle": "pale"}.get(e.fate, "plain"))


def tags(layout: Layout, left: float, top: float) -> Iterator[Number]:
    """The lane numbers above threads of several elements."""
    for line in layout.lines if tagged(layout.step) else ():
        for first, last in _groups(layout, line):
            middle = left + (first.x + last.x + layout.side) / 2
            yield Number(f"lane {first.element.lane}", (middle, top + line.top - 0.075), "pale")


def _groups(layout: Layout, line: Line) -> list[tuple[Square, Square]]:
    """First and last square of each thread."""
    n = layout.step.per_thread
    threads: dict[int, list[Square]] = {}
    for square in line.squares:
        threads.setdefault(square.element.index // n, []).append(square)
    return [(own[0], own[-1]) for own in threads.values()]


def _threads(layout: Layout, line: Line, left: float, rows: tuple[float, float]) -> Iterator[Mark]:
    for first, last in _groups(layout, line):
        for y in rows:
            yield _box("thread", left + first.x, y, layout.side, last.x + layout.side - first.x)


def _box(look: str, x: float, y: float, side: float, wide: float = 0.0) -> Mark:
    wide = wide or side
    return Mark(look, ((x, y), (x + wide, y), (x + wide, y + side), (x, y + side)), closed=True)


def _arrow(layout: Layout, line: Line, square: Square, left: float, rows: tuple[float, float]) -> Iterator[Mark]:
    e = square.element
    source = e.drawn_from
    if e.fate == "idle" or source is None:
        return
    half = layout.side / 2
    end = (left + square.x + half, rows[1] - 0.015)
    first = line.squares[0].element.index
    if 0 <= source - first < len(line.squares):
        start = (left + line.squares[source - first].x + half, rows[0])
    else:
        start = (end[0] + (STUB[0] if source > e.index else -STUB[0]), end[1] - STUB[1])
    look = {"own": "own", "undefined": "asked", "wrong": "red", "beyond": "empty"}.get(e.fate, str(e.segment))
    if look == "own":
        yield Mark(look, (start, end))
        return
    long = math.hypot(end[0] - start[0], end[1] - start[1])
    along = ((end[0] - start[0]) / long, (end[1] - start[1]) / long)
    base = (end[0] - HEAD * along[0], end[1] - HEAD * along[1])
    across = (-along[1] * HEAD * 0.42, along[0] * HEAD * 0.42)
    yield Mark(look, (start, base))
    corners = (end, (base[0] + across[0], base[1] + across[1]), (base[0] - across[0], base[1] - across[1]))
    yield Mark(f"{look} head", corners, closed=True)
