"""Pictures that are drawn rather than measured: folding, a stencil's tile, vectors, tiles, and who breaks a rule."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from kernel_page.sheet import BLUE, CRIMSON, EDGE, PALE, Sheet

FOLDED = (16, 11)  # threads of the blocks that are drawn


@dataclass(frozen=True)
class Fold:
    """One step of a block's folding: place t of the first `adders` adds what place t + half holds."""

    active: int
    half: int
    adders: int


def folds(block: int) -> list[Fold]:
    """The steps of the kernels' loop."""
    steps = []
    while block > 1:
        half = (block + 1) // 2
        steps.append(Fold(block, half, block // 2))
        block = half
    return steps


def sums(block: int) -> list[list[int]]:
    """How many elements each place has added up: at first, and after each step."""
    held = [[1] * block]
    for step in folds(block):
        before = held[-1]
        held.append([n + (before[t + step.half] if t < step.adders else 0) for t, n in enumerate(before)])
    return held


def folding() -> tuple[bytes, str]:
    """The folding of two blocks, side by side."""
    sheet, side, fall = Sheet(), 0.27, 0.36
    notes = (
        f"Blocks of {' and '.join(map(str, FOLDED))} threads; larger blocks fold in the same way. The number is how "
        "many elements a place has added up. Arrow: added. Dotted: kept. Grey: no longer needed. All threads meet at a "
        "barrier between two rows."
    )
    top = sheet.heading(
        "Folding a block: the upper half is added onto the lower half until one place is left", notes, 9.2
    )
    left, lowest = EDGE, top
    for block in FOLDED:
        x, y, steps = left + 0.78, top + 0.42, folds(block)
        sheet.words((left, top + 0.12), f"{block} threads", 9.5, bold=True)
        sheet.words((x - 0.08, top + 0.32), "thread", 7.5, anchor="end", colour=PALE)
        for t in range(block):
            sheet.number((x + (t + 0.5) * side, top + 0.32), t, 7, PALE)
        for number, held in enumerate(sums(block)):
            step = steps[number] if number < len(steps) else Fold(1, 0, 0)
            for t, n in enumerate(held):
                sheet.box((x + t * side, y), side, side, "live" if t < step.active else "idle")
                if t < step.active:
                    sheet.number((x + (t + 0.5) * side, y + side / 2), n)
            sheet.words((x - 0.08, y + side / 2), f"{step.active} active", 7.5, anchor="end", colour=PALE)
            for t in range(step.half):
                end = (x + (t + 0.5) * side, y + side + fall)
                sheet.line("stays", (end[0], y + side), end)
                if t < step.adders:
                    sheet.line("added", (end[0] + step.half * side, y + side), end)
            y += side + fall
        lowest, left = max(lowest, y - fall), x + block * side + 0.35
    alt = (
        "Blocks of 16 and 11 threads fold. Of 16 places, the upper 8 are added onto the lower 8, then 4 onto 4, 2 onto "
        "2 and 1 onto 1. Of 11 places, 5 are added and the middle one waits; 6, 3, 2 and 1 are left."
    )
    return sheet.svg(left - 0.35 + EDGE, lowest + EDGE), alt


@dataclass(frozen=True)
class Cell:
    """An element of a stencil's tile: its place, its index counted from the block's first element, and who loads it."""

    place: int
    element: int
    thread: int

    @property
    def halo(self) -> bool:
        """Whether another block computes the output of this element."""
        return self.element != self.thread


def tile(block: int, radius: int) -> list[Cell]:
    """Who loads which element: each thread its own, and the first `radius` threads both ends as well."""
    cells = [Cell(t + radius, t, t) for t in range(block)]
    for t in range(radius):
        cells += [Cell(t, t - radius, t), Cell(t + radius + block, t + block, t)]
    return sorted(cells, key=lambda cell: cell.place)


def halo(block: int = 8, radius: int = 4, reader: int = 3) -> tuple[bytes, str]:
    """A stencil's tile with its halo, and what one thread reads."""
    sheet, side, gap, left = Sheet(), 0.4, 0.12, 1.55
    notes = (
        f"A block of {block} threads; larger blocks do the same. Dashed: the halo. The first {radius} threads load two "
        f"elements of it each. Arrows below: thread {reader} reads {radius} elements on each side, but not its own."
    )
    top = sheet.heading("A stencil's tile in shared memory, with its halo", notes, 8.2) + 0.1
    above, thread, middle, below = top, top + 0.56, top + 0.8, top + 2.1

    def x(cell: Cell) -> float:
        return left + (cell.place + 0.5) * side + gap * ((cell.place >= radius) + (cell.place >= radius + block))

    for y, name in ((above, "in[first + ...]"), (middle, "tile[...]"), (below, "out[first + ...]")):
        sheet.words((left - 0.12, y + side / 2), name, 9, anchor="end")
    sheet.words((left - 0.12, thread), "loaded by thread", 8, anchor="end", colour=PALE)
    sheet.words((left - 0.12, middle + side + 0.14), "times coefficient", 8, anchor="end", colour=PALE)
    cells = tile(block, radius)
    own = next(cell for cell in cells if not cell.halo and cell.thread == reader)
    for cell in cells:
        at, look = x(cell), "halo" if cell.halo else "live"
        for y, text in ((above, _signed(cell.element)), (middle, str(cell.place))):
            sheet.box((at - side / 2, y), side, side, look)
            sheet.number((at, y + side / 2), text, 8)
        sheet.line("loaded", (at, above + side), (at, middle))
        sheet.words((at + 0.05, thread), cell.thread, 7.5, colour=PALE)
        if not cell.halo:
            sheet.box((at - side / 2, below), side, side, "live" if cell == own else "idle")
            sheet.number((at, below + side / 2), _signed(cell.element), 8)
        distance = cell.place - own.place
        if 0 < abs(distance) <= radius:
            sheet.number((at, middle + side + 0.14), f"{'+' if distance > 0 else '-'}c[{abs(distance)}]", 7.5)
            sheet.line("added", (at, middle + side + 0.25), (x(own) + distance * 0.035, below))
    alt = (
        "A block of 8 threads loads 16 elements into shared memory: each thread its own, and threads 0 to 3 also one "
        "of the 4 elements before and one of the 4 elements after. Thread 3 reads 4 elements on each side of its own."
    )
    return sheet.svg(x(cells[-1]) + side / 2 + EDGE, below + side + EDGE), alt


def _signed(element: int) -> str:
    return f"{element:+d}" if element else "0"


def vectors(threads: int = 5, radius: int = 4) -> tuple[bytes, str]:
    """Which vectors one thread of a stencil needs; a vector is as long as the radius."""
    sheet, side, gap, left, own = Sheet(), 0.34, 0.12, 1.35, threads // 2
    notes = (
        "Blue: the thread's own vector. Dashed: its neighbours' vectors, loaded again or received by shuffles. Dotted: "
        "how far the neighbours of its first and last element reach."
    )
    top = sheet.heading("A stencil by vectors: a thread needs its own vector and both neighbours'", notes, 8.6) + 0.12
    above, below = top + 0.14, top + 1.5

    def corner(element: int) -> float:
        return left + element * side + element // radius * gap

    for name, y in (("in[first + ...]", above), ("out[first + ...]", below)):
        sheet.words((left - 0.12, y + side / 2), name, 9, anchor="end")
    middle = corner(own * radius) + radius * side / 2
    for thread in range(threads):
        centre = corner(thread * radius) + radius * side / 2
        look = "live" if thread == own else "halo" if abs(thread - own) == 1 else "idle"
        sheet.number((centre, top), f"thread {thread}", 8, PALE)
        for element in range(thread * radius, (thread + 1) * radius):
            for y, drawn in ((above, look), (below, "live" if thread == own else "idle")):
                sheet.box((corner(element), y), side, side, drawn)
                sheet.number((corner(element) + side / 2, y + side / 2), _signed(element), 8)
        if look != "idle":
            sheet.line("added", (centre, above + side), (middle, below))
    for name, element in (("first", own * radius), ("last", (own + 1) * radius - 1)):
        end = corner(element) + side / 2
        for neighbour in (element - radius, element + radius):
            sheet.line("stays", (corner(neighbour) + side / 2, above + side), (end, below))
        sheet.number((end, below + side + 0.14), name, 7.5)
    alt = (
        "Five threads have a vector of 4 elements each. Thread 2 computes outputs 8 to 11. It needs inputs 4 to 15, "
        "which are the vectors of threads 1, 2 and 3."
    )
    return sheet.svg(corner(threads * radius - 1) + side + EDGE, below + side + 0.24 + EDGE), alt


def tiles(threads: int = 4, per_vector: int = 4, count: int = 8, blocks: int = 4) -> tuple[bytes, str]:
    """A tile of vectors, and which block takes which tile."""
    sheet, left, side, gap, tile_wide = Sheet(), EDGE + 1.25, 0.27, 0.06, 0.6
    looks = ("live", "green", "amber", "violet")
    notes = (
        f"Drawn for {threads} threads, 2 vectors a thread and {blocks} blocks; real ones are larger. A frame is a "
        f"vector of {per_vector} elements, which one instruction loads. Its colour and number are the thread's."
    )
    y = sheet.heading("A tile of vectors, and which block takes which tile", notes, 8.2) + 0.15
    for number, name in enumerate(("first vectors", "second vectors")):
        sheet.words((EDGE, y + side / 2), name)
        x, wide, first = left, per_vector * side, number * threads * per_vector
        for t in range(threads):
            sheet.box((x, y), wide, side, looks[t])
            sheet.number((x + wide / 2, y + side / 2), t, 8.5)
            for e in range(1, per_vector):
                sheet.line("inner", (x + e * side, y + 0.03), (x + e * side, y + side - 0.03))
            x += wide + gap
        told = f"elements {first} to {first + threads * per_vector - 1} of the tile"
        sheet.words((x + 0.02, y + side / 2), told, 7.5, colour=PALE)
        y += side + 0.08
    y += 0.3
    for name, step in (("a tile a block", count), (f"{blocks} blocks stride", blocks)):
        sheet.words((EDGE, y + side / 2), name)
        for n in range(count):
            corner = (left + n * (tile_wide + gap), y)
            sheet.box(corner, tile_wide, side, "own" if step == count else looks[n % step])
            sheet.number((corner[0] + tile_wide / 2, y + side / 2), n % step, 8.5)
        y += side + 0.12
    sheet.words((left, y + 0.05), f"tiles 0 to {count - 1} of the array; the number is the block's", 7.5, colour=PALE)
    alt = (
        "Above, one tile of a block of 4 threads: thread 0 loads elements 0 to 3 as one vector, thread 1 the next "
        "four, and so on; a second round of vectors is requested before the first has arrived. Below, 8 tiles: with "
        "one tile a block, blocks 0 to 7 take one each; with 4 blocks that stride, block 0 takes tiles 0 and 4."
    )
    return sheet.svg(8.2, y + 0.2), alt


ALL, LOWER = frozenset(range(32)), frozenset(range(16))
UPPER, EVEN = ALL - LOWER, frozenset(range(0, 32, 2))


@dataclass(frozen=True)
class Who:
    """Lanes that do something, such as calling; those among `bad` break the rule."""

    does: str
    lanes: frozenset[int]
    bad: frozenset[int] = frozenset()


Panels = Sequence[tuple[str, Sequence[Who]]]

# Which lanes of the first warp do what in the counterexamples: the title, then the panels.
_MASKED = [Who("is named by the mask", LOWER), Who("calls the shuffle", LOWER)]
RULES: dict[str, tuple[str, Panels]] = {
    "barrierDivergent": (
        "A barrier in two branches",
        [
            ("broken", [Who("waits at one barrier", EVEN, EVEN), Who("waits at another", ALL - EVEN, ALL - EVEN)]),
            ("repaired", [Who("waits at the barrier", ALL)]),
        ],
    ),
    "maskWithoutCaller": (
        "Callers that the mask does not name",
        [
            ("broken", [Who("is named by the mask", LOWER), Who("calls the shuffle", ALL, UPPER)]),
            ("repaired", _MASKED),
        ],
    ),
    "maskNamesAbsent": (
        "Lanes that the mask names, but that do not call",
        [
            (
                "broken",
                [
                    Who("is named by the mask", ALL, UPPER),
                    Who("calls the shuffle", LOWER),
                    Who("is at the barrier", UPPER),
                ],
            ),
            ("repaired", _MASKED),
        ],
    ),
}


def rule(title: str, panels: Panels) -> tuple[bytes, str]:
    """Which lanes of a warp do what: a row for each action, below the name of each panel."""
    sheet, side, left = Sheet(), 0.23, 1.95
    notes = "The 32 lanes of the first warp. Blue: does it. Grey: does not. Dashed crimson: breaks the rule."
    y = sheet.heading(title, notes, left + 32 * side) + 0.14
    for name, rows in panels:
        sheet.words((EDGE, y), name, 9.5, bold=True)
        y += 0.18
        for row in rows:
            sheet.words((left - 0.1, y + side / 2), row.does, 8, anchor="end")
            for lane in range(32):
                look = "bad" if lane in row.bad else "live" if lane in row.lanes else "idle"
                sheet.box((left + lane * side, y), side, side, look)
                if look != "idle":
                    colour = CRIMSON if look == "bad" else BLUE
                    sheet.number((left + (lane + 0.5) * side, y + side / 2), lane, 6.5, colour)
            y += side + 0.07
        y += 0.22
    told = "; ".join(f"{name}: {ranges(sorted(w.lanes))} {w.does}" for name, rows in panels for w in rows)
    return sheet.svg(left + 32 * side + EDGE, y - 0.29 + EDGE), f"{title}. Lanes, {told}."


def ranges(numbers: Sequence[int]) -> str:
    """Numbers with runs shortened: `0-15, 18`; every other lane as `0, 2, ... 30`."""
    if len(numbers) > 4 and all(b - a == 2 for a, b in itertools.pairwise(numbers)):
        return f"{numbers[0]}, {numbers[1]}, ... {numbers[-1]}"
    runs: list[list[int]] = []
    for n in numbers:
        if runs and n == runs[-1][-1] + 1:
            runs[-1].append(n)
        else:
            runs.append([n])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
