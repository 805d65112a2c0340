"""Pictures of the cost of a warp's memory requests, calculated from the accesses that a kernel's YAML declares.

Shared memory: a row is a wavefront over the 32 banks. Global memory: a group of cells is a sector of 32 bytes.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kernel_page.sheet import EDGE, PALE, Sheet
from runner.kernel import access
from runner.kernel.declaration import Access, Kernel, variables, written
from runner.kernel.resolve import make
from runner.report.text import count

LEFT, WIDE, FEW = 0.98, 0.25, 8
"""Width of the row names; width of a cell; up to this many rows are drawn high."""

STRIDES = (0, 1, 2, 32)
"""The strides that are drawn: broadcast, parallel, a conflict of two, and serial."""

Cells = Sequence[tuple[int, ...]]


@dataclass(frozen=True)
class Request:
    """One request of a warp: its title, the element that a thread accesses, and named rows of groups of cells.

    A cell holds the lanes that it serves.
    """

    title: str
    element: str
    rows: Sequence[tuple[str, Sequence[Cells]]]


def picture(kernel: Kernel) -> tuple[bytes, str]:
    """The first warp's requests to shared memory, or to global memory if the kernel uses no shared memory."""
    shared = any(a.memory == "shared" for a in kernel.accesses)
    requests = list(_of_shared(kernel) if shared else _of_global(kernel))
    notes = f"{_values(kernel, 'shared' if shared else 'global')}. "
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
    for given in [{"stride": n} for n in STRIDES] if strided else [{}]:
        case = make(kernel, given, 0)
        for kinds, a in _merged([a for a in kernel.accesses if a.memory == "shared"]):
            if strided and "stride" not in a.index.names:
                continue
            served = access.served(access.first_request(a, case), access.bytes_of(a, case))
            name = f"{kinds} with stride {given['stride']}" if strided else kinds
            named = [f"wavefront {n}" if n == 1 or len(served) <= FEW else str(n) for n in range(1, len(served) + 1)]
            rows = [(row, [cells]) for row, cells in zip(named, served, strict=True)]
            yield Request(f"{name}: {count(len(rows), 'wavefront')}", _element(a), rows)


def _of_global(kernel: Kernel) -> Iterator[Request]:
    case = make(kernel, {}, 0)
    for kinds, a in _merged(kernel.accesses):
        size, lanes = access.bytes_of(a, case), access.first_request(a, case)
        sectors = access.touched(lanes, size)
        wanted = len({e for e in lanes if e is not None}) * size
        moved = f"{kinds}: {count(len(sectors), 'sector')}, {len(sectors) * access.SECTOR} bytes for {wanted}"
        numbers, each = list(sectors), access.BANKS * size // access.SECTOR  # sectors in a row of 32 elements
        starts = range(0, len(numbers), each)
        rows = [
            (f"byte {access.SECTOR * numbers[n]:,}", [sectors[number] for number in numbers[n : n + each]])
            for n in starts
        ]
        yield Request(moved, _element(a), rows)


def _merged(accesses: Sequence[Access]) -> list[tuple[str, Access]]:
    """Accesses by kind; a load and a store of the same elements are one entry, `Store and load`."""
    kinds: dict[tuple[str, str, str], list[Access]] = {}
    for a in accesses:
        kinds.setdefault((a.index.full, a.dtype, a.vector.full), []).append(a)
    return [(" and ".join(dict.fromkeys(a.kind for a in those)).capitalize(), those[0]) for those in kinds.values()]


def _element(a: Access) -> str:
    words = " ".join(a.index.full.split())
    return f"element {words}" if a.vector.full == "1" else f"vector from element {words}"


def _values(kernel: Kernel, memory: str) -> str:
    """The values of the parameters that the picture depends on."""
    case, strided = make(kernel, {}, 0), kernel.parameter("stride") is not None
    names = {n for a in kernel.accesses if a.memory == memory for e in (a.index, a.where) for n in e.names} | {"block"}
    values = []
    for p in kernel.parameters:
        value = dict(case.parameters)[p.name]
        if names & set(variables(p.name, p.kind, value)) and not (strided and p.name == "stride"):
            values.append(f"{p.name} {written(p.kind, value)}")
    sizes = sorted({access.bytes_of(a, case) for a in kernel.accesses})
    text = f"{', '.join(values)}; a lane accesses {' or '.join(map(str, sizes))} bytes"
    return text[0].upper() + text[1:]


def _draw(requests: Sequence[Request], title: str, notes: str, *, banks: bool) -> bytes:
    sheet, right = Sheet(), LEFT
    y = sheet.heading(title, notes, LEFT + access.BANKS * WIDE + EDGE) + 0.12
    for number, request in enumerate(requests):
        sheet.words((EDGE, y), request.title, 9.5, bold=True)
        lines = textwrap.wrap(request.element, 130)
        for n, line in enumerate(lines):
            sheet.words((EDGE, y + 0.18 + 0.15 * n), line, 8, colour=PALE)
        y += 0.36 + 0.15 * (len(lines) - 1)
        if banks and not number:
            sheet.words((LEFT - 0.08, y + 0.06), "bank", 7.5, anchor="end", colour=PALE)
            for bank in range(access.BANKS):
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
