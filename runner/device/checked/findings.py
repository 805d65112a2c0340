"""Translates the reports of the native checks (native/checked/), lines of tab-separated columns, into sentences."""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runner.device import Launch
from runner.device.checked.advice import Access, RaceFacts, Signal, advice_on_copy, advice_on_race
from runner.device.checked.code_lines import Code
from runner.device.cpu.fault_text import source_lines
from runner.device.cpu.program import CpuProgram
from runner.errors import Finding, Place

# simt::checked::Races::Kind, and flags of an access (shadow.h).
_WRITE_WRITE, _READ_WRITE, _WRITE_READ, _UNWRITTEN, _UNWAITED = range(5)
_RACES = ("write after write", "read after write", "write after read")
_WRITE, _ATOMIC, _BLOCK_SCOPE, _VOLATILE = 1, 2, 4, 8

_FAULTS = ("outside", "read_only", "misaligned")  # simt::checked::Fault
_SHARED = 1 << 30  # the number of a shared array has this bit


@dataclass
class ReportContext:
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
        return Code(self.program.text)

    def array(self, number: int) -> tuple[str, str, int, int]:
        """Memory space, name, bytes per element, number of elements."""
        if not number & _SHARED:
            return ("global", *self.arrays[number])
        number &= ~_SHARED
        if number == len(self.shared):
            return "shared", "dynamic shared memory", 1, self.launch.shared
        name, size = self.shared[number]
        return "shared", name, 1, size

    def place(self, block: int, thread: int) -> tuple[Place, Place, str]:
        """The indices of a block and a thread from their numbers, and both in words."""
        indices = _index(block, self.launch.grid), _index(thread, self.launch.block)
        return *indices, "block ({},{},{}), thread ({},{},{})".format(*indices[0], *indices[1])


def read_findings(context: ReportContext, text: str) -> tuple[Finding, ...]:
    """Parse a launch's report to sentences, one for each pair of lines."""
    rows = [line.split("\t") for line in text.splitlines()]
    faults = [row for row in rows if row[0] == "fault"]
    races = [_Race.parse(row) for row in rows if row[0] == "race"]
    program = context.program
    codes = {int(row[2]) for row in faults} | {c for race in races for c in race.codes}
    by_address = source_lines(program, [program.code_begin + code for code in sorted(codes)])
    lines = {code: by_address.get(program.code_begin + code, "") for code in codes}
    # An uninitialized read that is also part of a race is reported once, as the race.
    racing = {(lines[code], r.array) for r in races if not r.is_read_alone for code in (r.code, r.other_code)}
    groups: dict[tuple[object, ...], list[_Race]] = {}
    for race in races:
        if not race.is_read_alone or (lines[race.code], race.array) not in racing:
            pair = frozenset((lines[race.code], lines[race.other_code]))
            groups.setdefault((race.kind if race.is_read_alone else None, pair, race.array), []).append(race)
    named = {code: line or program.path.name for code, line in lines.items()}
    return (
        *(_fault(context, row, lines[int(row[2])]) for row in faults),
        *(_race(context, group, named) for group in groups.values()),
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
    barrier_line: int
    barrier_file: str

    @classmethod
    def parse(cls, row: Sequence[str]) -> _Race:
        fields: list[Any] = [*map(int, row[1:-1]), row[-1]]
        return cls(*fields)

    @property
    def is_read_alone(self) -> bool:
        return self.kind in (_UNWRITTEN, _UNWAITED)

    @property
    def codes(self) -> tuple[int, ...]:
        return self.code, self.other_code, *((self.signal_write, self.signal_read) if self.missing else ())


def _race(context: ReportContext, group: Sequence[_Race], lines: Mapping[int, str]) -> Finding:
    """The finding of races of one pair of lines; `lines` has the line of each code, or else the file's name."""
    race = min(group, key=lambda r: (r.kind == _WRITE_READ, r.block, r.thread, r.offset))
    count = sum(r.count for r in group)
    space, name, item, _ = context.array(race.array)
    if (space == "shared" or race.array in context.untyped) and race.offset % race.bytes == 0:
        item = race.bytes
    line, other_line = lines[race.code], lines[race.other_code]
    block, thread, place = context.place(race.block, race.thread)
    times = f" ({count} times)" if count > 1 else ""
    element = race.offset // item
    where = f"{space} '{name}' element {element}"
    if race.kind == _UNWRITTEN:
        text = f"{line}: uninitialized read of {where}; {place}{times}"
        return Finding("unwritten", text, line, "", name, space, element, count, block, thread, order=context.order)
    if race.kind == _UNWAITED:
        advice = advice_on_copy(other_line, line)
        text = f"{line}: read of {where} before the asynchronous copy of {other_line} was waited for; {place}{times}"
        return Finding(
            "unwaited", f"{text}; {advice}", line, other_line, name, space, element, count, block, thread,
            order=context.order, advice=advice,
        )  # fmt: skip
    other_block, other_thread, other_place = context.place(race.other_block, race.other_thread)
    same = all(r.kind == _WRITE_WRITE and r.same_value == r.count for r in group)
    kinds = f"{_RACES[race.kind]}{', of the same value each time' if same else ''}"
    schedule = f", in schedule {context.order}" if context.order else ""
    facts = _facts(context, race, group, lines, same=same)
    advice = advice_on_race(facts, context.program.path.name, context.code)
    text = (
        f"{line}: race ({kinds}) on {where}: {_verb(race.flags)} by {place}; "
        f"{_verb(race.other_flags)} at {other_line} by {other_place}{times}{schedule}; {advice}"
    )
    return Finding(
        "race", text, line, other_line, name, space, element, count, block, thread, other_block, other_thread,
        same, context.order, advice,
    )  # fmt: skip


def _facts(
    context: ReportContext, race: _Race, group: Sequence[_Race], lines: Mapping[int, str], *, same: bool
) -> RaceFacts:
    def access(code: int, flags: int) -> Access:
        return Access(lines[code], *(bool(flags & bit) for bit in (_WRITE, _ATOMIC, _VOLATILE, _BLOCK_SCOPE)))

    signals = (Signal(r.missing, lines[r.signal_write], lines[r.signal_read]) for r in (race, *group) if r.missing)
    kinds = {r.kind for r in group}
    return RaceFacts(
        earlier=access(race.other_code, race.other_flags),
        later=access(race.code, race.flags),
        reach=functools.reduce(operator.or_, (r.reach for r in group)),
        both_write=_WRITE_WRITE in kinds,
        one_writes=bool(kinds - {_WRITE_WRITE}),
        same_value=same,
        last_barrier=f"{Path(race.barrier_file).name}:{race.barrier_line}" if race.barrier_line else "",
        signal=next(signals, None),
        space=context.array(race.array)[0],
        cooperative=context.program.cooperative,
    )


def _verb(flags: int) -> str:
    verb = "write" if flags & _WRITE else "read"
    if flags & _ATOMIC:
        return f"atomic {verb} with block scope" if flags & _BLOCK_SCOPE else f"atomic {verb}"
    return verb


def _index(number: int, extent: Place) -> Place:
    x, y, _ = extent
    return number % x, number // x % y, number // x // y


def _fault(context: ReportContext, row: Sequence[str], line: str) -> Finding:
    kind, _, number, offset, size, writes = map(int, row[1:7])
    block, thread = row[7:]
    space, name, item, count = context.array(number)
    verb = "write" if writes else "read"
    if number in context.untyped and offset % size == count % size == 0:
        item, count = size, count // size
    element = offset // item
    if _FAULTS[kind] == "misaligned":
        cause = f"misaligned {verb} of '{name}': {size} bytes at byte {offset}"
    elif _FAULTS[kind] == "read_only":
        is_constant = name in context.program.constants
        array = f"the __constant__ variable '{name}'" if is_constant else f"read-only input '{name}'"
        cause = f"write to {array}, element {element}"
    elif space == "shared":
        extent = f"{size} bytes from byte {offset}" if 0 <= offset < count else f"byte {offset}"
        cause = f"out-of-bounds {verb} of the shared variable '{name}': {extent} of {count}"
    else:
        begins_inside = 0 <= element < count  # a vector that reaches beyond the end
        index = f"{size} bytes from index {element}" if begins_inside else f"index {element}"
        cause = f"out-of-bounds {verb} of '{name}': {index}, but it has {count} elements"
    text = f"{line or context.program.path.name}: {cause}; block ({block}), thread ({thread})"
    places = _place(block), _place(thread)
    return Finding(_FAULTS[kind], text, line, "", name, space, element, 1, *places, order=context.order)


def _place(text: str) -> Place:
    x, y, z = map(int, text.split(","))
    return x, y, z
