"""What a warp's loads and stores cost, by the pattern of addresses that a kernel's YAML declares.

Shared memory (CUDA C++ Programming Guide, "Shared Memory" under "Compute Capability 5.x", which the later ones refer
to): 32 banks, to which successive 4-byte words belong by turns. Threads that want the same word, or parts of it, are
served together; different words of one bank are served one after the other, each in a pass that Nsight Compute calls
a wavefront. 32 elements of 8 bytes are twice what the banks can give, so each half of the warp is served by itself,
unless every lane wants the same as the next one, or as the next but one: then the whole warp is served at once. (The
guide does not say so; an H200 counted it, for the patterns that tests/test_access.py keeps.) 16 bytes a lane are four
times what the banks can give: each quarter of the warp, 8 lanes, is taken to be served by itself. (The guide does not
say so either; nobody has counted here whether quarters that want the same are served together.)

A lane that accesses several elements by one instruction (`vector`) is one that accesses a single element of so many
bytes: CUDA wants its address to be a multiple of them (the same guide, "Size and Alignment Requirement").

Global memory (the same guide, "Device Memory Accesses"; Nsight Compute's "Memory Tables"): the threads' addresses are
gathered into aligned sectors of 32 bytes, and the request moves every sector that has one of them, whole.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence

from runner.errors import UsageError
from runner.kernel.case import Case
from runner.kernel.declaration import Access
from runner.kernel.expression import Value
from runner.kernel.lanes import WARP

BANKS = 32
WORD = 4  # bytes of a bank
SECTOR = 32  # bytes
MOST = 16  # bytes that a lane accesses by one instruction

# What a lane accesses at once is called its element here, be it one of the array's or a vector of them.
# The element that each lane of a warp accesses, counted from an aligned beginning; None: the lane takes no part.
Lanes = Sequence[int | None]


def wavefronts(lanes: Lanes, itemsize: int) -> int:
    """Passes that shared memory needs for one request of a warp: of the fullest bank, the different words."""
    return sum(max(map(len, banks)) for banks in _banks(lanes, itemsize))


def sectors(lanes: Lanes, itemsize: int) -> int:
    """Sectors of global memory that one request of a warp moves."""
    return len({at for lane in lanes if lane is not None for at in _units(lane, itemsize, SECTOR)})


def served(lanes: Lanes, itemsize: int) -> list[tuple[tuple[int, ...], ...]]:
    """Which lanes each bank serves, wavefront by wavefront: a row of 32 a wavefront.

    Which of a bank's words comes first is the hardware's own business; here it is the one of the lowest lane.
    """
    rows: list[tuple[tuple[int, ...], ...]] = []
    for banks in _banks(lanes, itemsize):
        words = [[tuple(those) for those in bank.values()] for bank in banks]
        passes = max(map(len, words))
        rows += [tuple(bank[n] if n < len(bank) else () for bank in words) for n in range(passes)]
    return rows


def touched(lanes: Lanes, itemsize: int) -> dict[int, tuple[tuple[int, ...], ...]]:
    """The sectors that one request moves, by number and in order, and in each which lanes want which element."""
    each = SECTOR // itemsize
    found: dict[int, list[list[int]]] = {}
    for lane, element in enumerate(lanes):
        if element is not None:
            found.setdefault(element // each, [[] for _ in range(each)])[element % each].append(lane)
    return {sector: tuple(map(tuple, found[sector])) for sector in sorted(found)}


def first_request(access: Access, case: Case) -> Lanes:
    """The lanes of the first warp that makes the access; none of them takes part where no warp does."""
    made = _warps(access, case.block[:2], dict(case.variables))
    return next((lanes for lanes in made if any(element is not None for element in lanes)), ())


COUNTERS = {"shared": wavefronts, "global": sectors}


def column(memory: str, kind: str) -> str:
    """The column of one kind of access, such as `shared_load_wavefronts`."""
    return f"{memory}_{kind}_{COUNTERS[memory].__name__}"


def costs(case: Case) -> dict[str, float | None]:
    """What the case's first block pays for a request, on average over its warps and over the declared accesses.

    Args:
        case: One that can be run.

    Returns:
        By column; `None` where the kernel declares no such access, or no thread of the block makes it.

    Raises:
        UsageError: if an expression cannot be evaluated for one of the threads.
    """
    row: dict[str, float | None] = {}
    for memory in COUNTERS:
        for kind in ("load", "store"):
            counted = [_counted_in(a, case) for a in case.kernel.accesses if (a.memory, a.kind) == (memory, kind)]
            requests = sum(r for _, r in counted)
            row[column(memory, kind)] = sum(units for units, _ in counted) / requests if requests else None
    return row


def _counted_in(access: Access, case: Case) -> tuple[int, int]:
    names = access.index.names | access.where.names | access.vector.names
    values = tuple((n, v) for n, v in case.variables.items() if n in names)
    return _counted(access, bytes_of(access, case), case.block[:2], values)


@functools.lru_cache(maxsize=4096)
def _counted(
    access: Access, itemsize: int, block: tuple[int, int], values: tuple[tuple[str, Value], ...]
) -> tuple[int, int]:
    """Wavefronts or sectors of one access, and requests: warps of the block that make it.

    Cached by what the expressions read: the cases of a sweep mostly differ in what is none of their business.
    """
    made = [COUNTERS[access.memory](lanes, itemsize) for lanes in _warps(access, block, dict(values))]
    return sum(made), sum(n > 0 for n in made)


def bytes_of(access: Access, case: Case) -> int:
    """Bytes that a thread accesses at once.

    Raises:
        UsageError: if no instruction accesses so many.
    """
    vector = access.vector(case.variables)
    size = case.dtype(access.dtype).itemsize * int(vector)
    if size not in (1, 2, 4, 8, MOST):
        raise UsageError(
            f"{access.vector.where}: '{access.vector.text}' is {vector}, and so {size} bytes at once; a GPU's "
            f"instructions access 1, 2, 4, 8 or {MOST}"
        )
    return size


def element(access: Access, known: Mapping[str, Value]) -> int | None:
    """The element, or of a vector access the vector, that one thread accesses; `None` if it takes no part.

    Args:
        access: As declared.
        known: The case's values, and `thread_x` and `thread_y`.

    Raises:
        UsageError: if an expression cannot be evaluated, the index is no integer, or a vector would not be aligned.
    """
    if not access.where(known):
        return None
    index, vector = access.index(known), int(access.vector(known))
    if not isinstance(index, int):
        raise UsageError(f"{access.index.where}: '{access.index.text}' is {index!r}, which is no element's index")
    if index % vector:
        raise UsageError(
            f"{access.index.where}: '{access.index.text}' is {index}; vectors begin at multiples of {vector}"
        )
    return index // vector


def _warps(access: Access, block: tuple[int, int], values: dict[str, Value]) -> Iterator[Lanes]:
    """The lanes of each warp: 32 threads behind each other, x fastest."""
    columns, rows = block
    for first in range(0, columns * rows, WARP):
        lanes: list[int | None] = []
        for thread in range(first, min(first + WARP, columns * rows)):
            known = {**values, "thread_x": thread % columns, "thread_y": thread // columns}
            lanes.append(element(access, known))
        yield lanes


def _alike(lanes: Lanes, distance: int) -> bool:
    """Whether all 32 lanes take part, and each wants the same as the one whose number differs in that bit."""
    return len(lanes) == WARP and all(e is not None and e == lanes[i ^ distance] for i, e in enumerate(lanes))


def _banks(lanes: Lanes, itemsize: int) -> Iterator[list[dict[int, list[int]]]]:
    """For each part of a warp that is served by itself: what each bank is asked for, its words and their lanes."""
    part = WARP * WORD // max(itemsize, WORD)  # lanes whose elements fill the banks once
    if itemsize <= 2 * WORD and any(_alike(lanes, distance) for distance in (1, 2)):
        part = WARP
    for first in range(0, len(lanes), part):
        banks: list[dict[int, list[int]]] = [{} for _ in range(BANKS)]
        for lane, element in enumerate(lanes[first : first + part], first):
            for word in () if element is None else _units(element, itemsize, WORD):
                banks[word % BANKS].setdefault(word, []).append(lane)
        yield banks


def _units(element: int, itemsize: int, unit: int) -> range:
    """The words, or sectors, that an element lies in."""
    return range(element * itemsize // unit, ((element + 1) * itemsize - 1) // unit + 1)
