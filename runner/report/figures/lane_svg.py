"""Draws what shuffles moved as SVG: squares and arrows, all lengths in pixels.

A step is one or more lines. A line is a row of squares (before) above another (after), at most 32 elements long.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from runner.kernel.lanes import MOST_RECEIVED
from runner.report.figures.figure import CRIMSON, INK, PALE, RED, SEGMENTS
from runner.report.figures.lane_steps import Element, Step
from runner.report.text import count, plain

LINE, WIDEST, LARGEST = 32, 806.0, 36.0
"""Elements of a line; the width of a line's squares together, and the side of one, at most."""

EDGE, BETWEEN, GAP, TAG, WORDS, ROWS, STUB = 12, 27, 9, 15, 17, 66, (16, 26)
"""Around the picture; between steps; between segments or threads; height of the lane numbers above threads, and of a
line of words; width of the rows' names; how far beside and above its end an arrow from another line starts."""

STYLES = {
    "square": "fill:#f6f6f7;stroke:#8a8a8a;stroke-width:.9",
    "idle": "fill:url(#hatch);stroke:#cfcfcf;stroke-width:.9",
    "thread": f"fill:none;stroke:{INK};stroke-width:1.8",
    "beyond": "fill:#fff;stroke:#8a8a8a;stroke-width:1.2;stroke-dasharray:3 2",
    "undefined": f"fill:#fff4f6;stroke:{CRIMSON};stroke-width:1.6;stroke-dasharray:4 2.4",
    "wrong": f"fill:#ffe3e0;stroke:{RED};stroke-width:2.6",
}
"""Boxes, from the lowest to the uppermost."""

ARROWS = {
    "own": ("#8f8f8f", "stroke-width:1.6;stroke-dasharray:1.6 2.7"),
    "empty": ("#8f8f8f", "stroke-width:1.6"),
    **{str(n): (colour, "stroke-width:1.7") for n, colour in enumerate(SEGMENTS)},
    "asked": (CRIMSON, "stroke-width:1.6;stroke-dasharray:4.8 3.2"),
    "red": (RED, "stroke-width:3.2"),
}
"""Colour and line of the arrows: grey ones, those of each segment, undefined and wrong ones."""

ARROW_OF = {"own": "own", "undefined": "asked", "wrong": "red", "beyond": "empty"}


@dataclass(frozen=True)
class Labelled:
    """A step with the lines of its name, and its status where that is not ok."""

    step: Step
    names: tuple[str, ...]
    status: str


@dataclass
class Canvas:
    """Shapes by their look, and words."""

    boxes: dict[str, list[str]] = field(default_factory=lambda: {look: [] for look in STYLES})
    arrows: dict[str, list[str]] = field(default_factory=lambda: {look: [] for look in ARROWS})
    words: list[str] = field(default_factory=list)
    strays: bool = False

    def box(self, look: str, x: float, y: float, wide: float, tall: float) -> None:
        """Add a rectangle."""
        self.boxes[look].append(f"M{x:.1f} {y:.1f}h{wide:.1f}v{tall:.1f}h{-wide:.1f}z")

    def arrow(self, look: str, x: float, y: float, to_x: float, to_y: float) -> None:
        """Add an arrow."""
        self.arrows[look].append(f'<path d="M{x:.1f} {y:.1f}L{to_x:.1f} {to_y:.1f}"/>')

    def text(self, words: str, x: float, y: float, size: float = 11.5, fill: str = INK, extra: str = "") -> None:
        """Add a line of words, the middle of its letters at `y`."""
        at = f'x="{x:.1f}" y="{y + 0.36 * size:.1f}" font-size="{size:g}"'
        colour = "" if fill == INK else f' fill="{fill}"'
        self.words.append(f"<text {at}{colour}{extra and ' ' + extra}>{html.escape(plain(words))}</text>")

    def svg(self, title: str, wide: float, tall: float) -> bytes:
        """All of it."""
        used = {look: parts for look, parts in self.arrows.items() if parts}
        heads = "".join(
            f'<marker id="head-{look}" viewBox="0 0 8 6" refX="6" refY="3" markerWidth="8" markerHeight="6" '
            f'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 3L0 6z" fill="{ARROWS[look][0]}"/></marker>'
            for look in used
            if look != "own"
        )
        hatch = (
            '<pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
            '<path d="M0 0v5" stroke="#cfcfcf" stroke-width="2"/></pattern>'
        )
        arrows = "".join(
            f'<g fill="none" stroke="{ARROWS[look][0]}" style="{ARROWS[look][1]}" marker-end="url(#head-{look})">'
            f"{''.join(parts)}</g>"
            for look, parts in used.items()
        )
        shapes = {look: "".join(parts) for look, parts in self.boxes.items() if parts}
        boxes = "".join(f'<path d="{path}" style="{STYLES[look]}"/>' for look, path in shapes.items())
        words = "\n".join(self.words)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:.0f}" height="{tall:.0f}" '
            f'viewBox="0 0 {wide:.0f} {tall:.0f}" font-family="DejaVu Sans, Verdana, sans-serif" fill="{INK}">'
            f"<title>{html.escape(plain(title))}</title><defs>{heads}{hatch}</defs>"
            f'<rect width="100%" height="100%" fill="#fff"/>{arrows}{boxes}{words}</svg>\n'
        ).encode("utf-8", "replace")


def picture(title: str, notes: str, steps: Sequence[Labelled]) -> bytes:
    """Draw labelled steps below one another, with a legend."""
    firsts = [(one.step, len(lines(one.step)[0][0])) for one in steps]  # no line of a step is longer
    side = min(LARGEST, *((WIDEST - _offset(step, long - 1)) / long for step, long in firsts))
    left = EDGE + max(86.0, *(7.6 * len(name) for one in steps for name in one.names)) + ROWS
    squares = max(long * side + _offset(step, long - 1) for step, long in firsts)
    longest = max((len(words) for one in steps for words in _remarks(one.step)), default=0)
    wide = max(730.0, left + squares + EDGE, left + 7.2 * longest)
    canvas, y = Canvas(), 6.0
    for words, size, fill, extra in ((title, 16, INK, 'font-weight="bold"'), (notes, 11.5, PALE, "")):
        for line in textwrap.wrap(words, int(wide / (0.66 * size if extra else 0.6 * size))):
            y += 1.3 * size
            canvas.text(line, EDGE, y - 0.4 * size, size, fill, extra)
        y += 4
    y += 14
    for one in steps:
        y += _step(canvas, one, side, left, y) + BETWEEN
    for words in _legend([one.step for one in steps], strays=canvas.strays):
        for line in textwrap.wrap(words, int(wide / 6.8)):
            canvas.text(line, EDGE, y, 11.5, PALE)
            y += WORDS
    return canvas.svg(title, wide, y)


def lines(step: Step) -> tuple[list[tuple[Element, ...]], int]:
    """The elements line by line, and how many further lines look like the second and are not drawn.

    A line is a warp, or as many whole threads of several elements as fit, a power of two of them.
    """
    threads = max(1, LINE // step.per_thread)
    n = min(LINE, step.per_thread * (1 << (threads.bit_length() - 1)))
    found = [step.elements[start : start + n] for start in range(0, len(step.elements), n)]
    looks = [
        [(None if e.got is None else e.got - own[0].index, e.source - own[0].index, e.fate) for e in own]
        for own in found
    ]
    if all(look == looks[1] for look in looks[2:]):
        return found[:2], max(0, len(found) - 2)
    return found, 0


def _offset(step: Step, place: int, first: int = 0) -> float:
    """The gaps left of a line's element: between threads of several elements, and between segments of some length."""
    here, start = step.elements[first + place], step.elements[first]
    threads = (here.index // step.per_thread - start.index // step.per_thread) if step.arrays else 0
    return GAP * (threads + (here.segment - start.segment if step.width >= 4 else 0))


def _remarks(step: Step) -> list[str]:
    """What is said below a step: its remarks, and what is not drawn."""
    same, words = lines(step)[1], []
    if same:
        words.append(f"Not drawn: {count(same, 'further line')} like the one above.")
    if len(step.elements) == MOST_RECEIVED < step.threads * step.per_thread:
        words.append(f"Measured: the first {MOST_RECEIVED} elements of the block's {step.threads * step.per_thread:,}.")
    return [*step.remarks(), *([" ".join(words)] if words else [])]


def _step(canvas: Canvas, one: Labelled, side: float, left: float, top: float) -> float:
    """Draw a step, and return its height."""
    step, y = one.step, top
    for number, own in enumerate(lines(step)[0]):
        y += (15 if number else 0) + (TAG if step.arrays else 0)
        if not number:
            _name(canvas, one, y)
        y += _line(canvas, step, own, side, left, y)
    for words in _remarks(step):
        wrong = "differ" in words
        colour = RED if wrong else CRIMSON if words.startswith("undefined") else PALE
        canvas.text(words, left, y + WORDS / 2 + 3, 11.5, colour, 'font-weight="bold"' if wrong else "")
        y += WORDS
    return max(y - top, 20.0 + 15 * (len(one.names) + bool(one.status)))


def _name(canvas: Canvas, one: Labelled, y: float) -> None:
    for place, words in enumerate(one.names):
        canvas.text(words, EDGE, y + 9 + 16 * place, 11.5 if place else 13, INK, "" if place else 'font-weight="bold"')
    if one.status:
        canvas.text(one.status, EDGE, y + 9 + 16 * len(one.names), 11.5, RED)


def _line(canvas: Canvas, step: Step, own: tuple[Element, ...], side: float, left: float, upper: float) -> float:
    """Draw a line of a step, and return its height."""
    first = own[0].index
    starts = [(e, e.origin - first) for e in own if e.origin is not None and 0 <= e.origin - first < len(own)]
    fall = min(77.0, 35 + 2.5 * max((abs(first + at - e.index) for e, at in starts), default=0))
    lower, half, size = upper + side + fall, side / 2, min(12.0, 0.4 * side)
    x = [left + place * side + _offset(step, place, first) for place in range(len(own))]
    warp = f"warp {first // step.per_thread // 32}" if step.threads > 32 else ""
    before = "element" if step.arrays else "lane"
    for word, y in ((warp, upper + half - 12), (before, upper + half), ("received", lower + half)):
        if word:
            canvas.text(word, left - 8, y, 10, PALE, 'text-anchor="end"')
    for place, e in enumerate(own):
        canvas.box("square" if e.calls else "idle", x[place], upper, side, side)
        canvas.box(e.fate if e.fate in STYLES else "square", x[place], lower, side, side)
        held = "×" if e.got is None else str(step.number(e.got))  # noqa: RUF001 - a cross is meant
        held = {"undefined": "?", "beyond": "–"}.get(e.fate, held)  # noqa: RUF001
        ink = {"idle": PALE, "undefined": CRIMSON, "wrong": RED}.get(e.fate, INK)
        middle = x[place] + half
        canvas.text(str(step.number(e.index)), middle, upper + half, size, PALE if e.fate == "idle" else INK, CENTRE)
        canvas.text(held, middle, lower + half, size, ink, CENTRE)
        if e.fate != "idle" and e.origin is not None:
            at = e.origin - first
            inside = 0 <= at < len(own)
            stub = (middle + (STUB[0] if at > place else -STUB[0]), lower - STUB[1])
            start = (x[at] + half, upper + side) if inside else stub
            canvas.strays |= not inside
            look = ARROW_OF.get(e.fate, str(e.segment % len(SEGMENTS)))
            canvas.arrow(look, *start, middle, lower - (0 if e.fate == "own" else 3))
    for thread in range(0, len(own), step.per_thread) if step.arrays else ():
        last = min(thread + step.per_thread, len(own)) - 1
        for y in (upper, lower):
            canvas.box("thread", x[thread], y, x[last] + side - x[thread], side)
        canvas.text(f"lane {own[thread].lane}", (x[thread] + x[last] + side) / 2, upper - 8, 10, PALE, CENTRE)
    return 2 * side + fall


CENTRE = 'text-anchor="middle"'


def _legend(steps: Sequence[Step], *, strays: bool) -> Iterator[str]:
    """Sentences on what the picture has, and on nothing else."""
    fates = {element.fate for step in steps for element in step.elements}
    if all(step.arrays for step in steps):
        yield "Upper squares: the elements before, framed by lane. Lower: the element whose value each then held."
    else:
        framed = " Framed squares: one lane's elements, numbered through the block."
        yield (
            "Upper squares: the lanes before, by number. Lower: the lane whose value the lane above then held."
            + framed * any(step.arrays for step in steps)
        )
    several = any(element.segment for step in steps for element in step.elements)
    yield f"Arrow: a value that moved, as measured{'; each segment has a colour' * several}."
    words = {
        "own": "Dotted grey line: the lane kept its own value.",
        "idle": "Hatched: a lane outside the mask. It does not take part and keeps its value.",
        "undefined": "Dashed crimson and ?: what is received is undefined in CUDA. The arrow starts at the lane asked.",
        "beyond": "Grey and –: the 0 of a lane beyond the last element.",  # noqa: RUF001
        "wrong": "Thick red: not what CUDA's rule says. × is a value that no element of the input has.",  # noqa: RUF001
    }
    yield from (sentence for fate, sentence in words.items() if fate in fates)
    if strays:
        yield "Short arrow: its source is in another line or in no lane of the block, on the side that it comes from."
