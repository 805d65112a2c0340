"""The cost of a warp's loads and stores, from the access pattern that a kernel's YAML declares.

Shared memory has 32 banks; successive 4-byte words lie in successive banks (CUDA C++ Programming Guide, "Shared Memory"
under "Compute Capability 5.x", to which later ones refer). Lanes that access the same word are served together.
Different words of a bank are served one after the other, each in a pass that Nsight Compute calls a wavefront.

- 8 bytes a lane: each half of the warp is served by itself, unless every lane accesses the same element as the next
  lane, or as the next but one; then the whole warp is served at once. The guide does not say this. It was counted on
  an H200, for the patterns in tests/test_access.py.
- 16 bytes a lane: we assume that each quarter of the warp, 8 lanes, is served by itself. The guide does not say this
  either, and nobody counted whether equal quarters are served together.

Global memory is moved in aligned sectors of 32 bytes: a request moves each sector that holds one of its addresses
(the same guide, "Device Memory Accesses"; Nsight Compute, "Memory Tables").

A lane that accesses several elements at once (`vector`) accesses one element of as many bytes. Its address must be a
multiple of them (the same guide, "Size and Alignment Requirement").
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence

from runner.device import Dim3
from runner.errors import UsageError
from runner.kernel.case import Case
from runner.kernel.declaration import Access
from runner.kernel.expression import Value
from runner.kernel.lanes import WARP

BANKS = 32
WORD = 4  # bytes of a bank
SECTOR = 32  # bytes
MOST = 16  # bytes that a lane accesses by one instruction

# The element, or vector of elements, that each lane of a warp accesses, counted from an aligned address. None: the lane
# takes no part.
Lanes = Sequence[int | None]


def wavefronts(lanes: Lanes, itemsize: int) -> int:
    """Wavefronts of one request to shared memory: the number of different words of the fullest bank."""
    return sum(max(map(len, banks)) for banks in _banks(lanes, itemsize))


def sectors(lanes: Lanes, itemsize: int) -> int:
    """Sectors that one request to global memory moves."""
    return len({at for lane in lanes if lane is not None for at in _units(lane, itemsize, SECTOR)})


def served(lanes: Lanes, itemsize: int) -> list[tuple[tuple[int, ...], ...]]:
    """Which lanes each of the 32 banks serves, one row for each wavefront.

    The hardware chooses the order of a bank's words; here the word of the lowest lane comes first.
    """
    rows: list[tuple[tuple[int, ...], ...]] = []
    for banks in _banks(lanes, itemsize):
        words = [map(tuple, bank.values()) for bank in banks]
        rows += itertools.zip_longest(*words, fillvalue=())
    return rows


def touched(lanes: Lanes, itemsize: int) -> dict[int, tuple[tuple[int, ...], ...]]:
    """The sectors that one request moves, by number and in order; in each, the lanes that access each element."""
    each = SECTOR // itemsize
    found: dict[int, list[list[int]]] = {}
    for lane, element in enumerate(lanes):
        if element is not None:
            found.setdefault(element // each, [[] for _ in range(each)])[element % each].append(lane)
    return {sector: tuple(map(tuple, found[sector])) for sector in sorted(found)}


def first_request(access: Access, case: Case) -> Lanes:
    """The lanes of the first warp that makes the access; empty if no warp does."""
    warps = _warps(access, case.block, case.variables)
    return next((lanes for lanes in warps if any(element is not None for element in lanes)), ())


COUNTERS = {"shared": wavefronts, "global": sectors}


def column(memory: str, kind: str) -> str:
    """The column of one kind of access, such as `shared_load_wavefronts`."""
    return f"{memory}_{kind}_{COUNTERS[memory].__name__}"


def costs(case: Case) -> dict[str, float | None]:
    """The cost of a request in the first block, on average over its warps and the declared accesses.

    Returns:
        By column; `None` if the kernel declares no such access, or no thread of the block makes it.

    Raises:
        UsageError: if an expression cannot be evaluated for one of the threads.
    """
    row: dict[str, float | None] = {}
    for memory, kind in itertools.product(COUNTERS, ("load", "store")):
        total, requests = 0, 0
        for a in case.kernel.accesses:
            if (a.memory, a.kind) == (memory, kind):
                names = a.index.names | a.where.names | a.vector.names
                values = tuple((n, v) for n, v in case.variables.items() if n in names)
                units, made = _counted(a, bytes_of(a, case), case.block, values)
                total, requests = total + units, requests + made
        row[column(memory, kind)] = total / requests if requests else None
    return row


# Cached by the values that the expressions use: many cases of a sweep have the same ones.
@functools.lru_cache(maxsize=4096)
def _counted(access: Access, itemsize: int, block: Dim3, values: tuple[tuple[str, Value], ...]) -> tuple[int, int]:
    """Wavefronts or sectors of one access, and its requests: the warps of the block that make it."""
    made = [COUNTERS[access.memory](lanes, itemsize) for lanes in _warps(access, block, dict(values))]
    return sum(made), sum(n > 0 for n in made)


def bytes_of(access: Access, case: Case) -> int:
    """Bytes that a thread accesses at once.

    Raises:
        UsageError: if no instruction accesses as many.
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
    """The element (or vector) that one thread accesses; `None` if it takes no part.

    Args:
        access: The declared access.
        known: The case's variables, with `thread_x`, `thread_y` and `thread_z`.

    Raises:
        UsageError: if an expression cannot be evaluated, the index is no integer, or a vector would not be aligned.
    """
    if not access.where(known):
        return None
    index, vector = access.index(known), int(access.vector(known))
    what = f"{access.index.where}: '{access.index.text}' is"
    if not isinstance(index, int):
        raise UsageError(f"{what} {index!r}, which is not the index of an element")
    if index % vector:
        raise UsageError(f"{what} {index}; vectors begin at multiples of {vector}")
    return index // vector


def _warps(access: Access, block: Dim3, values: Mapping[str, Value]) -> Iterator[Lanes]:
    """The lanes of each warp: 32 successive threads, x fastest."""
    x, y, z = block
    for first in range(0, x * y * z, WARP):
        warp = range(first, min(first + WARP, x * y * z))
        places = ({"thread_x": t % x, "thread_y": t // x % y, "thread_z": t // x // y} for t in warp)
        yield [element(access, {**values, **place}) for place in places]


def _banks(lanes: Lanes, itemsize: int) -> Iterator[list[dict[int, list[int]]]]:
    """For each part of a warp that is served by itself: the words of each bank, and their lanes."""
    part = WARP * WORD // max(itemsize, WORD)  # lanes whose elements fill the banks
    whole = len(lanes) == WARP and None not in lanes
    if whole and itemsize <= 2 * WORD and any(all(e == lanes[i ^ by] for i, e in enumerate(lanes)) for by in (1, 2)):
        part = WARP
    for first in range(0, len(lanes), part):
        banks: list[dict[int, list[int]]] = [{} for _ in range(BANKS)]
        for lane, element in enumerate(lanes[first : first + part], first):
            for word in () if element is None else _units(element, itemsize, WORD):
                banks[word % BANKS].setdefault(word, []).append(lane)
        yield banks


def _units(element: int, itemsize: int, unit: int) -> range:
    """The words, or sectors, of an element."""
    return range(element * itemsize // unit, ((element + 1) * itemsize - 1) // unit + 1)
