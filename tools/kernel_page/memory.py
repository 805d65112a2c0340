"""Pictures of what a warp's requests to memory cost, from the accesses that a kernel's YAML declares."""

from __future__ import annotations

from collections.abc import Sequence

from kernel_page import bank_picture, words
from kernel_page.file import Picture, picture
from runner.kernel import access
from runner.kernel.declaration import Access, Kernel
from runner.kernel.expression import Expression
from runner.kernel.parameters import variables, written
from runner.kernel.resolve import make
from runner.report.text import count, listed

STRIDES = (0, 1, 2, 32)
"""Of a kernel whose accesses have a stride: broadcast, parallel, a conflict of two, and serial."""


def banks(kernel: Kernel) -> Picture:
    """The wavefronts of the first warp's requests to shared memory."""
    strided = kernel.parameter("stride") is not None
    requests: list[bank_picture.Request] = []
    told = []
    for given in [{"stride": n} for n in STRIDES] if strided else [{}]:
        case = make(kernel, given, 0)
        for kinds, a in _merged([a for a in kernel.accesses if a.memory == "shared"]):
            if strided and not a.index.names & {"stride"}:
                continue
            rows = access.served(access.first_request(a, case), access.bytes_of(a, case))
            name = f"{kinds} with stride {given['stride']}" if strided else kinds
            requests.append(bank_picture.Request(f"{name}: {count(len(rows), 'wavefront')}", _index(a), rows))
            told.append(f"{name}: {count(len(rows), 'wavefront')}, {words.served(rows)}")
    title = "Shared memory: which lanes of the first warp each bank serves, and when"
    notes = (
        f"{_values(kernel, 'shared', strided=strided)}. A row is a wavefront, one pass over the 32 banks; they come "
        "one after the other. A number is the lane that the bank serves. Grey: an idle bank."
    )
    return picture(kernel.name, bank_picture.svg(requests, title, notes), f"The 32 banks. {'. '.join(told)}.")


def sectors(kernel: Kernel) -> Picture:
    """The sectors of the first warp's requests to global memory."""
    case = make(kernel, {}, 0)
    requests, told = [], []
    for kinds, a in _merged(kernel.accesses):
        size = access.bytes_of(a, case)
        lanes = access.first_request(a, case)
        sectors = access.touched(lanes, size)
        asked = len({e for e in lanes if e is not None}) * size
        cost = f"{kinds}: {count(len(sectors), 'sector')}, {len(sectors) * access.SECTOR} bytes for {asked}"
        requests.append(bank_picture.Request(cost, _index(a), sectors=sectors))
        told.append(f"{cost}: {words.filled(list(sectors.values()))}")
    title = "Global memory: the sectors that the first warp's requests move"
    notes = (
        f"{_values(kernel, 'global', strided=False)}. A group is a sector of {access.SECTOR} bytes, and is moved as a "
        "whole. A number is the lane that asks for the element. Grey: moved, though no lane asks for it."
    )
    return picture(kernel.name, bank_picture.svg(requests, title, notes), f"{title}. {'. '.join(told)}.")


def _merged(accesses: Sequence[Access]) -> list[tuple[str, Access]]:
    """Loads and stores, those of the same elements together: `Store and load`."""
    kinds: dict[tuple[str, str, str], list[Access]] = {}
    for a in accesses:
        kinds.setdefault((a.index.text, a.dtype, a.vector.text), []).append(a)
    return [(" and ".join(dict.fromkeys(a.kind for a in those)).capitalize(), those[0]) for those in kinds.values()]


def _index(a: Access) -> str:
    words = " ".join(a.index.text.split())
    return f"element {words}" if a.vector.text == "1" else f"vector from element {words}"


def _values(kernel: Kernel, memory: str, *, strided: bool) -> str:
    """The parameters that the picture depends on, at the values drawn."""
    case = make(kernel, {}, 0)
    expressions: list[Expression] = [e for a in kernel.accesses if a.memory == memory for e in (a.index, a.where)]
    names = {name for e in expressions for name in e.names} | {"block"}
    told = []
    for p in kernel.parameters:
        value = dict(case.parameters)[p.name]
        if names & set(variables(p.name, p.kind, value)) and not (strided and p.name == "stride"):
            told.append(f"{p.name} {written(p.kind, value)}")
    sizes = {access.bytes_of(a, case) for a in kernel.accesses}
    several = any(a.vector(case.variables) != 1 for a in kernel.accesses)
    what = "a lane accesses" if several else "elements of"
    text = f"{', '.join(told)}; {what} {listed([str(size) for size in sorted(sizes)])} bytes{' at once' * several}"
    return text[0].upper() + text[1:]
