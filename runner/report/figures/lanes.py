"""Lane pictures: which lane's register each lane received, as measured.

A kernel of several cases has a figure of its own, one step per case: a butterfly, a tree, a scan. Kernels of one or two
cases share a figure. Pictures of the CPU device are drawn like those of a GPU, since shuffles give the same result.

The pictures are SVG from the start, all lengths in pixels. A step is one or more lines. A line is a row of squares
(before) above another (after), at most 32 elements long.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runner.device.kinds import label
from runner.display.text import count, listed, one_line, plain, sentences, slug
from runner.kernel.lanes import MOST_RECEIVED
from runner.report.figures.chart import CRIMSON, INK, PALE
from runner.report.figures.figure import Figure, Results, Row, group
from runner.report.figures.lane_steps import NAMED, Element, LaneStep, read

MAX_SHARED, MAX_STEPS = 2, 10
"""A kernel with more than `MAX_SHARED` steps has a figure of its own. A figure has at most `MAX_STEPS`."""

LINE, MAX_LINE_WIDTH, MAX_SIDE = 32, 806.0, 36.0
"""Elements per line; most width of a line's squares together; most side of a square."""

EDGE, STEP_SPACE, GAP, LANE_NUMBERS, TEXT_LINE, ROW_NAMES, STUB = 12, 27, 9, 15, 17, 66, (16, 26)
"""Margin; space between steps; space between segments or threads; height of the lane numbers above threads; height of a
line of text; width of the rows' names; offset of the start of an arrow that comes from another line."""

RED = "#d60000"
"""The colour of wrong elements. Like crimson for undefined ones, it always comes with a word or a sign."""

SEGMENTS = ("#0072b2", "#009e73", "#c77f00", "#7b5aa6", "#2c9fc9", "#5f6b1e")
"""Colours of segments of lanes, unlike crimson and red."""

STYLES = {
    "square": "fill:#f6f6f7;stroke:#8a8a8a;stroke-width:.9",
    "idle": "fill:url(#hatch);stroke:#cfcfcf;stroke-width:.9",
    "thread": f"fill:none;stroke:{INK};stroke-width:1.8",
    "beyond": "fill:#fff;stroke:#8a8a8a;stroke-width:1.2;stroke-dasharray:3 2",
    "undefined": f"fill:#fff4f6;stroke:{CRIMSON};stroke-width:1.6;stroke-dasharray:4 2.4",
    "wrong": f"fill:#ffe3e0;stroke:{RED};stroke-width:2.6",
}
"""Styles of boxes, in drawing order."""

ARROWS = {
    "own": ("#8f8f8f", "stroke-width:1.6;stroke-dasharray:1.6 2.7"),
    "empty": ("#8f8f8f", "stroke-width:1.6"),
    **{str(n): (colour, "stroke-width:1.7") for n, colour in enumerate(SEGMENTS)},
    "asked": (CRIMSON, "stroke-width:1.6;stroke-dasharray:4.8 3.2"),
    "red": (RED, "stroke-width:3.2"),
}
"""Colour and line of arrows: kept and empty values, each segment, undefined and wrong values."""

ARROW_OF = {"own": "own", "undefined": "asked", "wrong": "red", "beyond": "empty"}
BOLD, CENTRE = 'font-weight="bold"', 'text-anchor="middle"'

LEGEND = {
    "own": "Dotted grey line: the lane kept its own value.",
    "idle": "Hatched: a lane outside the mask. It does not participate and keeps its value.",
    "undefined": "Dashed crimson and ?: what is received is undefined in CUDA. The arrow starts at the lane asked.",
    "beyond": "Grey and –: the 0 of a lane beyond the last element.",  # noqa: RUF001
    "wrong": "Thick red: not what CUDA's rule says. × is a value that no element of the input has.",  # noqa: RUF001
}


@dataclass(frozen=True)
class Lanes(Figure):
    """Steps below one another, in the order of the run, with notes on what they have in common."""

    steps: tuple[LaneStep, ...]
    notes: str

    def rows(self) -> list[Row]:
        """One row per element."""
        return [
            {"kernel": step.kernel, "shuffle": step.name, **step.values, "element": element.index, "lane": element.lane,
             "received": element.got, "by_the_rule": element.source, "fate": element.fate}
            for step in self.steps
            for element in step.elements
        ]  # fmt: skip

    def picture(self) -> tuple[bytes, bytes]:
        """Draw the steps, each named by what tells it from the others, and a legend."""
        differing = [name for name in NAMED if len({step.values[name] for step in self.steps}) > 1]
        tour = len({step.kernel for step in self.steps}) > 1
        names = [
            [
                *([one_line(step.kernel, 26)] if tour else []),
                step.name,
                *(f"{name} {step.values[name]}" for name in differing if step.values[name]),
            ]
            for step in self.steps
        ]
        firsts = [(step, len(lines(step)[0][0])) for step in self.steps]  # no line of a step is longer
        side = min(MAX_SIDE, *((MAX_LINE_WIDTH - _offset(step, long - 1)) / long for step, long in firsts))
        left = EDGE + max(86.0, *(7.6 * len(name) for own in names for name in own)) + ROW_NAMES
        squares = max(long * side + _offset(step, long - 1) for step, long in firsts)
        longest = max((len(words) for step in self.steps for words in _remarks(step)), default=0)
        wide = max(730.0, left + squares + EDGE, left + 7.2 * longest)
        canvas, y = Canvas(), 6.0
        for words, size, fill, attributes in ((self.title, 16, INK, BOLD), (self.notes, 11.5, PALE, "")):
            for line in textwrap.wrap(words, int(wide / (0.66 * size if attributes else 0.6 * size))):
                y += 1.3 * size
                canvas.text(line, EDGE, y - 0.4 * size, size, fill, attributes)
            y += 4
        y += 14
        for step, own in zip(self.steps, names, strict=True):
            y += _step(canvas, step, own, side, left, y) + STEP_SPACE
        for words in _legend(self.steps, strays=canvas.strays):
            for line in textwrap.wrap(words, int(wide / 6.8)):
                canvas.text(line, EDGE, y, 11.5, PALE)
                y += TEXT_LINE
        return canvas.svg(self.title, wide, y), b""


def figures(results: Results) -> list[Lanes]:
    """Choose the lane pictures of a run, in its order. Devices never share one."""
    steps = [step for row in results.run.rows if row["received"] and (step := read(row))]
    by_device = group(steps, lambda step: step.device)
    chosen: list[Lanes] = []
    for device, own in by_device.items():
        suffix, kernels = f"-{slug(device)}" * (len(by_device) > 1), group(own, lambda step: step.kernel)
        few = [kernel for kernel, of_kernel in kernels.items() if len(_distinct(of_kernel)) <= MAX_SHARED]
        if len(few) > 1:
            chosen.append(_figure([step for step in own if step.kernel in few], f"lanes{suffix}"))
        for kernel, of_kernel in kernels.items():
            if kernel not in few or len(few) == 1:
                chosen.append(_figure(of_kernel, f"lanes-{slug(kernel) or 'kernel'}{suffix}"))
    return chosen


def stacked(rows: Iterable[Mapping[str, Any]], title: str = "") -> bytes:
    """Draw the lane picture of some rows, one step per row, as SVG without a run folder; see `report.draw_lanes`."""
    steps = [step for row in rows if (step := read(row))]
    if not steps:
        raise ValueError("none of the rows has a shuffle and what each element received")
    return _figure(steps, "lanes", title).picture()[0]


def _figure(steps: list[LaneStep], stem: str, title: str = "") -> Lanes:
    kernels, distinct = list(dict.fromkeys(step.kernel for step in steps)), _distinct(steps)
    first = sorted(distinct, key=lambda step: not step.of_fate("wrong"))[:MAX_STEPS]  # wrong steps are always shown
    drawn = tuple(step for step in distinct if step in first)
    values = {name: list(dict.fromkeys(step.values[name] for step in drawn)) for name in NAMED}
    same = ", ".join(f"{name} {texts[0]}" for name, texts in values.items() if len(texts) == 1 and texts[0])
    devices = [f"on {label(device)}" for device in dict.fromkeys(step.device for step in drawn) if device]
    what = one_line(kernels[0], 40) if len(kernels) == 1 else "Shuffles"
    twins = len(steps) - len(distinct)
    rest = f"{count(twins, 'case')} moved the same as another." if twins else "results.csv has the rest."
    notes = sentences(
        f"{listed(list(dict.fromkeys(step.intrinsic for step in drawn)))}, one launch for each step.",
        f"Same in all steps: {same}." if same else "",
        f"Drawn: {len(drawn)} of {count(len(steps), 'case')}; {rest}" if len(drawn) < len(steps) else "",
    )
    title = title or f"{what}: which lane's register each lane received ({' '.join(['measured', *devices])})"
    words = [f"{step.kernel} {step.name}{''.join(f'; {remark}' for remark in step.remarks())}" for step in drawn]
    caption = f"Steps: {', '.join(words)}. The column received of results.csv has every map."
    return Lanes("lanes", stem, title, caption, drawn, notes)


def _distinct(steps: list[LaneStep]) -> list[LaneStep]:
    """Drop steps that would look like an earlier one. Size, dtype and seed do not affect the drawing."""
    looks: dict[tuple[Any, ...], LaneStep] = {}
    for step in steps:
        shape = tuple(value for name, value in step.values.items() if name not in ("size", "dtype"))
        looks.setdefault((step.kernel, step.name, shape, step.elements, step.status), step)
    return list(looks.values())


@dataclass
class Canvas:
    """Collects boxes and arrows by style, and text."""

    boxes: dict[str, list[str]] = field(default_factory=lambda: {look: [] for look in STYLES})
    arrows: dict[str, list[str]] = field(default_factory=lambda: {look: [] for look in ARROWS})
    words: list[str] = field(default_factory=list)
    strays: bool = False  # whether an arrow comes from another line

    def box(self, look: str, x: float, y: float, wide: float, tall: float) -> None:
        """Add a rectangle."""
        self.boxes[look].append(f"M{x:.1f} {y:.1f}h{wide:.1f}v{tall:.1f}h{-wide:.1f}z")

    def text(self, words: str, x: float, y: float, size: float = 11.5, fill: str = INK, attributes: str = "") -> None:
        """Add a line of text, vertically centred at `y`. `attributes` are inserted unescaped."""
        colour = "" if fill == INK else f' fill="{fill}"'
        look = f'x="{x:.1f}" y="{y + 0.36 * size:.1f}" font-size="{size:g}"{colour}{attributes and " " + attributes}'
        self.words.append(f"<text {look}>{html.escape(plain(words))}</text>")

    def svg(self, title: str, wide: float, tall: float) -> bytes:
        """Return the SVG of this width and height, in pixels."""
        used = {look: "".join(parts) for look, parts in self.arrows.items() if parts}
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
            f'<g fill="none" stroke="{colour}" style="{style}" marker-end="url(#head-{look})">{used[look]}</g>'
            for look, (colour, style) in ARROWS.items()
            if look in used
        )
        boxes = "".join(f'<path d="{"".join(p)}" style="{STYLES[look]}"/>' for look, p in self.boxes.items() if p)
        words = "\n".join(self.words)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:.0f}" height="{tall:.0f}" '
            f'viewBox="0 0 {wide:.0f} {tall:.0f}" font-family="DejaVu Sans, Verdana, sans-serif" fill="{INK}">'
            f"<title>{html.escape(plain(title))}</title><defs>{heads}{hatch}</defs>"
            f'<rect width="100%" height="100%" fill="#fff"/>{arrows}{boxes}{words}</svg>\n'
        ).encode("utf-8", "replace")


def lines(step: LaneStep) -> tuple[list[tuple[Element, ...]], int]:
    """Split a step's elements into the lines to draw, and the number of further lines that look like the second.

    A line is a warp, or the largest power of two of whole threads that fits into `LINE` elements.
    """
    threads = max(1, LINE // step.per_thread)
    n = min(LINE, step.per_thread * (1 << (threads.bit_length() - 1)))
    split = [step.elements[start : start + n] for start in range(0, len(step.elements), n)]
    looks = [
        [(None if e.got is None else e.got - line[0].index, e.source - line[0].index, e.fate) for e in line]
        for line in split
    ]
    same = all(look == looks[1] for look in looks[2:])
    return (split[:2], max(0, len(split) - 2)) if same else (split, 0)


def _offset(step: LaneStep, place: int, first: int = 0) -> float:
    """The gaps left of a line's element, in pixels: between threads of several elements, and between segments."""
    here, start = step.elements[first + place], step.elements[first]
    threads = (here.index // step.per_thread - start.index // step.per_thread) if step.arrays else 0
    return GAP * (threads + (here.segment - start.segment if step.width >= 4 else 0))


def _remarks(step: LaneStep) -> list[str]:
    """The text below a step: its remarks, and what is not drawn."""
    same, words = lines(step)[1], step.remarks()
    if same:
        words.append(f"Not drawn: {count(same, 'further line')} like the one above.")
    if len(step.elements) == MOST_RECEIVED < step.threads * step.per_thread:
        words.append(f"Measured: the first {MOST_RECEIVED} elements of the block's {step.threads * step.per_thread:,}.")
    return words


def _step(canvas: Canvas, step: LaneStep, names: Sequence[str], side: float, left: float, top: float) -> float:
    """Draw a step, and return its height."""
    y = top + (LANE_NUMBERS if step.arrays else 0)
    for place, words in enumerate(names):
        canvas.text(words, EDGE, y + 9 + 16 * place, 11.5 if place else 13, INK, "" if place else BOLD)
    if step.status != "ok":
        canvas.text(step.status, EDGE, y + 9 + 16 * len(names), 11.5, RED)
    for number, own in enumerate(lines(step)[0]):
        y += 15 + (LANE_NUMBERS if step.arrays else 0) if number else 0
        y += _line(canvas, step, own, side, left, y)
    for words in _remarks(step):
        wrong = "differ" in words
        colour = RED if wrong else CRIMSON if words.startswith("undefined") else PALE
        canvas.text(words, left, y + TEXT_LINE / 2 + 3, 11.5, colour, BOLD if wrong else "")
        y += TEXT_LINE
    return max(y - top, 20.0 + 15 * (len(names) + (step.status != "ok")))


def _line(canvas: Canvas, step: LaneStep, own: tuple[Element, ...], side: float, left: float, upper: float) -> float:
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
            from_x, from_y = (x[at] + half, upper + side) if inside else stub
            canvas.strays |= not inside
            path = f"M{from_x:.1f} {from_y:.1f}L{middle:.1f} {lower - (0 if e.fate == 'own' else 3):.1f}"
            look = ARROW_OF.get(e.fate, str(e.segment % len(SEGMENTS)))
            canvas.arrows[look].append(f'<path d="{path}"/>')
    for thread in range(0, len(own), step.per_thread) if step.arrays else ():
        last = min(thread + step.per_thread, len(own)) - 1
        for y in (upper, lower):
            canvas.box("thread", x[thread], y, x[last] + side - x[thread], side)
        canvas.text(f"lane {own[thread].lane}", (x[thread] + x[last] + side) / 2, upper - 8, 10, PALE, CENTRE)
    return 2 * side + fall


def _legend(steps: Sequence[LaneStep], *, strays: bool) -> Iterator[str]:
    """Explain the marks that the picture contains, one sentence each."""
    fates = {element.fate for step in steps for element in step.elements}
    if all(step.arrays for step in steps):
        yield "Upper squares: the elements before, framed by lane. Lower: the element whose value each then held."
    else:
        yield "Upper squares: the lanes before, by number. Lower: the lane whose value the lane above then held."
        if any(step.arrays for step in steps):
            yield "Framed squares: one lane's elements, numbered through the block."
    several = any(element.segment for step in steps for element in step.elements)
    yield f"Arrow: a value that moved, as measured{'; each segment has a colour' * several}."
    yield from (sentence for fate, sentence in LEGEND.items() if fate in fates)
    if strays:
        yield "Short arrow: its source is in another line or in no lane of the block, on the side that it comes from."
