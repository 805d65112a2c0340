"""Where the squares and arrows of a lane picture stand, in inches. Pure: numbers in, numbers out.

A step is one or more lines; a line is a row of squares (before) above another (after), at most 32 elements long.
"""

from __future__ import annotations

from dataclasses import dataclass

from runner.kernel.lanes import MOST_RECEIVED
from runner.report.figures.lanes.steps import Element, Step

LINE = 32
WIDEST, LARGEST = 8.4, 0.38
"""The squares of a line together, and the side of one, at most."""

GAP, TAG, CAPTION = 0.09, 0.15, 0.17
"""Between segments or threads; the height of the lane numbers above threads, and of a line of words."""


@dataclass(frozen=True)
class Square:
    """An element's column within its line: the left edges of its squares."""

    element: Element
    x: float


@dataclass(frozen=True)
class Line:
    """A pair of rows; `top` is measured down from the step's own top to the upper squares."""

    squares: tuple[Square, ...]
    top: float
    fall: float


@dataclass(frozen=True)
class Layout:
    """A step laid out.

    Attributes:
        step: what is laid out.
        side: the side of a square.
        lines: from top to bottom.
        remarks: words below.
        height: of all of it.
    """

    step: Step
    side: float
    lines: tuple[Line, ...]
    remarks: tuple[str, ...]
    height: float


def length(step: Step) -> int:
    """Elements of a line: a warp, or as many whole threads as fit, a power of two of them."""
    if step.per_thread >= LINE:
        return LINE
    threads = LINE // step.per_thread
    return step.per_thread * (1 << (threads.bit_length() - 1))


def side(steps: tuple[Step, ...]) -> float:
    """The side of a square that suits all steps of a figure."""
    room = []
    for step in steps:
        first = step.elements[: length(step)]
        room.append((WIDEST - _offset(step, first[-1], first[0])) / len(first))
    return min(LARGEST, *room)


def width(step: Step, square: float) -> float:
    """The width of a step's longest line."""
    first = step.elements[: length(step)]
    return len(first) * square + _offset(step, first[-1], first[0])


def lay(step: Step, square: float, remarks: tuple[str, ...], least: float) -> Layout:
    """Lay a step out.

    Args:
        step: The step.
        square: The side of a square.
        remarks: Words for below.
        least: The height that its name needs.
    """
    shown, same = chunks(step)
    lines, y = [], 0.0
    for number, chunk in enumerate(shown):
        y += (0.16 if number else 0) + (TAG if tagged(step) else 0)
        starts = [(e, at) for e in chunk if (at := e.drawn_from) is not None and within(at, chunk)]
        far = max((abs(at - e.index) for e, at in starts), default=0)
        fall = min(0.8, 0.36 + 0.026 * far)
        squares = tuple(Square(e, (e.index - chunk[0].index) * square + _offset(step, e, chunk[0])) for e in chunk)
        lines.append(Line(squares, y, fall))
        y += 2 * square + fall
    told = (*remarks, *_left_out(step, len(shown), same))
    return Layout(step, square, tuple(lines), told, max(least, y + 0.04 + CAPTION * len(told)))


def chunks(step: Step) -> tuple[list[tuple[Element, ...]], int]:
    """The elements line by line, and how many further lines look like the second and are not shown."""
    n = length(step)
    lines = [step.elements[start : start + n] for start in range(0, len(step.elements), n)]
    alike = all(_look(line) == _look(lines[1]) for line in lines[2:])
    return (lines[:2], max(0, len(lines) - 2)) if alike else (lines, 0)


def _left_out(step: Step, shown: int, same: int) -> list[str]:
    """What is not drawn: lines that look like the one above, and what was not measured."""
    words = []
    if same == 1:
        words.append(f"{'The next line' if tagged(step) else f'Warp {shown}'} looks the same.")
    elif same:
        lines = (
            f"The next {same} lines"
            if tagged(step)
            else f"Warps {shown} {'and' if same == 2 else 'to'} {shown + same - 1}"
        )
        words.append(f"{lines} look the same.")
    if len(step.elements) == MOST_RECEIVED < step.threads * step.per_thread:
        words.append(f"Measured: the first {MOST_RECEIVED} elements of the block's {step.threads * step.per_thread:,}.")
    return [" ".join(words)] if words else []


def within(index: int, chunk: tuple[Element, ...]) -> bool:
    """Whether an element stands in this line."""
    return chunk[0].index <= index <= chunk[-1].index


def tagged(step: Step) -> bool:
    """Whether lane numbers stand above the squares, because the squares hold numbers of elements."""
    return step.per_thread > 1


def number(step: Step, index: int) -> int:
    """What a square says of an element: its lane, or its own number where a lane holds several."""
    return index if tagged(step) else index % 32


def _offset(step: Step, element: Element, first: Element) -> float:
    """The gaps to the left of an element: between threads of several elements, and between segments of some length."""
    thread, start = (e.index // step.per_thread for e in (element, first))
    gaps = (thread - start) * GAP if tagged(step) else 0.0
    return gaps + ((element.segment - first.segment) * GAP if step.width >= 4 else 0.0)


def _look(chunk: tuple[Element, ...]) -> tuple[tuple[object, ...], ...]:
    start = chunk[0].index
    return tuple((None if e.got is None else e.got - start, e.source - start, e.fate) for e in chunk)
