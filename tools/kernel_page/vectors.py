"""Drawing a stencil by vectors: which vectors one thread needs, as docs/kernels.md shows it."""

from __future__ import annotations

from matplotlib.figure import Figure

from kernel_page.drawings import LOOKS
from kernel_page.sheet import EDGE, Sheet, heading
from runner.report.figures.style import PALE, saved

TITLE = "A stencil by vectors: a thread needs its own, and those beside it"
WORDS = (
    "Five threads have a vector of 4 elements each. Thread 2 computes 4 elements of the output, +8 to +11. The "
    "neighbours of the first reach down to +4, those of the last up to +15: they are what threads 1, 2 and 3 have."
)


def vectors(threads: int = 5, radius: int = 4) -> bytes:
    """The vectors of some threads, and what the middle one of them needs, as SVG; a vector is as long as the radius."""
    notes = (
        "Blue: the vector of the thread itself. Hatched: those beside it, loaded once more, or received by shuffles "
        "from the lanes that have them. Dotted: how far the neighbours of its first and of its last element reach."
    )
    return saved(lambda: _vectors(threads, radius, notes), png=False)[0]


def _vectors(threads: int, radius: int, notes: str) -> Figure:
    sheet = Sheet(LOOKS)
    side, gap, left, own = 0.34, 0.12, 1.35, threads // 2
    top = heading(sheet, TITLE, notes, 8.6) + 0.12
    above, below = top + 0.14, top + 1.5

    def corner(element: int) -> float:
        return left + element * side + element // radius * gap

    for name, y in (("in[first + ...]", above), ("out[first + ...]", below)):
        sheet.words((left - 0.12, y + side / 2), name, 9, ha="right")
    for thread in range(threads):
        beside = "live" if thread == own else "halo" if abs(thread - own) == 1 else "idle"
        sheet.words((corner(thread * radius) + radius * side / 2, top), f"thread {thread}", 8, ha="center", color=PALE)
        for element in range(thread * radius, (thread + 1) * radius):
            for y, look in ((above, beside), (below, "live" if thread == own else "idle")):
                sheet.box((corner(element), y), side, side, look)
                plate = {"facecolor": "white", "edgecolor": "none", "pad": 1.2} if look == "halo" else None
                text = f"{element:+d}" if element else "0"
                sheet.words((corner(element) + side / 2, y + side / 2), text, 8, ha="center", bbox=plate)
    for number, element in enumerate((own * radius, (own + 1) * radius - 1)):
        for neighbour in (element - radius, element + radius):
            start, end = corner(neighbour) + side / 2, corner(element) + side / 2
            sheet.line("stays", (start, above + side), (end, below))
        sheet.words((corner(element) + side / 2, below + side + 0.14), ("first", "last")[number], 7.5, ha="center")
    for thread in (own - 1, own, own + 1):
        middle = corner(thread * radius) + radius * side / 2
        sheet.arrow((middle, above + side), (corner(own * radius) + radius * side / 2, below - 0.015), "added")
    return sheet.figure(corner(threads * radius - 1) + side + EDGE, below + side + 0.24 + EDGE)
