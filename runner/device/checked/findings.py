"""Translates the reports of the native checks (native/checked/), lines of tab-separated columns, into sentences."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runner.device import Launch
from runner.device.checked.advice import Meeting, Side, Signal, advice_on_copy, advice_on_race
from runner.device.checked.code_lines import Code
from runner.device.cpu.device import lines_of
from runner.device.cpu.program import CpuProgram
from runner.errors import Finding, Place

# simt::checked::Races::Kind, and flags of an access (shadow.h).
WRITE_WRITE, _READ_WRITE, WRITE_READ, UNWRITTEN, UNWAITED = range(5)
_KINDS = ("write after write", "read after write", "write after read")
_ATOMIC, _IN_BLOCK, _VOLATILE = 2, 4, 8

_MISALIGNED = 2  # of simt::checked::Fault
_SHARED = 1 << 30  # the number of a shared array has this bit


@dataclass
class Found:
    """The names of a launch's arrays and lines, which its report has as numbers."""

    program: CpuProgram
    launch: Launch
    order: int
    arrays: list[tuple[str, int, int]] = field(default_factory=list)  # name, bytes of an element, elements
    shared: list[tuple[str, int]] = field(default_factory=list)  # name, bytes; of static shared arrays
    untyped: set[int] = field(default_factory=set)  # indices in `arrays` of variables of unknown type, taken as bytes

    @functools.cached_property
    def code(self) -> Code:
        """The kernel's source."""
        return Code(self.program.visible)


def read_findings(found: Found, text: str) -> tuple[Finding, ...]:
    """Parse a launch's report to sentences, one for each pair of lines."""
    rows = [line.split("\t") for line in text.splitlines()]
    faults = [row for row in rows if row[0] == "fault"]
    races = [_Race.of(row) for row in rows if row[0] == "race"]
    program = found.program
    codes = {int(row[2]) for row in faults} | {c for race in races for c in race.codes}
    by_address = lines_of(program, [program.code_begin + code for code in sorted(codes)])
    lines = {code: by_address.get(program.code_begin + code, "") for code in codes}
    # An uninitialized read that is also part of a race is reported once, as the race.
    racing = {(lines[code], r.array) for r in races if not r.is_read_alone for code in (r.code, r.other_code)}
    groups: dict[tuple[object, ...], list[_Race]] = {}
    for race in races:
        if race.is_read_alone and (lines[race.code], race.array) in racing:
            continue
        pair = frozenset((lines[race.code], lines[race.other_code]))
        groups.setdefault((race.kind if race.is_read_alone else None, pair, race.array), []).append(race)
    return (
        *(_fault(found, row, lines[int(row[2])]) for row in faults),
        *(_race(found, group, lines) for group in groups.values()),
    )


@dataclass(frozen=True)
class _Race:
    """The first occurrence of a race of two instructions, or (`is_read_alone`) of an uninitialized read."""

    kind: int
    code: int
    other_code: int
    array: int
    offset: int
    count: int
    same_value: int
    bytes: int
    block: int
    thread: int
    other_block: int
    other_thread: int
    flags: int
    other_flags: int
    reach: int  # of all occurrences
    missing: int  # what a flag lacks to order the two threads; see `Signal`
    signal_write: int
    signal_read: int
    passed_line: int
    passed_file: str

    @classmethod
    def of(cls, row: Sequence[str]) -> _Race:
        values: list[Any] = [*map(int, row[1:-1]), row[-1]]
        return cls(*values)

    @property
    def is_read_alone(self) -> bool:
        return self.kind in (UNWRITTEN, UNWAITED)

    @property
    def codes(self) -> tuple[int, ...]:
        return self.code, self.other_code, *((self.signal_write, self.signal_read) if self.missing else ())


def _race(found: Found, group: Sequence[_Race], lines: Mapping[int, str]) -> Finding:
    one = min(group, key=lambda r: (r.kind == WRITE_READ, r.block, r.thread, r.offset))
    count = sum(r.count for r in group)
    space, name, item, _ = _array(found, one.array)
    untyped = space == "shared" or one.array in found.untyped
    item = one.bytes if untyped and one.offset % one.bytes == 0 else item
    line, other_line = (lines[c] or found.program.path.name for c in (one.code, one.other_code))
    block, thread = _index(one.block, found.launch.grid), _index(one.thread, found.launch.block)
    times = f" ({count} times)" if count > 1 else ""
    at = f"block {_words(block)}, thread {_words(thread)}"
    element = one.offset // item
    where = f"{space} '{name}' element {element}"
    if one.kind == UNWRITTEN:
        text = f"{line}: uninitialized read of {where}; {at}{times}"
        return Finding("unwritten", text, line, "", name, space, element, count, block, thread, order=found.order)
    if one.kind == UNWAITED:
        advice = advice_on_copy(other_line, line)
        text = f"{line}: read of {where} before the asynchronous copy of {other_line} was waited for; {at}{times}"
        return Finding(
            "unwaited", f"{text}; {advice}", line, other_line, name, space, element, count, block, thread,
            order=found.order, advice=advice,
        )  # fmt: skip
    other_block = _index(one.other_block, found.launch.grid)
    other_thread = _index(one.other_thread, found.launch.block)
    same = all(r.kind == WRITE_WRITE and r.same_value == r.count for r in group)
    kinds = f"{_KINDS[one.kind]}{', of the same value each time' if same else ''}"
    what, other = (
        _verb(flags, writes=w) for flags, w in ((one.flags, one.flags & 1), (one.other_flags, one.other_flags & 1))
    )
    seed = f", in schedule {found.order}" if found.order else ""
    advice = advice_on_race(_meeting(found, one, group, lines, same=same), found.program.path.name, found.code)
    text = (
        f"{line}: race ({kinds}) on {where}: {what} by {at}; "
        f"{other} at {other_line} by block {_words(other_block)}, thread {_words(other_thread)}{times}{seed}; {advice}"
    )
    return Finding(
        "race", text, line, other_line, name, space, element, count, block, thread, other_block, other_thread,
        same, found.order, advice,
    )  # fmt: skip


def _meeting(found: Found, one: _Race, group: Sequence[_Race], lines: Mapping[int, str], *, same: bool) -> Meeting:
    def line(code: int) -> str:
        return lines[code] or found.program.path.name

    def side(code: int, flags: int) -> Side:
        return Side(line(code), *(bool(flags & bit) for bit in (1, _ATOMIC, _VOLATILE, _IN_BLOCK)))

    handed = next((race for race in (one, *group) if race.missing), None)
    signal = (
        Signal(handed.missing, line(handed.signal_write), line(handed.signal_read)) if handed else Signal(0, "", "")
    )
    reach = 0
    for race in group:
        reach |= race.reach
    kinds = {race.kind for race in group}
    return Meeting(
        earlier=side(one.other_code, one.other_flags),
        later=side(one.code, one.flags),
        reach=reach,
        both_write=WRITE_WRITE in kinds,
        one_writes=bool(kinds - {WRITE_WRITE}),
        same_value=same,
        passed=f"{Path(one.passed_file).name}:{one.passed_line}" if one.passed_line else "",
        signal=signal,
        space=_array(found, one.array)[0],
        cooperative=found.program.cooperative,
    )


def _verb(flags: int, *, writes: int) -> str:
    what = "write" if writes else "read"
    if flags & _ATOMIC:
        return f"atomic {what} with block scope" if flags & _IN_BLOCK else f"atomic {what}"
    return what


def _words(place: Place) -> str:
    return f"({','.join(map(str, place))})"


def _index(number: int, extent: Place) -> Place:
    x, y, _ = extent
    return number % x, number // x % y, number // x // y


def _place(text: str) -> Place:
    x, y, z = map(int, text.split(","))
    return x, y, z


def _array(found: Found, number: int) -> tuple[str, str, int, int]:
    """Memory space, name, bytes per element, number of elements."""
    if not number & _SHARED:
        return ("global", *found.arrays[number])
    number &= ~_SHARED
    if number == len(found.shared):
        return "shared", "dynamic shared memory", 1, found.launch.shared
    name, size = found.shared[number]
    return "shared", name, 1, size


def _fault(found: Found, row: Sequence[str], line: str) -> Finding:
    _, kind, _, number, offset, size, writes, block, thread = row
    space, name, item, count = _array(found, int(number))
    verb = "write" if int(writes) else "read"
    if int(number) in found.untyped and int(offset) % int(size) == count % int(size) == 0:
        item, count = int(size), count // int(size)
    element = int(offset) // item
    if int(kind) == _MISALIGNED:
        what = f"misaligned {verb} of '{name}': {size} bytes at byte {offset}"
    elif int(kind):
        kept = f"the __constant__ variable '{name}'" if name in found.program.constants else f"read-only input '{name}'"
        what = f"write to {kept}, element {element}"
    elif space == "shared":
        size_from = f"{size} bytes from byte {offset}" if 0 <= int(offset) < count else f"byte {offset}"
        what = f"out-of-bounds {verb} of the shared variable '{name}': {size_from} of {count}"
    else:
        begins_inside = 0 <= element < count  # a vector that reaches beyond the end
        at = f"{size} bytes from index {element}" if begins_inside else f"index {element}"
        what = f"out-of-bounds {verb} of '{name}': {at}, but '{name}' has {count} elements"
    text = f"{line or found.program.path.name}: {what}; block ({block}), thread ({thread})"
    name_of_kind = ("outside", "read_only", "misaligned")[int(kind)]
    return Finding(
        name_of_kind, text, line, "", name, space, element, 1, _place(block), _place(thread), order=found.order
    )
