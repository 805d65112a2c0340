"""The legend of a lane picture, in words: only what the picture has. Pure: no drawing here."""

from __future__ import annotations

from runner.report.figures.lanes.choice import LanePlot
from runner.report.figures.lanes.layout import Layout, tagged, within


def legend(plot: LanePlot, layouts: list[Layout]) -> list[str]:
    """Sentences, each on a line of its own."""
    steps = plot.steps
    fates = {element.fate for step in steps for element in step.elements}
    arrays = [tagged(step) for step in steps]
    if all(arrays):
        rows = "Upper squares: the elements before, framed by lane. Lower: the element whose value each then held."
    else:
        rows = "Upper squares: the lanes before, by number. Lower: the lane whose value the lane above then held."
        rows += " Framed squares: one lane's elements, numbered through the block." if any(arrays) else ""
    several = any(element.segment for step in steps for element in step.elements)
    segments = "; a colour for each segment, and a gap from 4 lanes on" if several else ""
    words = [
        rows,
        f"Arrow: a value that moved, as measured{segments}.",
        "Dotted grey line: the lane kept its own value." if "own" in fates else "",
        "Hatched: a lane outside the mask; it does not take part and keeps its value." if "idle" in fates else "",
        "Dashed crimson and ?: CUDA leaves undefined what is received; the arrow starts at the lane that was asked."
        if "undefined" in fates
        else "",
        "Grey and –: what arrived is no element, but the 0 of a lane beyond the last one."  # noqa: RUF001
        if "beyond" in fates
        else "",
        "Thick red: measured, and not what CUDA's rule says; × is a value that no element of the input has."  # noqa: RUF001
        if "wrong" in fates
        else "",
        "Short arrow: its source stands in another line or in no lane of the block, on the side that it comes from."
        if any(_strays(layout) for layout in layouts)
        else "",
    ]
    return [line for line in words if line]


def _strays(layout: Layout) -> bool:
    return any(
        not within(source, tuple(square.element for square in line.squares))
        for line in layout.lines
        for square in line.squares
        if square.element.fate != "idle" and (source := square.element.drawn_from) is not None
    )
