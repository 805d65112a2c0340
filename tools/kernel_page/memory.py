"""Pictures of the cost of a warp's memory requests, from the addresses that the checked CPU device sees.

Shared memory: a row is a wavefront over the 32 banks. Global memory: a group of cells is a sector of 32 bytes.
`runner/device/cpu/native/checked/line_costs.h` has the rules.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kernel_page.sheet import EDGE, PALE, Sheet
from runner.device import cache
from runner.device.checked.counting import InstructionCost
from runner.device.checked.device import CheckedDevice
from runner.device.limits import Limits
from runner.display.text import count
from runner.kernel.declaration import Kernel, value_text
from runner.kernel.inputs import contents
from runner.kernel.resolve import make
from runner.stages.checked import builds
from runner.stages.lines.costs import GLOBAL, SHARED, LineCost
from runner.stages.lines.counting import by_line, count_instructions

FAMILIES = ("shared_memory", "bank_access", "transpose")
"""Whose kernels differ in what their accesses cost."""

WARP, BANKS, WORD, SECTOR = 32, 32, 4, 32
"""Lanes, banks, bytes of a bank's word and of a sector."""

LEFT, WIDE, FEW = 0.98, 0.25, 8
"""Width of the row names; width of a cell; up to this many rows are drawn high."""

STRIDES = (0, 1, 2, 32)
"""The strides that are drawn: broadcast, parallel, a conflict of two, and serial."""

Cells = Sequence[tuple[int, ...]]


@dataclass(frozen=True)
class Request:
    """One request of a warp: its title, the line that makes it, and named rows of groups of cells.

    A cell holds the lanes that it serves.
    """

    title: str
    line: str
    rows: Sequence[tuple[str, Sequence[Cells]]]


def is_drawn(kernel: Kernel) -> bool:
    """Whether there is a picture of the kernel's requests."""
    return kernel.family in FAMILIES and not kernel.gpu_only


@functools.cache
def _counted(kernel: Kernel, stride: int | None = None) -> tuple[list[InstructionCost], list[LineCost]]:
    case = make(kernel, {} if stride is None else {"stride": stride}, 0)
    binary = builds.compiler(Limits()).compile(case.source())
    with contextlib.closing(CheckedDevice(threads=1)) as device:  # one thread, so that atomics run in a fixed order
        instructions, blocks = count_instructions(device, case, binary, contents(case))
    return instructions, list(by_line(instructions, blocks))


def lines_of(kernel: Kernel) -> list[LineCost]:
    """What each line of a kernel costs with its defaults."""
    return _counted(kernel)[1]


def picture(kernel: Kernel) -> tuple[bytes, str]:
    """The first warp's requests to shared memory, or to global memory if the kernel uses no shared memory."""
    shared = any(one.memory == SHARED for one in _counted(kernel)[0])
    requests = list(_of_shared(kernel) if shared else _of_global(kernel))
    notes = f"{_values(kernel, SHARED if shared else GLOBAL)}. "
    if shared:
        title = "Shared memory: which lanes of the first warp each bank serves in each wavefront"
        notes += "A row is a wavefront: one pass over the 32 banks. The number is the lane that the bank serves."
    else:
        title = "Global memory: the sectors that the first warp's requests move"
        notes += (
            "A group is a sector of 32 bytes, which moves as a whole. The number is the lane that uses the element."
        )
    svg = _draw(requests, title, f"{notes} Grey: unused.", banks=shared)
    return svg, f"{title}. {'; '.join(request.title for request in requests)}."


def _of_shared(kernel: Kernel) -> Iterator[Request]:
    strided = kernel.parameter("stride") is not None
    every = {n: _merged(_counted(kernel, n)[0], SHARED) for n in (STRIDES if strided else (None,))}
    for stride, requests in every.items():
        for kinds, one in requests:
            if strided and "load" not in kinds.lower():  # the store does not depend on the stride
                continue
            rows = served(one.first, one.first_bytes)
            name = f"Load with stride {stride}" if strided else kinds
            named = [f"wavefront {n}" if n == 1 or len(rows) <= FEW else str(n) for n in range(1, len(rows) + 1)]
            cells = [(row, [cells]) for row, cells in zip(named, rows, strict=True)]
            yield Request(f"{name}: {count(len(rows), 'wavefront')}", _line(kernel, one), cells)


def _of_global(kernel: Kernel) -> Iterator[Request]:
    for kinds, one in _merged(_counted(kernel)[0], GLOBAL):
        size, lanes = one.first_bytes, one.first
        sectors = touched(lanes, size)
        wanted = len({at for at in lanes if at is not None}) * size
        moved = f"{kinds}: {count(len(sectors), 'sector')}, {len(sectors) * SECTOR} bytes for {wanted}"
        numbers, each = list(sectors), BANKS * size // SECTOR  # sectors in a row of 32 elements
        starts = range(0, len(numbers), each)
        rows = [
            (f"byte {SECTOR * numbers[n]:,}", [sectors[number] for number in numbers[n : n + each]]) for n in starts
        ]
        yield Request(moved, _line(kernel, one), rows)


def _merged(instructions: Sequence[InstructionCost], memory: str) -> list[tuple[str, InstructionCost]]:
    """The first request of each line and kind; a load and a store of the same elements are one, `Store and load`."""
    firsts = {(one.file, one.line, one.kind): one for one in reversed(instructions) if one.memory == memory}
    kinds: dict[tuple[object, ...], list[InstructionCost]] = {}
    for one in sorted(firsts.values(), key=lambda one: (one.file, one.line, one.kind)):
        kinds.setdefault((one.first, one.first_bytes), []).append(one)
    return [(" and ".join(dict.fromkeys(a.kind for a in those)).capitalize(), those[0]) for those in kinds.values()]


def _line(kernel: Kernel, one: InstructionCost) -> str:
    """The text of a line."""
    file = kernel.source.with_name(one.file)
    return " ".join(cache.read(file).splitlines()[one.line - 1].split())


def served(lanes: Sequence[int | None], itemsize: int) -> list[tuple[tuple[int, ...], ...]]:
    """Which lanes each of the 32 banks serves, one row for each wavefront, by the byte that each lane accesses.

    The hardware chooses the order of a bank's words; here the word of the lowest lane comes first.
    """
    part = WARP * WORD // max(itemsize, WORD)  # lanes whose elements fill the banks
    if None not in lanes and itemsize <= 2 * WORD:
        part = WARP if any(all(at == lanes[i ^ by] for i, at in enumerate(lanes)) for by in (1, 2)) else part
    rows: list[tuple[tuple[int, ...], ...]] = []
    for first in range(0, len(lanes), part):
        banks: list[dict[int, list[int]]] = [{} for _ in range(BANKS)]
        for lane, at in enumerate(lanes[first : first + part], first):
            for word in () if at is None else range(at // WORD, (at + itemsize - 1) // WORD + 1):
                banks[word % BANKS].setdefault(word, []).append(lane)
        rows += itertools.zip_longest(*(map(tuple, bank.values()) for bank in banks), fillvalue=())
    return rows


def touched(lanes: Sequence[int | None], itemsize: int) -> dict[int, Cells]:
    """The sectors that one request moves, by number and in order; in each, the lanes that access each element."""
    found: dict[int, list[list[int]]] = {}
    for lane, at in enumerate(lanes):
        if at is not None:
            found.setdefault(at // SECTOR, [[] for _ in range(SECTOR // itemsize)])[at % SECTOR // itemsize].append(
                lane
            )
    return {sector: tuple(map(tuple, found[sector])) for sector in sorted(found)}


def _values(kernel: Kernel, memory: str) -> str:
    """The values of the kernel's parameters, and how many bytes a lane accesses."""
    chosen = make(kernel, {}, 0).shown_parameters
    values = [
        f"{p.name} {value_text(p.kind, chosen[p.name])}"
        for p in kernel.parameters
        if p.name in chosen and p.name not in ("stride", "cache", "fill", "loads", "blocks")
    ]
    sizes = sorted({one.first_bytes for one in _counted(kernel)[0] if one.memory == memory})
    text = f"{', '.join(values)}; a lane accesses {' or '.join(map(str, sizes))} bytes"
    return text[0].upper() + text[1:]


def _draw(requests: Sequence[Request], title: str, notes: str, *, banks: bool) -> bytes:
    sheet, right = Sheet(), LEFT
    y = sheet.heading(title, notes, LEFT + BANKS * WIDE + EDGE) + 0.12
    for number, request in enumerate(requests):
        sheet.words((EDGE, y), request.title, 9.5, bold=True)
        lines = textwrap.wrap(request.line, 130)
        for n, line in enumerate(lines):
            sheet.words((EDGE, y + 0.18 + 0.15 * n), line, 8, colour=PALE)
        y += 0.36 + 0.15 * (len(lines) - 1)
        if banks and not number:
            sheet.words((LEFT - 0.08, y + 0.06), "bank", 7.5, anchor="end", colour=PALE)
            for bank in range(BANKS):
                sheet.number((LEFT + (bank + 0.5) * WIDE, y + 0.06), bank, 7, PALE)
            y += 0.15
        high, apart = 0.25 if len(request.rows) <= FEW else 0.165, 0.0 if banks else 0.05
        for name, groups in request.rows:
            sheet.words((LEFT - 0.08, y + high / 2), name, 7.5, anchor="end", colour=PALE)
            x = LEFT
            for group in groups:
                _group(sheet, (x, y), high, group)
                x += len(group) * WIDE + apart * 1.6
            right = max(right, x - apart * 1.6)
            y += high + apart
        y += 0.32 - apart
    return sheet.svg(right + EDGE, y - 0.32 + EDGE)


def _group(sheet: Sheet, corner: tuple[float, float], high: float, group: Cells) -> None:
    """Cells side by side. If several lanes share the last served cell, their numbers are beside it."""
    x, y = corner
    sheet.box(corner, len(group) * WIDE, high, "idle")
    for n, lanes in enumerate(group):
        left = x + n * WIDE
        if n:
            sheet.line((left, y), high)
        if not lanes:
            continue
        sheet.box((left, y), WIDE, high, "live")
        if len(lanes) > 1 and not any(group[n + 1 :]) and n + 1 < len(group):
            sheet.words((left + WIDE + 0.06, y + high / 2), f"lanes {ranges(lanes)}", 7.5)
        else:
            text = str(lanes[0]) if len(lanes) == 1 else f"{len(lanes)}×"  # noqa: RUF001 - times
            sheet.number((left + WIDE / 2, y + high / 2), text, 7 if len(lanes) == 1 else 6)


def ranges(numbers: Sequence[int]) -> str:
    """Numbers with runs shortened: `0-15, 18`; every other lane as `0, 2, ... 30`."""
    if len(numbers) > 4 and all(b - a == 2 for a, b in itertools.pairwise(numbers)):
        return f"{numbers[0]}, {numbers[1]}, ... {numbers[-1]}"
    groups = itertools.groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])
    runs = [[n for _, n in group] for _, group in groups]
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
