"""What a shuffle moved, element by element: the measured map of a row, compared with CUDA's rule.

The column `received` has the measured map. `runner.kernel.lanes.exchange` has the rule, by which each element is right,
wrong, undefined or inactive.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from runner.display.text import absent, count, one_line, power
from runner.kernel.lanes import INTRINSICS, MOST_RECEIVED, WARP, exchange

NAMED = ("block", "width", "mask", "per_thread", "first", "second", "size", "dtype")
"""Columns that may distinguish steps with the same operation and argument."""

MAX_THREADS, MAX_PER_THREAD, FULL_MASK = 1024, 128, 0xFFFFFFFF

Fate = Literal["moved", "own", "idle", "undefined", "beyond", "wrong"]
"""`own`: the source lies outside the segment, so the element kept its value. `idle`: its lane is not in the mask.
`beyond`: the source is a lane beyond the input's last element, which holds 0."""


@dataclass(frozen=True)
class Element:
    """An element of the block, with the lane that holds it and the number of its segment in the block."""

    index: int
    lane: int
    segment: int
    got: int | None  # the element whose value it holds; None if the value is not in the input
    source: int  # the element that it should hold by CUDA's rule, or that it asked for if that is undefined
    calls: bool  # whether its lane is in the mask
    fate: Fate

    @property
    def origin(self) -> int | None:
        """Where its arrow starts: the element received, or the one asked for if the result is undefined or 0."""
        return self.source if self.fate in ("undefined", "beyond") else self.got


@dataclass(frozen=True)
class LaneStep:
    """One measured launch of a shuffle kernel; `name` is operation and argument, such as `down 2`."""

    kernel: str
    name: str
    intrinsic: str
    device: str
    status: str
    threads: int
    width: int
    per_thread: int
    values: Mapping[str, str]  # the case's values of `NAMED`; empty if it lacks one
    elements: tuple[Element, ...]  # the measured elements of the first block

    @property
    def arrays(self) -> bool:
        """Whether a lane holds several elements, so that elements are numbered instead of lanes."""
        return self.per_thread > 1

    def of_fate(self, fate: Fate) -> list[Element]:
        """The elements with this fate."""
        return [element for element in self.elements if element.fate == fate]

    def number(self, index: int) -> int:
        """The number of an element: its lane, or its index if a lane holds several."""
        return index if self.arrays else index % WARP

    def remarks(self) -> list[str]:
        """Describe undefined and wrong elements in words."""
        words = []
        noun = "element" if self.arrays else "lane"
        if undefined := self.of_fate("undefined"):
            inside = [element.source < self.threads * self.per_thread for element in undefined]
            why = ["outside the mask"] * any(inside) + ["that the block does not have"] * (not all(inside))
            words.append(f"undefined: {count(len(undefined), noun)} asked for a lane {' or '.join(why)}")
        if beyond := self.of_fate("beyond"):
            words.append(f"{count(len(beyond), noun)} received the 0 of a lane beyond the last element")
        if wrong := self.of_fate("wrong"):
            first, differ = wrong[0], "differs" if len(wrong) == 1 else "differ"
            held = "no element of the input" if first.got is None else f"element {first.got}"
            example = f"element {first.index} holds {held}, not element {first.source}"
            words.append(f"{count(len(wrong), 'element')} {differ} from CUDA's rule: {example}")
        return words


def read(row: Mapping[str, Any]) -> LaneStep | None:
    """Parse the step of a row; `None` if it is not a shuffle, was not measured, or is malformed."""
    with suppress(ValueError, OverflowError):
        if not any(absent(row.get(name)) for name in ("shuffle", "received", "block")):
            return _read(row)
    return None


def _read(row: Mapping[str, Any]) -> LaneStep | None:
    operation, argument = str(row["shuffle"]).split()
    width, mask, per_thread = (
        _number(row, "width", WARP),
        _number(row, "mask", FULL_MASK),
        _number(row, "per_thread", 1),
    )
    threads = math.prod(int(side) for side in str(row["block"]).split("x"))
    valid = operation in INTRINSICS and width in (1, 2, 4, 8, 16, 32) and 0 <= mask <= FULL_MASK
    if not valid or not 0 < threads <= MAX_THREADS or not 0 < per_thread <= MAX_PER_THREAD:
        return None
    swapped = (_number(row, "first", 0), _number(row, "second", 0))
    rule = exchange(operation, _within(int(argument)), width, mask, threads, per_thread, swapped)
    keeps = operation not in ("idx", "wrap")  # in these, a lane may name itself as the source
    full = threads * per_thread
    measured = [
        int(word) if word.isascii() and word.isdecimal() and len(word) < 10 else None
        for word in str(row["received"]).split()[:full]
    ]
    complete = len(measured) == min(MOST_RECEIVED, full)
    input_size = _number(row, "size", 2**63 if complete else len(measured))  # elements of all blocks
    elements = []
    for index, got in enumerate(measured):
        source, thread, calls = int(rule.source[index]), index // per_thread, bool(rule.calls[index])
        fate: Fate = "own" if keeps and got == index else "moved"
        if calls and not rule.defined[index]:
            fate = "undefined"
        elif got != source:
            fate = "beyond" if got is None and source >= input_size else "wrong"
        elif not calls:
            fate = "idle"
        elements.append(Element(index, thread % WARP, thread // width, got, source, calls, fate))
    return LaneStep(
        kernel=str(row.get("kernel", "")),
        name=f"{operation} {argument}",
        intrinsic=INTRINSICS[operation],
        device=str(row.get("device", "")),
        status=str(row.get("status", "ok")).replace("_", " "),
        threads=threads,
        width=width,
        per_thread=per_thread,
        values={name: _value(row, name, full) for name in NAMED},
        elements=tuple(elements),
    )


def _value(row: Mapping[str, Any], name: str, full: int) -> str:
    """A value of `NAMED`; empty for the size of exactly one block."""
    if absent(row.get(name)):
        return ""
    if name == "size":
        size = _number(row, name, full)
        return "" if size == full else power(size)
    return one_line(str(row[name]), 24)


def _number(row: Mapping[str, Any], name: str, default: int) -> int:
    value = row.get(name)
    if absent(value):
        return default
    return int(value) if isinstance(value, int | float) else _within(int(str(value), 0))


def _within(number: int) -> int:
    if abs(number) >= 2**63:
        raise OverflowError(number)
    return number
