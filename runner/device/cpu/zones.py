"""Red zones between static shared arrays, and on the checked device between `__device__` and `__constant__` variables.

The shim makes `__shared__` variables thread-local, and the compiler lays them out without gaps. So the kernel's
assembly gets empty bytes before and behind each of them. `program.py` finds the gaps in the binary; the runtime checks
them at each barrier and at the end of each block.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from runner.device.cpu.interface import Zone
from runner.device.elf import Symbol

MIN_BYTES, MAX_BYTES = 64, 1024  # of a zone, which is as long as its array if that is in between
# On the checked device zones cost no time. This is the limit of all static shared arrays of a kernel together, so no
# index below that limit reaches from one array into another.
CHECKED_BYTES = 48 << 10

# Bytes of the zone behind a `__device__` or `__constant__` variable, and of that just before it.
MIN_VARIABLE_BYTES, MAX_VARIABLE_BYTES, BEFORE_VARIABLE_BYTES = 256, 64 << 10, 64

_NEXT_SECTION = r"(?=^[ \t]*\.(?:section|text|data|bss|previous|popsection|pushsection)\b|\Z)"
# A section of thread-local variables: its first line, and the lines up to the next section.
_SECTION = re.compile(rf"(^[ \t]*\.section[ \t]+\.tbss[^\n]*\n)(.*?){_NEXT_SECTION}", re.MULTILINE | re.DOTALL)
# The same of other variables that a kernel can write.
_VARIABLE_SECTION = re.compile(
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


def add_zones(assembly: str, min_bytes: int = MIN_BYTES, max_bytes: int = MAX_BYTES) -> str:
    """Insert a zone at the beginning of each section of thread-local variables, and behind each variable."""
    zone = _zones(min_bytes, max_bytes)
    return _SECTION.sub(lambda section: f"{section[1]}{zone(0)}\n{_separate(section[2], zone)}", assembly)


def add_zones_of_variables(assembly: str) -> str:
    """Insert a zone behind each `__device__` and `__constant__` variable, and at the beginning of their sections."""
    zone = _zones(MIN_VARIABLE_BYTES, MAX_VARIABLE_BYTES)

    def define_in_bss(variable: re.Match[str]) -> str:
        """Replace a .comm directive, whose address the linker would choose, by a definition between two zones."""
        name, size = variable["name"], int(variable["bytes"])
        return (
            f"\t.pushsection\t.bss\n{zone(0)}\n\t.balign\t{variable['alignment']}\n\t.type\t{name}, %object\n"
            f"\t.size\t{name}, {size}\n{name}:\n\t.zero\t{size}\n{zone(size)}\n\t.popsection"
        )

    sections = _VARIABLE_SECTION.sub(lambda found: f"{found[1]}{zone(0)}\n{_separate(found[2], zone)}", assembly)
    return _COMMON.sub(define_in_bss, sections)


def _zones(min_bytes: int, max_bytes: int) -> Callable[[int], str]:
    """The assembly of a zone, by the size of its variable."""
    return lambda size: f"\t.zero\t{min(max(min_bytes, -(-size // 16) * 16), max_bytes)}"


def _separate(section: str, zone: Callable[[int], str]) -> str:
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


def guarded_ranges(variables: Sequence[tuple[int, int]]) -> dict[int, tuple[int, int]]:
    """By each variable's begin, its guarded range: the gap behind it, and a few bytes before it.

    `variables` are begin and end of each variable of a section, in order.
    """
    bounds = [begin - BEFORE_VARIABLE_BYTES for begin, _ in variables[:1]]
    for (_, end), (begin, _) in itertools.pairwise(variables):
        bounds.append(max(end, begin - min(BEFORE_VARIABLE_BYTES, (begin - end) // 2)))
    bounds += [end + MIN_VARIABLE_BYTES for _, end in variables[-1:]]
    return {begin: bound for (begin, _), bound in zip(variables, itertools.pairwise(bounds), strict=True)}


def gaps(variables: Iterable[Symbol], total: int) -> Iterator[Zone]:
    """The gaps of a thread-local block of `total` bytes that are adjacent to a named variable."""
    end = 0
    before: tuple[bytes | None, int] = None, 0
    ordered = ((v.value, v.name, v.size) for v in sorted(variables, key=lambda v: v.value))
    for begin, name, size in (*ordered, (total, "", 0)):
        behind = (name.encode(), size) if name else (None, 0)
        if begin > end and (before[0] or name):
            yield Zone(end, begin - end, *before, *behind)
        if begin + size >= end:
            end, before = begin + size, behind


def plain_name(symbol: str) -> str:
    """The variable's name in the source, from the linker's: `a` of `_ZZ6kernelPfE1a` and of `_ZL1a`."""
    for length in re.finditer(r"\d+", symbol):
        end = length.end() + int(length.group())
        if end <= len(symbol) and re.fullmatch(r"E?(?:_\d*_?|__\d+_)?", symbol[end:]):
            return symbol[length.end() : end]
    return symbol
