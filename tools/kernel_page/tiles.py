"""The drawing of docs/kernels.md that shows which thread and which block of a reduction takes what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from kernel_page.sheet import EDGE, Sheet, heading
from runner.report.figures.style import PALE, SEGMENTS, saved

THREADS, VECTORS, PER_VECTOR = 4, 2, 4  # of the tile that is drawn; real ones are larger
TILES, BLOCKS = 8, 4
SIDE, GAP, TILE, DIGIT = 0.27, 0.06, 0.6, 8.5
PALES = ("#cfe4f3", "#cdeae0", "#f6e3c5", "#ded5ec")

LOOKS: dict[str, dict[str, Any]] = {
    "own": {"facecolor": "#f1f1f2", "edgecolor": "#8f8f8f", "linewidth": 0.9, "zorder": 1},
    "element": {"edgecolor": "#cfcfcf", "linewidth": 0.5, "zorder": 2},
    **{
        f"owner {n}": {"facecolor": pale, "edgecolor": dark, "linewidth": 0.9, "zorder": 1}
        for n, (pale, dark) in enumerate(zip(PALES, SEGMENTS, strict=False))
    },
}

WORDS = (
    f"Above, one tile of a block of {THREADS} threads: element 0 to 3 are one vector, loaded by thread 0 at once, the "
    f"next four by thread 1, and so on; elements {THREADS * PER_VECTOR} to {2 * THREADS * PER_VECTOR - 1} are each "
    f"thread's second vector, asked for before the first is there. Below, {TILES} tiles: with one tile a block, block "
    f"0 to {TILES - 1} take one each; with {BLOCKS} blocks that stride, tiles 0 and {BLOCKS} are block 0's, tiles 1 "
    f"and {BLOCKS + 1} block 1's, and so on."
)


def tiles() -> bytes:
    """The picture, as SVG."""
    notes = (
        f"Drawn for {THREADS} threads, {VECTORS} vectors a thread and {BLOCKS} blocks; real ones are larger. A frame "
        f"is a vector of {PER_VECTOR} elements, which one instruction loads; its colour and number tell the thread."
    )
    return saved(lambda: _tiles(notes), png=False)[0]


def _tiles(notes: str) -> Figure:
    sheet = Sheet(LOOKS)
    left, wide = EDGE + 1.25, 8.2
    y = heading(sheet, "A tile of vectors, and whose tile it is", notes, wide) + 0.15
    for k, told in enumerate(("first vectors", "second vectors")):
        sheet.words((EDGE, y + SIDE / 2), told)
        _vectors(sheet, (left, y), k * THREADS * PER_VECTOR)
        y += SIDE + 0.08
    y += 0.3
    sheet.words((EDGE, y + SIDE / 2), "a tile a block")
    _row(sheet, (left, y), range(TILES), ["own"] * TILES)
    y += SIDE + 0.12
    striding = [n % BLOCKS for n in range(TILES)]
    sheet.words((EDGE, y + SIDE / 2), f"{BLOCKS} blocks stride")
    _row(sheet, (left, y), striding, [f"owner {block}" for block in striding])
    y += SIDE + 0.17
    told = f"tiles 0 to {TILES - 1} of the array; the number tells the block"
    sheet.words((left, y), told, 7.5, color=PALE)
    return sheet.figure(wide, y + 0.15)


def _vectors(sheet: Sheet, corner: tuple[float, float], first: int) -> None:
    """A vector of each thread, side by side."""
    x, y = corner
    wide = PER_VECTOR * SIDE
    for t in range(THREADS):
        sheet.box((x, y), wide, SIDE, f"owner {t}")
        sheet.number((x + wide / 2, y + SIDE / 2), t, DIGIT)
        for e in range(1, PER_VECTOR):
            sheet.line("element", (x + e * SIDE, y + 0.03), (x + e * SIDE, y + SIDE - 0.03))
        x += wide + GAP
    told = f"elements {first} to {first + THREADS * PER_VECTOR - 1} of the tile"
    sheet.words((x + 0.02, y + SIDE / 2), told, 7.5, color=PALE)


def _row(sheet: Sheet, corner: tuple[float, float], blocks: Sequence[int], looks: Sequence[str]) -> None:
    """The array's tiles, with the block of each."""
    x, y = corner
    for block, look in zip(blocks, looks, strict=True):
        sheet.box((x, y), TILE, SIDE, look)
        sheet.number((x + TILE / 2, y + SIDE / 2), block, DIGIT)
        x += TILE + GAP
