"""What a shuffle moved, element by element: the measured map of a row beside CUDA's rule. Pure: no drawing here.

`received` is what was measured; `runner.kernel.lanes.exchange` says only which of it is right, undefined or not taking
part.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from runner.kernel.lanes import INTRINSICS, MOST_RECEIVED, WARP, exchange
from runner.report.text import absent, one_line, power

TOLD = ("block", "width", "mask", "per_thread", "first", "second", "size", "dtype")
"""What may tell one step from another beside its operation and argument."""

MOST_THREADS, MOST_PER_THREAD, FULL = 1024, 128, 0xFFFFFFFF

Fate = Literal["moved", "own", "idle", "undefined", "beyond", "wrong"]
"""`own`: its source lies outside the segment, so it kept its value; `idle`: its lane does not take part; `beyond`: its
source is a lane of the block beyond the input's last element, which holds 0."""


@dataclass(frozen=True)
class Element:
    """An element of the block.

    Attributes:
        index: its place in the block.
        lane: the lane that holds it.
        segment: the group of `width` lanes that its thread belongs to, counted through the block.
        got: the element whose value it was found to hold; None where the value is none of the input's.
        source: the element that it should hold by CUDA's rule; where the rule leaves that undefined, the one asked for.
        calls: whether its lane takes part.
        fate: what became of it.
    """

    index: int
    lane: int
    segment: int
    got: int | None
    source: int
    calls: bool
    fate: Fate

    @property
    def drawn_from(self) -> int | None:
        """Where its arrow starts: measured, but where no element arrived the lane that was asked."""
        return self.source if self.fate in ("undefined", "beyond") else self.got


@dataclass(frozen=True)
class Step:
    """One measured launch of a shuffle kernel.

    Attributes:
        row: number of the case in results.csv.
        kernel: its name.
        name: operation and argument: `down 2`.
        intrinsic: CUDA's function behind the operation.
        device: `cuda` or `cpu`.
        status: as in results.csv.
        threads: threads of the block.
        width: lanes of a segment.
        per_thread: elements of a thread.
        told: the case's values of `TOLD`, empty where it has none.
        elements: those of the first block that were measured.
    """

    row: int
    kernel: str
    name: str
    intrinsic: str
    device: str
    status: str
    threads: int
    width: int
    per_thread: int
    told: tuple[str, ...]
    elements: tuple[Element, ...]

    def those(self, fate: Fate) -> tuple[Element, ...]:
        """The elements of that fate."""
        return tuple(element for element in self.elements if element.fate == fate)

    def value(self, name: str) -> str:
        """One of `TOLD`."""
        return self.told[TOLD.index(name)]


def read(row: Mapping[str, Any], number: int = 0) -> Step | None:
    """The step of a row; None where it is no shuffle, was not measured, or cannot be understood."""
    try:
        return _read(row, number)
    except (ValueError, OverflowError):
        return None


def _read(row: Mapping[str, Any], number: int) -> Step | None:
    told = [row.get(name) for name in ("shuffle", "received", "block")]
    if any(absent(cell) for cell in told):
        return None
    shuffle, received, block = (str(cell) for cell in told)
    operation, argument = shuffle.split()
    width, mask = _number(row, "width", WARP), _number(row, "mask", FULL)
    per_thread = _number(row, "per_thread", 1)
    threads = math.prod(int(side) for side in re.split("x", block))
    known = operation in INTRINSICS and width in (1, 2, 4, 8, 16, 32) and 0 <= mask <= FULL
    if not known or not 0 < threads <= MOST_THREADS or not 0 < per_thread <= MOST_PER_THREAD:
        return None
    swapped = (_number(row, "first", 0), _number(row, "second", 0))
    rule = exchange(operation, _within(int(argument)), width, mask, threads, per_thread, swapped)
    keeps = operation not in ("idx", "wrap")  # which name a source of each lane, so its own value is one like any other
    elements = []
    measured = _map(received)[: threads * per_thread]
    whole = len(measured) == min(MOST_RECEIVED, threads * per_thread)
    there = _number(row, "size", 2**63 if whole else len(measured))  # elements of the input, of all blocks
    for index, got in enumerate(measured):
        source, thread = int(rule.source[index]), index // per_thread
        fate: Fate
        if rule.calls[index] and not rule.defined[index]:
            fate = "undefined"
        elif got is None and source >= there:
            fate = "beyond"
        elif got != source:
            fate = "wrong"
        elif not rule.calls[index]:
            fate = "idle"
        else:
            fate = "own" if keeps and got == index else "moved"
        elements.append(Element(index, thread % WARP, thread // width, got, source, bool(rule.calls[index]), fate))
    return Step(
        row=int(row.get("row", number)),
        kernel=str(row.get("kernel", "")),
        name=f"{operation} {argument}",
        intrinsic=INTRINSICS[operation],
        device=str(row.get("device", "")),
        status=str(row.get("status", "ok")),
        threads=threads,
        width=width,
        per_thread=per_thread,
        told=tuple(_told(row, name, threads * per_thread) for name in TOLD),
        elements=tuple(elements),
    )


def _told(row: Mapping[str, Any], name: str, full: int) -> str:
    """A value of `TOLD`; of a size that the block just holds nothing need be said."""
    if absent(row.get(name)):
        return ""
    if name == "size":
        size = _number(row, name, full)
        return "" if size == full else power(size)
    return one_line(str(row[name]), 24)


def _map(received: str) -> list[int | None]:
    return [int(word) if word.isascii() and word.isdecimal() and len(word) < 10 else None for word in received.split()]


def _number(row: Mapping[str, Any], name: str, default: int) -> int:
    value = row.get(name)
    if absent(value):
        return default
    return int(value) if isinstance(value, int | float) else _within(int(str(value), 0))


def _within(number: int) -> int:
    if abs(number) >= 2**63:
        raise OverflowError(number)
    return number
