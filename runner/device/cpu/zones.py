"""Red zones between static shared arrays, and on the checked device between `__device__` and `__constant__` variables.

The shim makes `__shared__` variables thread-local, and the compiler lays them out without gaps. So the kernel's
assembly gets empty bytes before and behind each of them. `program.py` finds the gaps in the binary; the runtime checks
them at each barrier and at the end of each block.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

LEAST, MOST = 64, 1024  # bytes of a zone, which is as long as its array if that is in between
# On the checked device each access is looked at, and zones cost nothing: all static shared arrays of a kernel together
# may have so many bytes, so that no index of the one that stays within them reaches another one.
WIDE = 48 << 10

# Bytes of the zone behind a `__device__` or `__constant__` variable, and of that just before it.
LEAST_OF_VARIABLES, MOST_OF_VARIABLES, BEFORE = 256, 64 << 10, 64

_NEXT_SECTION = r"(?=^[ \t]*\.(?:section|text|data|bss|previous|popsection|pushsection)\b|\Z)"
# A section of thread-local variables: its first line, and the lines up to the next section.
_SECTION = re.compile(rf"(^[ \t]*\.section[ \t]+\.tbss[^\n]*\n)(.*?){_NEXT_SECTION}", re.MULTILINE | re.DOTALL)
# The same of other variables that a kernel can write.
_OF_VARIABLES = re.compile(
    rf"(^[ \t]*\.(?:data|bss|section[ \t]+\.(?:data|bss)(?!\.rel\.ro)[^\n]*)[ \t]*\n)(.*?){_NEXT_SECTION}",
    re.MULTILINE | re.DOTALL,
)
_COMMON = re.compile(
    r"^[ \t]*\.local[ \t]+(?P<name>\S+)\n[ \t]*\.comm[ \t]+(?P=name),(?P<bytes>\d+),(?P<alignment>\d+)[^\n]*$",
    re.MULTILINE,
)
_DATA = re.compile(
    r"\s*\.(?:(?:zero|skip|space)\s+(?P<bytes>\d+)|"
    r"(?:long|quad|byte|short|value|[248]byte|x?word|hword|string|asciz?|ascii)\b)"
)


def add_zones(assembly: str, least: int = LEAST, most: int = MOST) -> str:
    """Insert a zone at the beginning of each section of thread-local variables, and behind each variable."""

    def zone(size: int) -> str:
        return f"\t.zero\t{min(max(least, -(-size // 16) * 16), most)}"

    return _SECTION.sub(lambda found: f"{found[1]}{zone(least)}\n{_apart(found[2], zone)}", assembly)


def add_zones_of_variables(assembly: str) -> str:
    """Insert a zone behind each `__device__` and `__constant__` variable, and at the beginning of their sections."""

    def zone(size: int) -> str:
        return f"\t.zero\t{min(max(LEAST_OF_VARIABLES, -(-size // 16) * 16), MOST_OF_VARIABLES)}"

    def placed(found: re.Match[str]) -> str:  # of what the assembler would place
        name, size = found["name"], int(found["bytes"])
        return (
            f"\t.pushsection\t.bss\n{zone(0)}\n\t.balign\t{found['alignment']}\n\t.type\t{name}, %object\n"
            f"\t.size\t{name}, {size}\n{name}:\n\t.zero\t{size}\n{zone(size)}\n\t.popsection"
        )

    apart = _OF_VARIABLES.sub(lambda found: f"{found[1]}{zone(0)}\n{_apart(found[2], zone)}", assembly)
    return _COMMON.sub(placed, apart)


def around(places: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The guarded range of each variable: the gap behind it, and a few bytes before it.

    Args:
        places: Begin and end of each variable of a section, in order.
    """
    bounds = [places[0][0] - BEFORE] if places else []
    for (_, end), (begin, _) in itertools.pairwise(places):
        bounds.append(max(end, begin - min(BEFORE, (begin - end) // 2)))
    bounds += [places[-1][1] + LEAST_OF_VARIABLES] if places else []
    yield from itertools.pairwise(bounds)


def _apart(section: str, zone: Callable[[int], str]) -> str:
    lines: list[str] = []
    pending = 0  # bytes of a variable whose zone has not been written
    for line in section.splitlines():
        if data := _DATA.match(line):
            pending += int(data["bytes"] or 8)
        elif pending:
            lines.append(zone(pending))
            pending = 0
        lines.append(line)
    return "".join(f"{line}\n" for line in (*lines, *([zone(pending)] if pending else ())))


@dataclass(frozen=True)
class Variable:
    """A thread-local variable, with its offset in the module's block in bytes."""

    name: str  # empty for the shim's own variables
    begin: int
    size: int

    @property
    def end(self) -> int:
        """The first byte behind it."""
        return self.begin + self.size


@dataclass(frozen=True)
class Zone:
    """A gap between variables, with the variables on both sides; `None` at the ends of the block."""

    begin: int
    size: int
    before: Variable | None
    behind: Variable | None


def between(variables: Iterable[Variable], total: int) -> Iterator[Zone]:
    """The gaps of a thread-local block of `total` bytes that are adjacent to a named variable."""
    end, before = 0, None
    for variable in (*sorted(variables, key=lambda v: v.begin), Variable("", total, 0)):
        sides = [v if v and v.name else None for v in (before, variable)]
        if variable.begin > end and any(sides):
            yield Zone(end, variable.begin - end, *sides)
        if variable.end >= end:
            end, before = variable.end, variable


def plain_name(symbol: str) -> str:
    """The variable's name in the source, from the linker's: `a` of `_ZZ6kernelPfE1a` and of `_ZL1a`."""
    for length in re.finditer(r"\d+", symbol):
        end = length.end() + int(length.group())
        if end <= len(symbol) and re.fullmatch(r"E?(?:_\d*_?|__\d+_)?", symbol[end:]):
            return symbol[length.end() : end]
    return symbol
