"""What the native checks report, in words. Each of their lines has columns that tabs separate (native/checked/)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from runner.device import Launch
from runner.device.cpu.device import lines_of
from runner.device.cpu.program import CpuProgram
from runner.errors import Finding, Place

TOLD = 5  # findings in the reason of a row

_SHARED = 1 << 30  # the number of a shared array has this bit


@dataclass
class Found:
    """What is needed to name what a launch found."""

    program: CpuProgram
    launch: Launch
    order: int
    arrays: list[tuple[str, int, int]] = field(default_factory=list)  # name, bytes of an element, elements
    shared: list[tuple[str, int]] = field(default_factory=list)  # name, bytes; of static shared arrays


def told(texts: Sequence[str]) -> str:
    """Findings in one line; only the first ones."""
    more = len(texts) - TOLD
    return "; also ".join([*texts[:TOLD], *([f"{more} more"] if more > 0 else [])])


def read_findings(found: Found, text: str) -> tuple[Finding, ...]:
    """The findings in what a launch reports, each pair of lines once."""
    rows = [line.split("\t") for line in text.splitlines()]
    rows = [row for row in rows if row[0] == "fault"]
    program = found.program
    codes = {int(row[2]) for row in rows}
    lines = lines_of(program, [program.code_begin + code for code in sorted(codes)])
    return tuple(_fault(found, row, lines.get(program.code_begin + int(row[2]), "")) for row in rows)


def _place(text: str) -> Place:
    x, y, z = map(int, text.split(","))
    return x, y, z


def _array(found: Found, number: int) -> tuple[str, str, int, int]:
    """Space, name, bytes of an element, elements."""
    if not number & _SHARED:
        return ("global", *found.arrays[number])
    number &= ~_SHARED
    if number == len(found.shared):
        return "shared", "dynamic shared memory", 1, found.launch.shared
    name, size = found.shared[number]
    return "shared", name, 1, size


def _fault(found: Found, row: Sequence[str], line: str) -> Finding:
    _, kind, _, number, offset, _, writes, block, thread = row
    space, name, item, count = _array(found, int(number))
    verb = "write" if int(writes) else "read"
    element = int(offset) // item
    if int(kind):
        what = f"write to read-only input '{name}', element {element}"
    elif space == "shared":
        what = f"out-of-bounds {verb} of the shared variable '{name}': byte {offset} of {count}"
    else:
        what = f"out-of-bounds {verb} of '{name}': index {element}, but '{name}' has {count} elements"
    text = f"{line or found.program.path.name}: {what}; block ({block}), thread ({thread})"
    name_of_kind = "read_only" if int(kind) else "outside"
    return Finding(
        name_of_kind, text, line, "", name, space, element, 1, _place(block), _place(thread), order=found.order
    )
